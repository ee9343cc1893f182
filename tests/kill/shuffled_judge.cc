#include "shuffled_judge.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <optional>

namespace sluice::testing {
namespace {

/// The numbers behind the first word of a row; nothing where it is not so many.
template <std::size_t N>
std::optional<std::array<std::int64_t, N>> numbers(std::string_view value) {
  std::array<std::int64_t, N> found{};
  const char* at = value.data() + std::min(value.find(' '), value.size());
  const char* const end = value.data() + value.size();
  for (std::int64_t& number : found) {
    if (at == end || *at != ' ') return std::nullopt;
    const auto [next, error] = std::from_chars(at + 1, end, number);
    if (error != std::errc()) return std::nullopt;
    at = next;
  }
  return at == end ? std::optional(found) : std::nullopt;
}

/// How many records find a session on either side, and none that is in both: late, in between, and now the two are one.
std::int64_t merges_of(const std::vector<ShuffledStream::Event>& sorted, std::int64_t gap_ms) {
  std::int64_t merges = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const auto& event = sorted[i];
    std::size_t before = i, behind = i;
    while (before > 0 && event.time_ms - sorted[before - 1].time_ms < gap_ms && sorted[before - 1].number > event.number) --before;
    while (behind + 1 < sorted.size() && sorted[behind + 1].time_ms - event.time_ms < gap_ms && sorted[behind + 1].number > event.number) {
      ++behind;
    }
    if (before == 0 || behind + 1 == sorted.size()) continue;
    const auto& left = sorted[before - 1];
    const auto& right = sorted[behind + 1];
    merges += event.time_ms - left.time_ms < gap_ms && right.time_ms - event.time_ms < gap_ms && right.time_ms - left.time_ms >= gap_ms;
  }
  return merges;
}

}  // namespace

Reference::Reference(const ShuffledStream& of, std::int64_t count) : stream(of), records(count) {
  std::vector<std::vector<ShuffledStream::Event>> by_key(of.keys);
  for (std::int64_t number = 0; number < count; ++number) {
    const auto event = of.at(number);
    by_key[event.key].push_back(event);
    if (ShuffledStream::sets_timer(number)) timers.try_emplace({event.key, event.time_ms + of.gap_ms}, 0);
  }
  for (auto& events : by_key) {
    std::ranges::sort(events, {}, [](const auto& event) { return std::pair(event.time_ms, event.number); });
    merges += merges_of(events, of.gap_ms);
    ReferenceSession* open = nullptr;
    for (const auto& event : events) {
      if (open == nullptr || event.time_ms >= open->end_ms) {
        open = &sessions[{event.key, event.time_ms}];
        open->first = open->last = event.number;
      }
      open->end_ms = event.time_ms + of.gap_ms;
      open->first = std::min(open->first, event.number);
      open->last = std::max(open->last, event.number);
      open->sum += event.amount;
      ++open->count;
    }
  }
}

std::vector<ShuffledRow> Reference::rows() const {
  std::vector<ShuffledRow> rows;
  std::vector<std::pair<std::uint64_t, std::int64_t>> tallies(stream.keys);
  for (std::int64_t number = 0; number < records; ++number) {
    const auto event = stream.at(number);
    auto& [count, sum] = tallies[event.key];
    sum += event.amount;
    rows.push_back({ShuffledStream::key_text(event.key), fmt::format("count {} {} {} 1 1 0", ++count, sum, number)});
  }
  for (const auto& [timer, times] : timers) {
    rows.push_back({ShuffledStream::key_text(timer.first), fmt::format("timer {} 1 1 0", timer.second)});
  }
  for (const auto& [begun, one] : sessions) {
    rows.push_back({ShuffledStream::key_text(begun.first), fmt::format("session {} {} {} {} {} {}", begun.second, one.end_ms, one.count,
                                                                       one.sum, one.first, one.last)});
  }
  return rows;
}

ShuffledJudge::ShuffledJudge(Reference reference)
    : reference_(std::move(reference)), keys_(reference_.stream.keys), seen_(static_cast<std::size_t>(reference_.records)) {
  for (Key& key : keys_) key.last.assign(static_cast<std::size_t>(reference_.stream.partitions), -1);
}

