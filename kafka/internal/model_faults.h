#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <sluice/kafka/internal/model_log.h>
#include <sluice/kafka/model.h>

namespace sluice::kafka::internal {

/// The network between clients and broker, and who may do what: every request passes here. Callers hold the broker's mutex.
class ModelFaults {
 public:
  enum class Kind : std::uint8_t { kLost, kDelayed, kRefused };
  struct Reply {
    ModelAnswer answer = ModelAnswer::kOk;
    bool late = false;  ///< the request, or its answer, may still be on its way: its sender is tainted
  };

  /// `request` may run now, later, twice or never, and after its sender is gone: it owns what it needs.
  [[nodiscard]] Reply send(ModelRequest type, const std::function<ModelAnswer()>& request);

  void plan(Kind kind, ModelRequest type, int count, ModelResend resend);
  [[nodiscard]] std::size_t planned() const;
  /// Late requests arrive, in the order in which they were sent.
  void arrive();
  void drop() { delayed_.clear(); }
  [[nodiscard]] std::size_t delayed() const noexcept { return delayed_.size(); }

  void deny(ModelResource kind, const std::string& name) { denied_.insert({kind, name}); }
  void allow(ModelResource kind, const std::string& name) { denied_.erase({kind, name}); }
  [[nodiscard]] bool denied(ModelResource kind, const std::string& name) const { return denied_.contains({kind, name}); }

  /// Whether this produce request is one that fails for good.
  [[nodiscard]] bool take_failed_delivery();

  bool reachable = true;
  bool deliveries_held = false;
  int deliveries_failing = 0;

 private:
  struct Fault {
    Kind kind;
    ModelResend resend;
  };
  std::map<ModelRequest, std::deque<Fault>> faults_;
  std::deque<std::function<ModelAnswer()>> delayed_;
  std::set<std::pair<ModelResource, std::string>> denied_;
};

}  // namespace sluice::kafka::internal
