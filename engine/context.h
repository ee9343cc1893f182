#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <typeinfo>

#include <sluice/engine/decider.h>
#include <sluice/engine/key_group.h>
#include <sluice/io/base/metrics.h>
#include <sluice/io/clock.h>
#include <sluice/io/shards.h>

namespace sluice {

enum class Delivery : std::uint8_t { kExactlyOnce, kAtLeastOnce, kNone };
inline constexpr Delivery exactly_once = Delivery::kExactlyOnce;    ///< as users write them
inline constexpr Delivery at_least_once = Delivery::kAtLeastOnce;

/// One run of a job from a recovery to its end; a restart in process makes a new one. Sources, sinks and what they share
/// (a cluster's transactional handle) live in it.
///
/// Shard      the control thread, but for metrics() and clock().
class Attempt {
 public:
  Attempt(std::string job_id, std::string job_name, io::Shards& shards, io::Clock& clock, Metrics& metrics)
      : job_id_(std::move(job_id)), job_name_(std::move(job_name)), shards_(shards), clock_(clock), metrics_(metrics) {}
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  [[nodiscard]] const std::string& job_id() const noexcept { return job_id_; }
  [[nodiscard]] const std::string& job_name() const noexcept { return job_name_; }
  [[nodiscard]] io::Shards& shards() noexcept { return shards_; }
  [[nodiscard]] io::Clock& clock() noexcept { return clock_; }
  [[nodiscard]] Metrics& metrics() noexcept { return metrics_; }
  /// Time between checkpoints, for checks of timeouts against it. Zero: none.
  std::chrono::nanoseconds checkpoint_interval{0};

  /// The object that the parts of a job share under a name, made by the first that asks: one transactional handle a
  /// cluster. Another type under the same name asserts.
  template <class T>
  std::shared_ptr<T> shared(const std::string& name, const std::function<std::shared_ptr<T>()>& make) {
    auto& slot = shared_[name];
    if (!slot.object) slot = {std::static_pointer_cast<void>(make()), &typeid(T)};
    SLUICE_ASSERT(*slot.type == typeid(T));
    return std::static_pointer_cast<T>(slot.object);
  }
  /// Offered by a sink whose commit is a decision (step 6 of the protocol); the first one offered decides.
  void offer(std::shared_ptr<Decider> decider) {
    if (!decider_) decider_ = std::move(decider);
    else if (decider != decider_) other_deciders_ = true;
  }
  [[nodiscard]] const std::shared_ptr<Decider>& decider() const noexcept { return decider_; }
  [[nodiscard]] bool several_deciders() const noexcept { return other_deciders_; }
  void forget() {
    decider_.reset();
    shared_.clear();
  }

 private:
  struct Shared {
    std::shared_ptr<void> object;
    const std::type_info* type = nullptr;
  };
  const std::string job_id_, job_name_;
  io::Shards& shards_;
  io::Clock& clock_;
  Metrics& metrics_;
  std::map<std::string, Shared> shared_;
  std::shared_ptr<Decider> decider_;
  bool other_deciders_ = false;
};

/// What an instance of a source, an operator, a sink or a user's function knows about where it runs.
struct Context {
  std::string operator_id;
  ShardId shard;
  std::uint16_t parallelism = 1;  ///< shards of the job
  Metrics* metrics = nullptr;     ///< own counters: metrics->counter("my_things_total")
  io::Clock* clock = nullptr;
  io::Executor executor;
  KeyGroups key_groups{};         ///< of the job: where the exchange sends a key, and keyed state expects it
  [[nodiscard]] bool owns(const Split& split) const noexcept { return split_owner(split, parallelism) == shard; }
};

}  // namespace sluice
