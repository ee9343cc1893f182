#include <sluice/io/base/log.h>
#include <sluice/kafka/internal/source_core.h>

#include <boost/asio/post.hpp>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <bit>

namespace sluice::kafka::internal {

using kafka::OffsetAndMetadata;
using kafka::OffsetKind;
using kafka::OutOfRange;
using kafka::TopicMetadata;
using kafka::TopicPartition;
using Kind = kafka::Place::Kind;

struct SourceCore::Pattern {
  explicit Pattern(const std::string& text) : regex(text, RE2::Quiet) {}
  RE2 regex;
};

SourceCore::SourceCore(kafka::SourceOptions options) : options_(std::move(options)) {
  if (!options_.topic_pattern.empty()) pattern_ = std::make_unique<Pattern>(options_.topic_pattern);
}
SourceCore::~SourceCore() = default;

std::string SourceCore::describe() const {
  if (pattern_) return fmt::format("kafka /{}/", options_.topic_pattern);
  return fmt::format("kafka {}", fmt::join(options_.topics, ", "));
}

// ---- what is wrong ----

Status SourceCore::check_options() const {
  const auto invalid = [this](std::string_view what) {
    return Status(Code::kInvalid, fmt::format("source {}: {}", describe(), what));
  };
  if (options_.topics.empty() == options_.topic_pattern.empty())
    return invalid("give either .topics or .topic_pattern");
  if (pattern_ && !pattern_->regex.ok())
    return invalid("topic_pattern is no regular expression: " + pattern_->regex.error());
  const bool by_group = options_.start.kind == Kind::kGroupOffsets;
  if (by_group && options_.group.empty()) return invalid("start = group_offsets needs a .group");
  if (options_.start.kind == Kind::kNever) return invalid("start = never() is no place to start");
  if (options_.stop.kind == Kind::kGroupOffsets || options_.stop.kind == Kind::kEarliest) {
    return invalid("stop must be never(), latest(), timestamp() or offsets()");
  }
  const Kind fallback = options_.group_fallback.kind;
  if (fallback != Kind::kEarliest && fallback != Kind::kLatest && fallback != Kind::kTimestamp) {
    return invalid("group_fallback must be earliest(), latest() or timestamp()");
  }
  for (const Place* place : {&options_.start, &options_.stop}) {
    for (const auto& [topic, partitions] : place->offsets) {
      if (!configured(topic))
        return invalid("offsets() names topic " + topic + ", which is not read");
      for (const auto& [partition, offset] : partitions) {
        if (partition < 0 || offset < 0)
          return invalid(
              fmt::format("offsets() has {}: {} for topic {}", partition, offset, topic));
      }
    }
  }
  if (options_.commit_offsets == kafka::CommitOffsets::kPeriodic && options_.group.empty()) {
    return invalid("commit_offsets = kPeriodic needs a .group");
  }
  if (options_.commit_offsets == kafka::CommitOffsets::kPeriodic &&
      options_.commit_interval <= std::chrono::nanoseconds(0)) {
    return invalid("commit_interval must be above zero");
  }
  return {};
}

bool SourceCore::configured(const std::string& topic) const {
  if (pattern_) {
    // Not the broker's own topics, and not the registers of a job: they hold no records.
    const bool internal = topic.starts_with("__") ||
                          (topic.starts_with("sluice-") && topic.ends_with("-decisions"));
    return pattern_->regex.ok() && RE2::FullMatch(topic, pattern_->regex) && !internal;
  }
  return std::find(options_.topics.begin(), options_.topics.end(), topic) != options_.topics.end();
}

asio::awaitable<Status> SourceCore::check(Attempt& attempt) {
  Status options = check_options();
  if (!options.ok()) co_return options;
  Result<std::shared_ptr<Cluster>> cluster =
      Cluster::use(attempt, options_.brokers, options_.properties, options_.client);
  if (!cluster.ok()) co_return cluster.status();
  cluster_ = *std::move(cluster);
  inputs_ = kafka_inputs(attempt, Cluster::key(options_.brokers, options_.client));
  control_ = attempt.shards().control().executor();
  scope_ = std::make_unique<io::Scope>(control_);
  lost_total_ = attempt.metrics().counter("sluice_source_lost_records_total");
  if (!options_.group.empty()) inputs_->groups.insert(options_.group);
  if (options_.isolation == kafka::Isolation::kReadUncommitted) {
    log().warn("source {}: read_uncommitted: records of aborted transactions count as data",
               describe());
  }
  topics_.clear();
  Status found = co_await look_up(true, cluster_->in(options_.unreachable_after));
  co_return found;
}

/// Fills topics_. What was there and is missing from this answer is kept, with a word in the log.
asio::awaitable<Status> SourceCore::look_up(bool first, io::Monotonic deadline) {
  std::vector<TopicMetadata> found;
  if (pattern_) {
    std::vector<std::string> all;
    Result<std::vector<TopicMetadata>> answer = co_await cluster_->topics(std::move(all), deadline);
    if (!answer.ok()) co_return answer.status();
    for (TopicMetadata& topic : *answer) {
      if (configured(topic.name)) found.push_back(std::move(topic));
    }
    if (first && found.empty() && !options_.wait_for_topics) {
      co_return Status(
          Code::kInvalid,
          fmt::format(
              "source {}: no topic at {} matches; waiting for one is an option (wait_for_topics)",
              describe(), cluster_->brokers()));
    }
  } else {
    std::vector<std::string> names = options_.topics;
    std::string whose = "source " + describe();
    Status checked = co_await check_topics(cluster_, std::move(names), std::move(whose),
                                           !first || options_.wait_for_topics, deadline, &found);
    if (!checked.ok()) co_return checked;
  }
  for (auto& [name, partitions] : topics_) {
    const auto same = [&](const TopicMetadata& topic) {
      return topic.name == name && topic.partitions > 0;
    };
    if (partitions == 0 || std::any_of(found.begin(), found.end(), same)) continue;
    log().warn("source {}: topic {} is not in the metadata any more; its positions are kept",
               describe(), name);
    for (std::int32_t i = 0; i < partitions; ++i) inputs_->partitions.erase({name, i});
    partitions = 0;
  }
  for (const TopicMetadata& topic : found) {
    if (topic.partitions == 0 && first)
      log().warn("source {}: waiting for topic {}", describe(), topic.name);
    auto& partitions = topics_[topic.name];
    if (partitions == 0 && topic.partitions > 0 && known_.contains({topic.name, 0})) back_ = topic.name;
    partitions = std::max(partitions, topic.partitions);
    for (std::int32_t i = 0; i < partitions; ++i) inputs_->partitions.insert({topic.name, i});
  }
  co_return Status();
}

// ---- where to start and to stop ----

asio::awaitable<Result<std::vector<SplitPosition>>> SourceCore::start(Attempt&, std::string id,
                                                                      std::optional<Positions> restored) {
  const io::Monotonic deadline = cluster_->in(options_.unreachable_after);
  id_ = std::move(id);
  KafkaInputs::Source& input = inputs_->sources[id_];
  input.group = options_.commit_offsets == kafka::CommitOffsets::kOnCheckpoint ? options_.group
                                                                               : std::string();
  // A topic may go while the job is down, and its offsets with it: what is missing then could not
  // be told from a loss.
  input.carried = !pattern_ && !options_.wait_for_topics;
  known_.clear();
  absent_.clear();
  back_.clear();

  std::map<Split, Offset> stored;
  if (restored) {
    for (SplitPosition& position : *restored) {
      if (position.source == id_) stored.emplace(std::move(position.split), position.next);
    }
  }
  Positions numbers, born, fresh, anew;
  for (const auto& [topic, partitions] : topics_) {
    for (std::int32_t i = 0; i < partitions; ++i) {
      SplitPosition position{id_, {topic, i}, Offset(0)};
      known_.insert(position.split);
      const auto at = stored.find(position.split);
      const auto memory = first_.find(position.split);
      if (at != stored.end()) {
        position.next = at->second;
        numbers.push_back(std::move(position));
      } else if (restored) {
        born.push_back(std::move(position));  // Younger than the checkpoint.
      } else if (memory != first_.end()) {
        position.next = memory->second;
        numbers.push_back(std::move(position));
      } else {
        fresh.push_back(std::move(position));
      }
    }
  }
  Place where = options_.start;
  Status placed = co_await place(std::move(where), &fresh, deadline);
  if (!placed.ok()) co_return placed;
  placed = co_await check_range(&numbers, deadline);
  if (!placed.ok()) co_return placed;
  // In range, and yet perhaps of a topic that is no more.
  for (SplitPosition& position : std::exchange(numbers, {})) {
    const auto at = stored.find(position.split);
    Status same = at != stored.end() && at->second == position.next ? check_mark(position) : Status();
    if (!same.ok() && options_.out_of_range == OutOfRange::kFail) co_return same;
    if (!same.ok()) log().warn("{}", same.message());
    Positions& into = same.ok()                                      ? numbers
                      : options_.out_of_range == OutOfRange::kLatest ? anew
                                                                     : born;
    into.push_back(std::move(position));
  }
  where = kafka::earliest();
  placed = co_await place(std::move(where), &born, deadline);
  if (!placed.ok()) co_return placed;
  where = kafka::latest();
  placed = co_await place(std::move(where), &anew, deadline);
  if (!placed.ok()) co_return placed;
  numbers.insert(numbers.end(), fresh.begin(), fresh.end());
  numbers.insert(numbers.end(), born.begin(), born.end());
  numbers.insert(numbers.end(), anew.begin(), anew.end());
  if (!restored) {
    for (const SplitPosition& position : numbers) first_.emplace(position.split, position.next);
  }
  if (bounded()) {
    placed = co_await find_ends(&numbers, deadline);
    if (!placed.ok()) co_return placed;
  }
  for (const auto& [split, next] : stored) {
    if (known_.contains(split)) continue;
    if (!configured(split.name)) {
      log().warn(
          "source {}: topic {} is in the checkpoint but not read any more: its position {} of "
          "partition {} is dropped",
          id_, split.name, next, split.partition);
      continue;
    }
    log().warn(
        "source {}: topic {} partition {} is in the checkpoint but not in the metadata: its "
        "position {} is kept",
        id_, split.name, split.partition, next);
    absent_.emplace(split, next);
    numbers.push_back({id_, split, next});
  }
  co_return numbers;
}

std::optional<Offset> SourceCore::end_of(const Split& split) const {
  const auto at = ends_.find(split);
  return at == ends_.end() ? std::nullopt : std::optional(at->second);
}

asio::awaitable<Result<std::vector<SplitPosition>>> SourceCore::discover() {
  Positions born, back;
  if (bounded()) co_return born;
  const io::Monotonic deadline = cluster_->in(options_.unreachable_after);
  Status found = co_await look_up(false, deadline);
  if (found.ok()) {
    for (const auto& [topic, partitions] : topics_) {
      for (std::int32_t i = 0; i < partitions; ++i) {
        SplitPosition position{id_, {topic, i}, Offset(0)};
        if (known_.contains(position.split)) continue;
        const auto stored = absent_.find(position.split);
        if (stored != absent_.end()) position.next = stored->second;
        (stored != absent_.end() ? back : born).push_back(std::move(position));
      }
    }
    // A partition born while the job runs is read from its beginning, wherever the others started.
    Place beginning = kafka::earliest();
    found = co_await place(std::move(beginning), &born, deadline);
  }
  if (found.ok()) found = co_await check_range(&back, deadline);
  if (found.ok() && !back.empty()) back_ = back.front().split.name;
  if (found.ok() && !back_.empty() && inputs_->decider) {
    // Perhaps made anew in the meantime: only a recovery reads the marks that tell.
    co_return Status(Code::kRecover,
                     fmt::format("source {}: topic {} is back in the metadata; its positions have to "
                                 "be looked at",
                                 id_, back_));
  }
  back_.clear();
  if (found.code() == Code::kCancelled || found.code() == Code::kCorrupt) co_return found;
  if (!found.ok()) {
    // Nothing is wrong with what is being read; the next round may do better.
    log().warn("source {}: looking for new partitions failed: {}", id_, found.message());
    co_return Positions{};
  }
  born.insert(born.end(), back.begin(), back.end());
  for (const SplitPosition& position : born) {
    known_.insert(position.split);
    first_.emplace(position.split, position.next);
    log().info("source {}: found topic {} partition {}, read from {}", id_, position.split.name,
               position.split.partition, position.next);
  }
  co_return born;
}

// ---- group offsets without a transaction ----

void SourceCore::commit(Positions positions) {
  auto work = [self = shared_from_this(), positions = std::move(positions)] {
    if (!self->scope_) return;
    for (const SplitPosition& position : positions) {
      self->pending_.insert_or_assign(topic_partition(position.split), position.next);
    }
    if (self->committing_) return;
    self->committing_ = true;
    self->scope_->spawn(self->commit_pending());
  };
  asio::post(control_, std::move(work));
}

asio::awaitable<Status> SourceCore::commit_pending() {
  Status committed;
  while (!pending_.empty() && committed.code() != Code::kCancelled) {
    std::vector<OffsetAndMetadata> offsets;
    for (const auto& [partition, next] : pending_) offsets.push_back({partition, next.value(), {}});
    pending_.clear();
    std::string group = options_.group;
    committed = co_await cluster_->commit_offsets(std::move(group), std::move(offsets),
                                                  cluster_->in(std::chrono::seconds(3)));
    if (!committed.ok() && std::has_single_bit(++commit_failures_)) {
      log().warn("source {}: group {} was not updated ({} times so far): {}", id_, options_.group,
                 commit_failures_, committed.message());
    }
  }
  committing_ = false;
  co_return Status();
}

asio::awaitable<Status> SourceCore::close() {
  if (scope_) {
    Status joined = co_await scope_->join();
    scope_.reset();
    if (!joined.ok()) log().warn("source {}: {}", id_, joined.message());
  }
  pending_.clear();
  inputs_.reset();
  std::shared_ptr<Cluster> cluster = std::move(cluster_);
  Status released;
  if (cluster) released = co_await cluster->release();
  co_return released;
}

}  // namespace sluice::kafka::internal
