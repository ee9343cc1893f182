#include <sluice/kafka/internal/rdkafka_admin_work.h>
#include <sluice/kafka/internal/rdkafka_config.h>
#include <sluice/kafka/internal/rdkafka_error.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace sluice::kafka::internal {
namespace {

using namespace std::chrono_literals;

constexpr auto kSlice = 3s;
constexpr auto kPause = 20ms;  // Between two looks at something that is about to come.
constexpr auto kAppears =
    2s;  // How long a topic that was just created may stay unknown to some broker.
constexpr std::size_t kNames = 8;  // More are looked up together with all others.
constexpr std::int64_t kEarliest = -2, kLatest = -1;  // ListOffsets' special timestamps.

int left_ms(io::Monotonic deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 1, 3'600'000));
}

bool passed(io::Monotonic deadline) { return std::chrono::steady_clock::now() >= deadline; }

RdPartitions list_of(const std::vector<TopicPartition>& partitions) {
  RdPartitions list(rd_kafka_topic_partition_list_new(static_cast<int>(partitions.size())));
  for (const TopicPartition& at : partitions) {
    rd_kafka_topic_partition_list_add(list.get(), at.topic.c_str(), at.partition);
  }
  return list;
}

struct MetadataDelete {
  void operator()(const rd_kafka_metadata_t* metadata) const noexcept {
    rd_kafka_metadata_destroy(metadata);
  }
};
using RdMetadata = std::unique_ptr<const rd_kafka_metadata_t, MetadataDelete>;

}  // namespace

Status RdAdmin::Work::failed(rd_kafka_resp_err_t error, std::string_view attempted,
                             std::string_view reason) const {
  if (is_silence(error)) return unreachable(attempted, client_.brokers, handle_->last_error());
  return to_status(error, attempted, client_.brokers, reason);
}

void RdAdmin::Work::drop_handles() {
  handle_.reset();
  uncommitted_.reset();
}