void ShuffledJudge::take(std::string_view key_text, std::string_view value) {
  std::uint64_t key = 0;
  const std::size_t dash = std::min(key_text.find('-'), key_text.size() - 1);
  const auto read = std::from_chars(key_text.data() + dash + 1, key_text.data() + key_text.size(), key);
  if (read.ec != std::errc() || key >= keys_.size() || ShuffledStream::key_text(key) != key_text) {
    complain("a key that never came", fmt::format("\"{}\"", key_text));
  } else if (value.starts_with("count ")) {
    take_count(key, value);
  } else if (value.starts_with("timer ")) {
    take_timer(key, value);
  } else if (value.starts_with("session ")) {
    take_session(key, value);
  } else {
    complain(value.starts_with("late ") ? "late, and no record is" : "not a row of this job", fmt::format("key {}: {}", key, value));
  }
}

void ShuffledJudge::take_count(std::uint64_t number_of_key, std::string_view value) {
  const auto said = numbers<6>(value);
  if (!said) return complain("not a row of this job", std::string(value));
  const auto [count, sum, number, life, shards, shard] = *said;
  ++written(life, shards, shard).counts;
  const auto example = [&](std::string_view expected) {
    return fmt::format("key {}, record {}, life {} on {} shards: \"{}\"{}", number_of_key, number, life, shards, value, expected);
  };
  if (number < 0 || number >= reference_.records) return complain("a record that was never written", example(""));
  Key& key = keys_[number_of_key];
  const auto event = reference_.stream.at(number);
  auto& last = key.last[static_cast<std::size_t>(event.partition)];
  if (event.key != number_of_key) complain("a record of another key", example(""));
  if (seen_[static_cast<std::size_t>(number)]) complain("a record twice", example(""));
  if (number <= last) complain("out of its partition's order", example(fmt::format(", behind {}", last)));
  if (static_cast<std::uint64_t>(count) != key.count + 1) complain("a wrong count", example(fmt::format(", expected {}", key.count + 1)));
  if (sum != key.sum + event.amount) complain("a wrong sum", example(fmt::format(", expected {}", key.sum + event.amount)));
  seen_[static_cast<std::size_t>(number)] = true;
  last = number;
  key.count = static_cast<std::uint64_t>(count);  // As the job goes on, so that one fault is told once.
  key.sum = sum;
}

void ShuffledJudge::take_timer(std::uint64_t key, std::string_view value) {
  const auto said = numbers<4>(value);
  if (!said) return complain("not a row of this job", std::string(value));
  const auto [time, life, shards, shard] = *said;
  (void)written(life, shards, shard);
  const auto timer = reference_.timers.find({key, time});
  if (timer == reference_.timers.end()) return complain("a timer that was never set", fmt::format("key {}: {}", key, value));
  if (++timer->second > 1) complain("a timer twice", fmt::format("key {}: {}", key, value));
}

void ShuffledJudge::take_session(std::uint64_t key, std::string_view value) {
  const auto said = numbers<6>(value);
  if (!said) return complain("not a row of this job", std::string(value));
  const auto [start, end, count, sum, first, last] = *said;
  const auto found = reference_.sessions.find({key, start});
  if (found == reference_.sessions.end()) return complain("a session that is none", fmt::format("key {}: {}", key, value));
  ReferenceSession& one = found->second;
  if (end != one.end_ms || static_cast<std::uint64_t>(count) != one.count || sum != one.sum || first != one.first || last != one.last) {
    complain("a wrong session", fmt::format("key {}: {}, expected {} {} {} {} {} {}", key, value, start, one.end_ms, one.count, one.sum,
                                            one.first, one.last));
  }
  if (++one.seen > 1) complain("a session twice", fmt::format("key {}: {}", key, value));
}

ShuffledJudge::Life& ShuffledJudge::written(std::int64_t life, std::int64_t shards, std::int64_t shard) {
  Life& in = lives_[static_cast<int>(life)];
  in.shards = static_cast<unsigned>(shards);
  in.wrote.insert(static_cast<unsigned>(shard));
  return in;
}

