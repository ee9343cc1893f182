#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shuffled_stream.h"

namespace sluice::testing {

/// A row of the outputs of count_and_sessions.cc.
struct ShuffledRow {
  std::string key, value;
};

/// A key's records with less than a gap between them, by one thread that sorts them: nothing of it is the engine's.
struct ReferenceSession {
  std::int64_t end_ms = 0, sum = 0, first = 0, last = 0;
  std::uint64_t count = 0;
  int seen = 0;  ///< how often the job said so
};
struct Reference {
  ShuffledStream stream;
  std::int64_t records = 0;
  std::map<std::pair<std::uint64_t, std::int64_t>, ReferenceSession> sessions;  ///< by key and start
  std::map<std::pair<std::uint64_t, std::int64_t>, int> timers;                 ///< by key and time: how often one fired
  std::int64_t merges = 0;  ///< records that came in between two sessions and made them one

  Reference(const ShuffledStream& of, std::int64_t count);
  /// What a job without a fault may write.
  [[nodiscard]] std::vector<ShuffledRow> rows() const;
};

/// Whether what a job wrote is what one thread makes of the stream: of each key the counts 1, 2, 3 … in order, each with one record more
/// and the right sum; every record once, those of a key and partition in order; every session and timer once; nothing late.
class ShuffledJudge {
 public:
  explicit ShuffledJudge(Reference reference);
  /// A committed row; those of a partition in their order.
  void take(std::string_view key, std::string_view value);
  /// Behind the last row. Whether all was right; examples of what was not are in wrong().
  [[nodiscard]] bool finish();
  [[nodiscard]] std::string wrong() const;

  struct Life {
    unsigned shards = 0;
    std::int64_t counts = 0;   ///< rows that it committed, one a record
    std::set<unsigned> wrote;  ///< which shards did
  };
  [[nodiscard]] const std::map<int, Life>& lives() const noexcept { return lives_; }
  [[nodiscard]] const Reference& reference() const noexcept { return reference_; }

 private:
  struct Key {
    std::uint64_t count = 0;
    std::int64_t sum = 0;
    std::vector<std::int64_t> last;  // Of each partition: the number.
  };
  void take_count(std::uint64_t key, std::string_view value);
  void take_timer(std::uint64_t key, std::string_view value);
  void take_session(std::uint64_t key, std::string_view value);
  Life& written(std::int64_t life, std::int64_t shards, std::int64_t shard);
  void complain(std::string_view kind, std::string what);

  Reference reference_;
  std::vector<Key> keys_;
  std::vector<bool> seen_;
  std::map<int, Life> lives_;
  std::map<std::string, std::pair<std::int64_t, std::string>, std::less<>> wrong_;  // By kind: how many, and the first.
};

/// The judge judged: what is spoilt must be caught. What was not; empty: nothing.
[[nodiscard]] std::string judge_the_judge();

}  // namespace sluice::testing