template <class Ask>
Result<RdEvent> RdAdmin::Work::ask(rd_kafka_admin_op_t kind, std::string_view attempted,
                                   io::Monotonic deadline, Ask send, bool stable) {
  rd_kafka_t* rk = handle_->get();
  const std::unique_ptr<rd_kafka_AdminOptions_t, RdDelete<rd_kafka_AdminOptions_destroy>> options(
      rd_kafka_AdminOptions_new(rk, kind));
  char reason[256];
  rd_kafka_AdminOptions_set_request_timeout(options.get(), left_ms(deadline), reason,
                                            sizeof(reason));
  if (stable) {
    rd_kafka_error_t* error = rd_kafka_AdminOptions_set_require_stable_offsets(options.get(), 1);
    if (error != nullptr) return to_status(error, attempted, client_.brokers);
  }
  const RdQueue queue(rd_kafka_queue_new(rk));
  send(rk, options.get(), queue.get());
  RdEvent event(rd_kafka_queue_poll(queue.get(), left_ms(deadline) + 1'000));
  if (!event) return unreachable(attempted, client_.brokers, handle_->last_error());
  if (const rd_kafka_resp_err_t error = rd_kafka_event_error(event.get());
      error != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return failed(error, attempted, rd_kafka_event_error_string(event.get()));
  }
  return event;
}

// ---- topics ----

Result<TopicMetadata> RdAdmin::Work::topic(const std::string& name, io::Monotonic deadline) {
  const std::string attempted = fmt::format("look up topic {}", name);
  const std::unique_ptr<rd_kafka_topic_t, RdDelete<rd_kafka_topic_destroy>> topic(
      rd_kafka_topic_new(handle_->get(), name.c_str(), nullptr));
  TopicMetadata found{.name = name, .partitions = 0, .status = {}};
  if (!topic) {
    found.status = to_status(rd_kafka_last_error(), attempted, client_.brokers);
    return found;
  }
  const rd_kafka_metadata_t* raw = nullptr;
  const rd_kafka_resp_err_t error =
      rd_kafka_metadata(handle_->get(), 0, topic.get(), &raw, left_ms(deadline));
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return failed(error, attempted);
  const RdMetadata metadata(raw);
  for (int i = 0; i < metadata->topic_cnt; ++i) {
    const rd_kafka_metadata_topic_t& at = metadata->topics[i];
    if (name != at.topic) continue;
    if (at.err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART) return found;
    found.status = to_status(at.err, attempted, client_.brokers);
    found.partitions = at.partition_cnt;
    for (int partition = 0; partition < at.partition_cnt && found.status.ok(); ++partition) {
      if (at.partitions[partition].err != RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE) continue;
      found.status = to_status(at.partitions[partition].err, attempted, client_.brokers);
    }
  }
  return found;
}

Result<std::vector<TopicMetadata>> RdAdmin::Work::all_topics(io::Monotonic deadline) {
  const rd_kafka_metadata_t* raw = nullptr;
  const rd_kafka_resp_err_t error =
      rd_kafka_metadata(handle_->get(), 1, nullptr, &raw, left_ms(deadline));
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return failed(error, "list the topics");
  const RdMetadata metadata(raw);
  std::vector<TopicMetadata> found;
  for (int i = 0; i < metadata->topic_cnt; ++i) {
    const rd_kafka_metadata_topic_t& at = metadata->topics[i];
    found.push_back(
        {.name = at.topic,
         .partitions = at.partition_cnt,
         .status = to_status(at.err, fmt::format("look up topic {}", at.topic), client_.brokers)});
  }
  return found;
}

Result<std::vector<TopicMetadata>> RdAdmin::Work::topics(const std::vector<std::string>& names,
                                                         io::Monotonic deadline) {
  if (names.empty()) return all_topics(deadline);
  std::vector<TopicMetadata> known;
  if (names.size() > kNames) {
    Result<std::vector<TopicMetadata>> all = all_topics(deadline);
    if (!all.ok()) return all;
    known = std::move(*all);
  }
  std::vector<TopicMetadata> found;
  for (const std::string& name : names) {
    const auto at = std::find_if(known.begin(), known.end(),
                                 [&](const TopicMetadata& of) { return of.name == name; });
    if (at != known.end()) {
      found.push_back(*at);
      continue;
    }
    // A list of all leaves out what we may not describe, so a missing name is asked for by itself.
    Result<TopicMetadata> one = topic(name, deadline);
    if (!one.ok()) return one.status();
    found.push_back(std::move(*one));
  }
  return found;
}

Status RdAdmin::Work::create_topic(const std::string& name, std::int32_t partitions,
                                   std::int32_t replication, const Properties& config,
                                   io::Monotonic deadline) {
  const std::string attempted = fmt::format("create topic {}", name);
  char reason[512];
  const std::unique_ptr<rd_kafka_NewTopic_t, RdDelete<rd_kafka_NewTopic_destroy>> topic(
      rd_kafka_NewTopic_new(name.c_str(), partitions, replication, reason, sizeof(reason)));
  if (!topic) return to_status(RD_KAFKA_RESP_ERR__INVALID_ARG, attempted, client_.brokers, reason);
  for (const auto& [key, value] : config)
    rd_kafka_NewTopic_set_config(topic.get(), key.c_str(), value.c_str());
  rd_kafka_NewTopic_t* one = topic.get();
  Result<RdEvent> event = ask(RD_KAFKA_ADMIN_OP_CREATETOPICS, attempted, deadline,
                              [&](auto* rk, auto* options, auto* queue) {
                                rd_kafka_AdminOptions_set_operation_timeout(
                                    options, left_ms(deadline), reason, sizeof(reason));
                                rd_kafka_CreateTopics(rk, &one, 1, options, queue);
                              });
  if (!event.ok()) return event.status();
  std::size_t count = 0;
  const rd_kafka_topic_result_t** results =
      rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event->get()), &count);
  for (std::size_t i = 0; i < count; ++i) {
    const rd_kafka_resp_err_t error = rd_kafka_topic_result_error(results[i]);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR || error == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS)
      continue;
    const char* said = rd_kafka_topic_result_error_string(results[i]);
    return failed(error, attempted, said == nullptr ? "" : said);
  }
  // With leaders: usable at once. The controller knows the topic before every broker does, so the
  // first answers may be "unknown".
  const io::Monotonic spread =
      std::min(deadline, std::chrono::steady_clock::now() + std::chrono::seconds(5));
  for (;;) {
    const Result<TopicLimits> ready = topic_limits(name, deadline);
    if (ready.ok() || std::chrono::steady_clock::now() >= spread) return ready.status();
    std::this_thread::sleep_for(kPause);
  }
}

