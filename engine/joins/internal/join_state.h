#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <sluice/engine/internal/watermark_state.h>
#include <sluice/engine/joins/internal/due.h>
#include <sluice/engine/joins/internal/rows.h>
#include <sluice/engine/joins/join_options.h>
#include <sluice/engine/keyed_state.h>
#include <sluice/engine/record.h>
#include <sluice/engine/windows/internal/kept_key.h>

namespace sluice::internal {

/// How a key is kept: a view of its record's bytes as a string. A key that is null matches nothing, as in SQL.
template <class Key>
struct JoinKey {
  using Kept = Key;
  static const Key& look_up(const Key& key) noexcept { return key; }
  static constexpr bool null(const Key&) noexcept { return false; }
};
template <>
struct JoinKey<std::string_view> {
  using Kept = std::string;
  static std::string_view look_up(std::string_view key) noexcept { return key; }
  static constexpr bool null(std::string_view) noexcept { return false; }
};
template <>
struct JoinKey<Bytes> {
  using Kept = std::string;
  static std::string_view look_up(const Bytes& key) noexcept { return key.view(); }
  static bool null(const Bytes& key) noexcept { return key.null(); }
};
template <class T>
struct JoinKey<std::optional<T>> {
  using Kept = std::optional<T>;
  static const Kept& look_up(const Kept& key) noexcept { return key; }
  static bool null(const Kept& key) noexcept { return !key.has_value(); }
};

/// The rows of both sides, by key.
template <class K, class L, class R>
class JoinState final : public KeyedStateOf<K, JoinSlot<L, R>> {
 public:
  static_assert(Encodable<L> && Encodable<R>, "both sides' records are kept, so they need a Codec: describe them with "
                                              "BOOST_DESCRIBE_STRUCT. Views of a batch's bytes cannot be kept: map them to std::string");
  /// What is kept for one kind of join is no state of another: who was matched is known where it is asked for only.
  explicit JoinState(std::string kind) : KeyedStateOf<K, JoinSlot<L, R>>(std::move(kind), {}) {}
  JoinSlot<L, R>& at(KeyArg<K> key, KeyGroup group) { return this->table_.at(key, group); }
  JoinSlot<L, R>* change(KeyArg<K> key) { return this->table_.change(key); }
};

/// How much is kept, and what is said when it is too much.
class JoinLimits {
 public:
  JoinLimits(std::string what, JoinOptions options) : what_(std::move(what)), options_(std::move(options)) {}
  void open(const Context& context);

  std::uint64_t left = 0, right = 0;  ///< rows kept
  EventTime newest_left = EventTime::min(), newest_right = EventTime::min();

  /// After a batch.
  [[nodiscard]] Status check(EventTime watermark) {
    const std::uint64_t rows = left + right;
    if (rows < warn_at_) [[likely]] return {};
    return full(watermark);
  }
  /// Within a batch or a watermark: how many rows it has made.
  [[nodiscard]] bool too_many(std::uint64_t results) const noexcept { return results > options_.results_at_once_max; }
  [[nodiscard]] Status too_many_results() const;
  /// Behind it.
  [[nodiscard]] Status check_results(std::uint64_t results) {
    if (results < warn_at_results_) [[likely]] return {};
    return many_results(results);
  }
  [[nodiscard]] Status without_times() const;
  [[nodiscard]] Status no_time(EventTime time) const;
  /// A record of `side` ("left", "right") that is dropped. The first is told, the others are counted.
  template <class Key>
  void late(const char* side, const Key& key, EventTime time, EventTime watermark) {
    if (late_) late_->add(1);
    if (!std::exchange(warned_late_, true)) warn_of_late(side, text_of(key), time, watermark);
  }

 private:
  [[nodiscard]] Status full(EventTime watermark);
  [[nodiscard]] Status many_results(std::uint64_t results);
  void warn_of_late(const char* side, const std::string& key, EventTime time, EventTime watermark) const;
  std::string what_;
  const JoinOptions options_;
  std::uint64_t warn_at_ = 0, warn_at_results_ = 0;
  bool warned_late_ = false;
  std::string id_;
  ShardId shard_;
  std::shared_ptr<Counter> late_;
};

}  // namespace sluice::internal
