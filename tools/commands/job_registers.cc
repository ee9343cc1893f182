#include "commands/job_registers.h"

#include "commands/wire.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

namespace sluice::tools {

namespace {

using std::chrono::milliseconds;

constexpr const char* kOffsetsTopic = "__consumer_offsets";
// How far back in the log to look for the time of the decision. A job that decides is near the end.
constexpr std::int64_t kLookBackRecords = 100'000;

template <auto destroy>
struct Deleter {
  template <class Type>
  void operator()(Type* object) const noexcept {
    destroy(object);
  }
};
using Queue = std::unique_ptr<rd_kafka_queue_t, Deleter<rd_kafka_queue_destroy>>;
using Event = std::unique_ptr<rd_kafka_event_t, Deleter<rd_kafka_event_destroy>>;
using AdminOptions =
    std::unique_ptr<rd_kafka_AdminOptions_t, Deleter<rd_kafka_AdminOptions_destroy>>;
using Request = std::unique_ptr<rd_kafka_ListConsumerGroupOffsets_t,
                                Deleter<rd_kafka_ListConsumerGroupOffsets_destroy>>;
using Message = std::unique_ptr<rd_kafka_message_t, Deleter<rd_kafka_message_destroy>>;

Result<std::vector<kafka::OffsetAndMetadata>> ask_once(const Handle& consumer,
                                                       const std::string& group,
                                                       milliseconds timeout,
                                                       rd_kafka_resp_err_t& error) {
  const auto failed = [&](rd_kafka_resp_err_t code, const std::string& what, const char* why) {
    error = code;
    return why == nullptr ? consumer.failure(code, what) : consumer.failure(code, what, why);
  };
  error = RD_KAFKA_RESP_ERR_NO_ERROR;
  const Queue queue(rd_kafka_queue_new(consumer.get()));
  const AdminOptions options(
      rd_kafka_AdminOptions_new(consumer.get(), RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS));
  rd_kafka_AdminOptions_set_request_timeout(options.get(), static_cast<int>(timeout.count()),
                                            nullptr, 0);
  const Request request(rd_kafka_ListConsumerGroupOffsets_new(group.c_str(), nullptr));
  rd_kafka_ListConsumerGroupOffsets_t* requests[] = {request.get()};
  rd_kafka_ListConsumerGroupOffsets(consumer.get(), requests, 1, options.get(), queue.get());
  const Event event(rd_kafka_queue_poll(queue.get(), static_cast<int>(timeout.count()) + 1000));
  const std::string attempted = fmt::format("could not read the offsets of group \"{}\"", group);
  if (!event) return failed(RD_KAFKA_RESP_ERR__TIMED_OUT, attempted, nullptr);
  if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return failed(rd_kafka_event_error(event.get()), attempted,
                  rd_kafka_event_error_string(event.get()));
  }
  std::size_t count = 0;
  const auto* const groups = rd_kafka_ListConsumerGroupOffsets_result_groups(
      rd_kafka_event_ListConsumerGroupOffsets_result(event.get()), &count);
  std::vector<kafka::OffsetAndMetadata> committed;
  if (count == 0) return committed;
  if (const rd_kafka_error_t* const of_group = rd_kafka_group_result_error(groups[0])) {
    return failed(rd_kafka_error_code(of_group), attempted, rd_kafka_error_string(of_group));
  }
  const auto* const partitions = rd_kafka_group_result_partitions(groups[0]);
  for (int at = 0; partitions != nullptr && at < partitions->cnt; ++at) {
    const rd_kafka_topic_partition_t& one = partitions->elems[at];
    if (one.err != RD_KAFKA_RESP_ERR_NO_ERROR) return consumer.failure(one.err, attempted);
    if (one.offset < 0) continue;
    committed.push_back(
        {{one.topic, one.partition},
         one.offset,
         one.metadata == nullptr
             ? std::string()
             : std::string(static_cast<const char*>(one.metadata), one.metadata_size)});
  }
  return committed;
}

/// In slices: a request that was made while the group had no coordinator yet can stay with the
/// library until its time is over.
Result<std::vector<kafka::OffsetAndMetadata>> group_offsets(const Handle& consumer,
                                                            const std::string& group,
                                                            milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  for (;;) {
    const auto left = std::chrono::duration_cast<milliseconds>(
        deadline - std::chrono::steady_clock::now());
    rd_kafka_resp_err_t error = RD_KAFKA_RESP_ERR_NO_ERROR;
    auto answer =
        ask_once(consumer, group, std::clamp(left, milliseconds(1), milliseconds(3'000)), error);
    // A cluster's first question about a group makes the topic that coordinators live in.
    const bool again = error == RD_KAFKA_RESP_ERR__TIMED_OUT ||
                       error == RD_KAFKA_RESP_ERR_NOT_COORDINATOR ||
                       error == RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE ||
                       error == RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS;
    if (!again || std::chrono::steady_clock::now() >= deadline) return answer;
    std::this_thread::sleep_for(milliseconds(50));
  }
}

kafka::OffsetAndMetadata take(std::vector<kafka::OffsetAndMetadata>& from,
                              const kafka::TopicPartition& which) {
  const auto found = std::find_if(from.begin(), from.end(),
                                  [&](const auto& commit) { return commit.partition == which; });
  if (found == from.end()) return {which, -1, {}};
  kafka::OffsetAndMetadata taken = std::move(*found);
  from.erase(found);
  return taken;
}

// Offsets carry no time where groups are asked for them, but the log in which the broker keeps them
// does.
std::optional<std::int64_t> time_of_decision(const Handle& consumer,
                                             const kafka::RegisterPlace& place,
                                             std::int64_t decided, milliseconds timeout) {
  const auto partitions = partition_count(consumer, kOffsetsTopic, timeout);
  if (!partitions.ok())
    return std::nullopt;  // Not for everybody's eyes; then the age is not known.
  const std::int32_t partition = offsets_partition_of(place.group, *partitions);
  std::int64_t low = 0;
  std::int64_t high = 0;
  if (rd_kafka_query_watermark_offsets(consumer.get(), kOffsetsTopic, partition, &low, &high,
                                       static_cast<int>(timeout.count())) !=
          RD_KAFKA_RESP_ERR_NO_ERROR ||
      high <= low) {
    return std::nullopt;
  }
  const TopicHandle topic(rd_kafka_topic_new(consumer.get(), kOffsetsTopic, nullptr));
  if (rd_kafka_consume_start(topic.get(), partition, std::max(low, high - kLookBackRecords)) != 0)
    return std::nullopt;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  std::optional<std::int64_t> found;
  OffsetCommitRecord record;
  while (std::chrono::steady_clock::now() < deadline) {
    const Message message(rd_kafka_consume(topic.get(), partition, 100));
    if (!message) continue;
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) break;  // The end, or a refusal.
    if (message->key == nullptr || message->payload == nullptr) continue;
    const std::string_view key(static_cast<const char*>(message->key), message->key_len);
    const std::string_view value(static_cast<const char*>(message->payload), message->len);
    // An aborted commit of the same epoch may stand there too; the last one is the one that counts.
    if (parse_offset_commit(key, value, record) && record.group == place.group &&
        record.topic == place.topic &&
        record.partition == kafka::RegisterPlace::kDecisionPartition && record.offset == decided) {
      found = record.commit_ms;
    }
    if (message->offset + 1 >= high) break;
  }
  rd_kafka_consume_stop(topic.get(), partition);
  return found;
}

}  // namespace

std::int32_t offsets_partition_of(const std::string& group, std::int32_t partitions) {
  std::uint32_t hash = 0;  // Java's String.hashCode; a group's name is ASCII.
  for (const char letter : group) hash = hash * 31 + static_cast<unsigned char>(letter);
  const auto as_java = static_cast<std::int32_t>(hash);
  const std::int32_t absolute =
      as_java == INT32_MIN ? 0 : std::abs(as_java);  // As Kafka's Utils.abs.
  return absolute % std::max(partitions, 1);
}

bool parse_offset_commit(std::string_view key, std::string_view value, OffsetCommitRecord& record) {
  WireReader k(key);
  const std::int16_t key_version = k.i16();
  if (key_version != 0 && key_version != 1) return false;  // 2 is a group's metadata.
  record.group = k.string16();
  record.topic = k.string16();
  record.partition = k.i32();
  WireReader v(value);
  const std::int16_t version = v.i16();
  const bool flexible = version >= 4;
  record.offset = v.i64();
  if (version >= 3) v.i32();  // leader epoch
  if (flexible)
    v.compact_string();
  else
    v.string16();
  record.commit_ms = v.i64();
  return k.ok() && v.ok() && version >= 0 && version <= 4;
}

Result<JobRegisters> read_registers(const Handle& consumer, const kafka::RegisterPlace& place,
                                    milliseconds timeout) {
  auto all = group_offsets(consumer, place.group, timeout);
  if (!all.ok()) return all.status();
  JobRegisters registers;
  registers.place = place;
  registers.committed.push_back(take(*all, place.decision()));
  registers.committed.push_back(take(*all, place.owner()));
  for (auto& other : *all) registers.committed.push_back(std::move(other));
  auto decoded = kafka::decode(place, {}, registers.committed);
  if (decoded.ok())
    registers.decoded = *std::move(decoded);
  else
    registers.damage = decoded.status();
  if (registers.committed[0].offset >= 0) {
    registers.decided_ms =
        time_of_decision(consumer, place, registers.committed[0].offset, timeout);
  }
  return registers;
}

}  // namespace sluice::tools