Result<RdAdmin::TopicLimits> RdAdmin::Work::topic_limits(const std::string& name,
                                                         io::Monotonic deadline) {
  const io::Monotonic appears = std::min(deadline, std::chrono::steady_clock::now() + kAppears);
  TopicLimits limits;
  for (;;) {
    Result<TopicMetadata> one = topic(name, deadline);
    if (!one.ok()) return one.status();
    if (one->partitions > 0 && one->status.ok()) {
      limits.partitions = one->partitions;
      break;
    }
    if (!one->status.ok() && one->status.code() != Code::kRetry) return one->status;
    if (passed(one->status.ok() ? appears : deadline)) {
      if (!one->status.ok()) return one->status;
      return to_status(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, fmt::format("use topic {}", name),
                       client_.brokers);
    }
    std::this_thread::sleep_for(kPause);
  }
  // Metadata may name a leader that does not lead yet. A first record that it refuses while it takes
  // the second one is lost without a word (decisions/0007-first-records.md), so nothing is written
  // before every partition has answered.
  std::vector<TopicPartition> all;
  for (std::int32_t i = 0; i < limits.partitions; ++i) all.push_back({name, i});
  for (;;) {
    const Result<std::vector<std::int64_t>> led = list_offsets(*handle_, all, kEarliest, deadline);
    const bool there = led.ok() && std::all_of(led->begin(), led->end(),
                                               [](std::int64_t offset) { return offset >= 0; });
    if (there || led.status().exit_status() == ExitStatus::kNoPermission) break;
    if (!led.ok() && led.code() != Code::kRetry && passed(appears)) return led.status();
    if (passed(deadline)) {
      return Status(Code::kRetry, fmt::format("not all partitions of topic {} at {} answer", name,
                                              client_.brokers));
    }
    std::this_thread::sleep_for(kPause);
  }
  const std::string attempted = fmt::format("describe topic {}", name);
  const Result<std::optional<std::string>> bytes =
      setting(RD_KAFKA_RESOURCE_TOPIC, name, "max.message.bytes", attempted, deadline);
  if (bytes.ok() && bytes->has_value()) {
    std::size_t value = 0;
    std::from_chars((*bytes)->data(), (*bytes)->data() + (*bytes)->size(), value);
    if (value != 0) limits.record_bytes_max = value;
  }
  return limits;
}

// ---- settings ----

Result<std::int32_t> RdAdmin::Work::any_broker(io::Monotonic deadline) {
  // Any that is known answers for itself; -1 when the answer has none yet.
  const rd_kafka_metadata_t* raw = nullptr;
  const rd_kafka_resp_err_t error =
      rd_kafka_metadata(handle_->get(), 0, nullptr, &raw, left_ms(deadline));
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return failed(error, "list the brokers");
  const RdMetadata metadata(raw);
  return metadata->broker_cnt == 0 ? -1 : metadata->brokers[0].id;
}

Result<std::optional<std::string>> RdAdmin::Work::setting(rd_kafka_ResourceType_t type,
                                                          const std::string& resource,
                                                          const std::string& name,
                                                          std::string_view attempted,
                                                          io::Monotonic deadline) {
  const std::unique_ptr<rd_kafka_ConfigResource_t, RdDelete<rd_kafka_ConfigResource_destroy>> of(
      rd_kafka_ConfigResource_new(type, resource.c_str()));
  rd_kafka_ConfigResource_t* one = of.get();
  Result<RdEvent> event = ask(RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, attempted, deadline,
                              [&](auto* rk, auto* options, auto* queue) {
                                rd_kafka_DescribeConfigs(rk, &one, 1, options, queue);
                              });
  if (!event.ok()) return event.status();
  std::size_t count = 0;
  const rd_kafka_ConfigResource_t** resources = rd_kafka_DescribeConfigs_result_resources(
      rd_kafka_event_DescribeConfigs_result(event->get()), &count);
  for (std::size_t i = 0; i < count; ++i) {
    if (const rd_kafka_resp_err_t error = rd_kafka_ConfigResource_error(resources[i])) {
      const char* said = rd_kafka_ConfigResource_error_string(resources[i]);
      return failed(error, attempted, said == nullptr ? "" : said);
    }
    std::size_t entries = 0;
    const rd_kafka_ConfigEntry_t** configs =
        rd_kafka_ConfigResource_configs(resources[i], &entries);
    for (std::size_t entry = 0; entry < entries; ++entry) {
      if (name != rd_kafka_ConfigEntry_name(configs[entry])) continue;
      const char* value = rd_kafka_ConfigEntry_value(configs[entry]);
      if (value != nullptr) return std::optional<std::string>(value);
    }
  }
  return std::optional<std::string>();
}