void ShuffledJudge::complain(std::string_view kind, std::string what) {
  auto& [times, first] = wrong_.try_emplace(std::string(kind)).first->second;
  if (++times == 1) first = std::move(what);
}

bool ShuffledJudge::finish() {
  for (std::size_t number = 0; number < seen_.size(); ++number) {
    if (!seen_[number]) complain("a record is lost", fmt::format("{}", number));
  }
  for (const auto& [timer, times] : reference_.timers) {
    if (times == 0) complain("a timer is lost", fmt::format("key {} at {}", timer.first, timer.second));
  }
  for (const auto& [begun, one] : reference_.sessions) {
    if (one.seen == 0) complain("a session is lost", fmt::format("key {} from {} to {}", begun.first, begun.second, one.end_ms));
  }
  return wrong_.empty();
}

std::string ShuffledJudge::wrong() const {
  std::string all;
  for (const auto& [kind, found] : wrong_) all += fmt::format("  {}: {} times, first {}\n", kind, found.first, found.second);
  return all;
}

std::string judge_the_judge() {
  using Rows = std::vector<ShuffledRow>;
  const Reference reference(ShuffledStream{.keys = 200, .per_ms = 1, .disorder_ms = 100, .skew_ms = 20, .gap_ms = 100}, 4'000);
  const Rows right = reference.rows();
  const auto first = [](Rows& rows, std::string_view what, std::size_t skip = 0) {
    const auto is = [&](const ShuffledRow& row) { return row.value.starts_with(what) && skip-- == 0; };
    return std::ranges::find_if(rows, is);
  };
  // The second row of the first key that has one.
  const auto second_of_key = [](Rows& rows) {
    return std::find_if(rows.begin() + 1, rows.end(), [&](const ShuffledRow& row) { return row.key == rows.front().key; });
  };
  const std::map<std::string, std::function<void(Rows&)>> spoilt{
      {"a count is lost", [&](Rows& rows) { rows.erase(first(rows, "count", 700)); }},
      {"the last count is lost", [&](Rows& rows) { rows.erase(first(rows, "count", 3'999)); }},
      {"a count twice", [&](Rows& rows) { rows.push_back(*first(rows, "count", 700)); }},
      {"counts out of order", [&](Rows& rows) { std::swap(rows.front(), *second_of_key(rows)); }},
      {"a wrong sum", [&](Rows& rows) { rows.front().value.replace(8, 1, rows.front().value[8] == '7' ? "8" : "7"); }},
      {"a timer is lost", [&](Rows& rows) { rows.erase(first(rows, "timer")); }},
      {"a timer twice", [&](Rows& rows) { rows.push_back(*first(rows, "timer", 3)); }},
      {"a session is lost", [&](Rows& rows) { rows.erase(first(rows, "session", 5)); }},
      {"a session twice", [&](Rows& rows) { rows.push_back(*first(rows, "session")); }},
      {"a session of another key", [&](Rows& rows) { first(rows, "session")->key = ShuffledStream::key_text(49); }},
      {"a session with a record less", [&](Rows& rows) { first(rows, "session")->value.pop_back(); }},
      {"a late record", [&](Rows& rows) { rows.push_back({rows.front().key, "late 17 3"}); }},
      {"a row of nobody", [&](Rows& rows) { rows.push_back({rows.front().key, "17"}); }},
  };
  const auto accepts = [&](const Rows& rows) {
    ShuffledJudge judge(reference);
    for (const ShuffledRow& row : rows) judge.take(row.key, row.value);
    return judge.finish();
  };
  if (reference.merges == 0 || reference.sessions.size() < reference.stream.keys) return "the stream has no sessions to speak of";
  if (!accepts(right)) return "what is right was refused";
  for (const auto& [what, spoil] : spoilt) {
    Rows rows = right;
    spoil(rows);
    if (accepts(rows)) return "not caught: " + what;
  }
  return {};
}

}  // namespace sluice::testing