Result<std::optional<std::string>> RdAdmin::Work::broker_setting(const std::string& name,
                                                                 io::Monotonic deadline) {
  const Result<std::int32_t> broker = any_broker(deadline);
  if (!broker.ok()) return broker.status();
  const std::string attempted = fmt::format("read setting {} of broker {}", name, *broker);
  Result<std::optional<std::string>> value =
      setting(RD_KAFKA_RESOURCE_BROKER, std::to_string(*broker), name, attempted, deadline);
  // A user without the right to describe the cluster can still run a job.
  if (!value.ok() && value.status().exit_status() == ExitStatus::kNoPermission)
    return std::optional<std::string>();
  return value;
}

// ---- offsets ----

Result<std::shared_ptr<RdHandle>> RdAdmin::Work::reader(bool read_committed) {
  if (read_committed) return handle_;
  if (uncommitted_) return uncommitted_;
  Result<RdConfig> config = admin_config(client_, false);
  if (!config.ok()) return config.status();
  Result<std::shared_ptr<RdHandle>> made =
      RdHandle::make(RD_KAFKA_CONSUMER, std::move(*config).take(), "admin client", client_.brokers,
                     RdHandle::Watch::kNothing);
  if (made.ok()) uncommitted_ = *made;
  return made;
}

Result<std::vector<std::int64_t>> RdAdmin::Work::list_offsets(
    RdHandle& handle, const std::vector<TopicPartition>& partitions, std::int64_t timestamp,
    io::Monotonic deadline) {
  std::vector<std::int64_t> found;
  if (partitions.empty()) return found;
  const RdPartitions list = list_of(partitions);
  for (int i = 0; i < list->cnt; ++i) list->elems[i].offset = timestamp;
  // One request a leader; -1 and -2 as a time stand for the ends, as in the protocol.
  const rd_kafka_resp_err_t error =
      rd_kafka_offsets_for_times(handle.get(), list.get(), left_ms(deadline));
  const std::string all =
      partitions.size() == 1
          ? fmt::format("offsets of {}-{}", partitions[0].topic, partitions[0].partition)
          : fmt::format("offsets of {} partitions", partitions.size());
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return failed(error, "look up " + all);
  for (const TopicPartition& at : partitions) {
    const rd_kafka_topic_partition_t* answer =
        rd_kafka_topic_partition_list_find(list.get(), at.topic.c_str(), at.partition);
    if (answer->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return failed(answer->err, fmt::format("look up offsets of {}-{}", at.topic, at.partition));
    }
    found.push_back(answer->offset);
  }
  return found;
}

Result<std::vector<Offset>> RdAdmin::Work::offsets(const std::vector<TopicPartition>& partitions,
                                                   OffsetKind kind, EventTime time,
                                                   bool read_committed, io::Monotonic deadline) {
  const Result<std::shared_ptr<RdHandle>> handle = reader(read_committed);
  if (!handle.ok()) return handle.status();
  const std::int64_t timestamp = kind == OffsetKind::kEarliest ? kEarliest
                                 : kind == OffsetKind::kLatest
                                     ? kLatest
                                     : std::max<std::int64_t>(time.time_since_epoch().count(), 0);
  Result<std::vector<std::int64_t>> found = list_offsets(**handle, partitions, timestamp, deadline);
  if (!found.ok()) return found.status();
  std::vector<TopicPartition> behind;  // No record at or after the time: their end.
  for (std::size_t i = 0; i < partitions.size(); ++i) {
    if ((*found)[i] >= 0) continue;
    if (kind != OffsetKind::kAtTime) {
      // An end is always somewhere. To take the other one for it would skip records without a word.
      return Status(Code::kRetry, fmt::format("could not look up offsets of {}-{} at {}: the answer "
                                              "names none ({})",
                                              partitions[i].topic, partitions[i].partition,
                                              client_.brokers, (*found)[i]));
    }
    behind.push_back(partitions[i]);
  }
  const Result<std::vector<std::int64_t>> ends = list_offsets(**handle, behind, kLatest, deadline);
  if (!ends.ok()) return ends.status();
  std::vector<Offset> answer;
  std::size_t next_end = 0;
  for (const std::int64_t offset : *found)
    answer.emplace_back(offset < 0 ? (*ends)[next_end++] : offset);
  return answer;
}

Result<std::vector<OffsetAndMetadata>> RdAdmin::Work::committed(
    const std::string& group, const std::vector<TopicPartition>& partitions,
    io::Monotonic deadline) {
  if (partitions.empty()) return std::vector<OffsetAndMetadata>();
  const std::string attempted = fmt::format("read the committed offsets of group {}", group);
  const RdPartitions list = list_of(partitions);
  const std::unique_ptr<rd_kafka_ListConsumerGroupOffsets_t,
                        RdDelete<rd_kafka_ListConsumerGroupOffsets_destroy>>
      of(rd_kafka_ListConsumerGroupOffsets_new(group.c_str(), list.get()));
  rd_kafka_ListConsumerGroupOffsets_t* one = of.get();
  // In slices, as whoever asks does so again: a request that was made while the group had no
  // coordinator yet can stay with the library until its time is over.
  const io::Monotonic slice = std::min(deadline, std::chrono::steady_clock::now() + kSlice);
  Result<RdEvent> event = ask(
      RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS, attempted, slice,
      [&](auto* rk, auto* options, auto* queue) {
        rd_kafka_ListConsumerGroupOffsets(rk, &one, 1, options, queue);
      },
      true);
  if (!event.ok()) return event.status();
  std::size_t count = 0;
  const rd_kafka_group_result_t** groups = rd_kafka_ListConsumerGroupOffsets_result_groups(
      rd_kafka_event_ListConsumerGroupOffsets_result(event->get()), &count);
  SLUICE_ASSERT(count == 1);
  if (const rd_kafka_error_t* error = rd_kafka_group_result_error(groups[0])) {
    return failed(rd_kafka_error_code(error), attempted, rd_kafka_error_string(error));
  }
  const rd_kafka_topic_partition_list_t* answers = rd_kafka_group_result_partitions(groups[0]);
  std::vector<OffsetAndMetadata> found;
  for (const TopicPartition& at : partitions) {
    OffsetAndMetadata& entry =
        found.emplace_back(OffsetAndMetadata{.partition = at, .offset = -1, .metadata = {}});
    const rd_kafka_topic_partition_t* answer =
        answers == nullptr
            ? nullptr
            : rd_kafka_topic_partition_list_find(answers, at.topic.c_str(), at.partition);
    if (answer == nullptr) continue;
    if (answer->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return failed(answer->err, fmt::format("{} for {}-{}", attempted, at.topic, at.partition));
    }
    if (answer->offset < 0) continue;
    entry.offset = answer->offset;
    if (answer->metadata != nullptr) {
      entry.metadata.assign(static_cast<const char*>(answer->metadata), answer->metadata_size);
    }
  }
  return found;
}

Status RdAdmin::Work::commit_offsets(const std::string& group,
                                     const std::vector<OffsetAndMetadata>& offsets,
                                     io::Monotonic deadline) {
  if (offsets.empty()) return {};
  const std::string attempted = fmt::format("commit offsets of group {}", group);
  RdPartitions list(rd_kafka_topic_partition_list_new(static_cast<int>(offsets.size())));
  for (const OffsetAndMetadata& given : offsets) {
    SLUICE_ASSERT(given.offset >= 0);
    rd_kafka_topic_partition_t* at = rd_kafka_topic_partition_list_add(
        list.get(), given.partition.topic.c_str(), given.partition.partition);
    at->offset = given.offset;
    if (given.metadata.empty()) continue;
    at->metadata = ::strdup(given.metadata.c_str());  // The list frees it.
    at->metadata_size = given.metadata.size();
  }
  const std::unique_ptr<rd_kafka_AlterConsumerGroupOffsets_t,
                        RdDelete<rd_kafka_AlterConsumerGroupOffsets_destroy>>
      of(rd_kafka_AlterConsumerGroupOffsets_new(group.c_str(), list.get()));
  rd_kafka_AlterConsumerGroupOffsets_t* one = of.get();
  Result<RdEvent> event = ask(RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS, attempted, deadline,
                              [&](auto* rk, auto* options, auto* queue) {
                                rd_kafka_AlterConsumerGroupOffsets(rk, &one, 1, options, queue);
                              });
  if (!event.ok()) return event.status();
  std::size_t count = 0;
  const rd_kafka_group_result_t** groups = rd_kafka_AlterConsumerGroupOffsets_result_groups(
      rd_kafka_event_AlterConsumerGroupOffsets_result(event->get()), &count);
  SLUICE_ASSERT(count == 1);
  if (const rd_kafka_error_t* error = rd_kafka_group_result_error(groups[0])) {
    return failed(rd_kafka_error_code(error), attempted, rd_kafka_error_string(error));
  }
  const rd_kafka_topic_partition_list_t* answers = rd_kafka_group_result_partitions(groups[0]);
  for (int i = 0; answers != nullptr && i < answers->cnt; ++i) {
    if (answers->elems[i].err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return failed(answers->elems[i].err,
                    fmt::format("{} for {}-{}", attempted, answers->elems[i].topic,
                                answers->elems[i].partition));
    }
  }
  return {};
}

}  // namespace sluice::kafka::internal
