#pragma once

#include <sluice/engine/sink.h>
#include <sluice/kafka/internal/picker.h>
#include <sluice/kafka/internal/sink_core.h>
#include <sluice/kafka/internal/too_large.h>
#include <sluice/kafka/serde.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::kafka::internal {

/// Serialises a batch into a span of the client's records, which is reused, and hands it over.
template <class T, class S>
class KafkaWriter final : public SinkWriter<T> {
 public:
  KafkaWriter(std::shared_ptr<SinkCore> core, S serializer, ShardId shard)
      : core_(std::move(core)),
        serializer_(std::move(serializer)),
        picker_(core_->options().partitioner, shard) {}

  asio::awaitable<Status> open(const Context& context) override {
    context_ = context;
    rejected_total_ = context_.metrics->counter("sluice_sink_rejected_records_total");
    co_return Status();
  }
  asio::awaitable<Status> write(Batch<T> batch, std::vector<Batch<Record>>& rejected) override {
    Arena arena;  // Empty until a serializer asks; produce() copies, so it may go at the end.
    picker_.start_batch(batch.split());
    out_.clear();
    base_ = at_ = 0;
    current_.reset();
    while (at_ < batch.size()) {
      const Stop stop = serialise(batch, arena);
      Status step;
      if (stop == Stop::kFailed) co_return std::move(failure_);
      if (stop == Stop::kTooLarge) {
        // In order: what comes before it goes first.
        step = co_await hand_over(batch, rejected);
        if (step.ok()) step = refuse(batch, at_, *current_, topic_.record_bytes_max, rejected);
        base_ = ++at_;
        current_.reset();
      } else if (stop == Stop::kTopic) {
        step = co_await look_up();
      } else {
        step = co_await hand_over(batch, rejected);
      }
      if (!step.ok()) co_return step;
    }
    co_return Status();
  }

 private:
  enum class Stop : std::uint8_t { kEnd, kTopic, kTooLarge, kFailed };

  /// One plain loop from at_ on; out_[i] is record base_ + i of the batch.
  Stop serialise(const Batch<T>& batch, Arena& arena) {
    const bool timed = !batch.times().empty();
    const bool write_time = core_->options().write_timestamp;
    for (; at_ < batch.size(); ++at_) {
      if (!current_) {
        SinkRecord& fresh = current_.emplace();
        if (!call(batch[at_], arena, fresh)) [[unlikely]] {
          failure_ = failure_.with(fmt::format("(sink {}, {})", context_.operator_id,
                                               origin_text(batch.split(), record_of(batch[at_]))));
          return Stop::kFailed;
        }
      }
      SinkRecord& record = *current_;
      if (record.topic.data() == nullptr || record.topic.empty()) {
        if (!own_) use_own();
      } else if (own_ || record.topic != topic_name_) {
        if (!use(record.topic)) return Stop::kTopic;
      }
      if (topic_.partitions == 0) [[unlikely]] {
        failure_ = Status(Code::kInvalid,
                          fmt::format("sink {}: a record names no topic, and the sink has none",
                                      context_.operator_id));
        return Stop::kFailed;
      }
      if (size_of(record) > topic_.record_bytes_max) [[unlikely]]
        return Stop::kTooLarge;
      std::int32_t partition = record.partition;
      if (partition < 0) partition = picker_.pick(record, topic_.partitions);
      if (partition < 0 || partition >= topic_.partitions) [[unlikely]] {
        failure_ =
            Status(Code::kInvalid, fmt::format("sink {}: partition {} was chosen, the topic has {}",
                                               context_.operator_id, partition, topic_.partitions));
        return Stop::kFailed;
      }
      EventTime time = kNoEventTime;
      if (write_time)
        time = record.time != kNoEventTime ? record.time
               : timed                     ? batch.times()[at_]
                                           : kNoEventTime;
      out_.push_back({topic_.handle, partition, record.key, record.value, record.headers, time});
      current_.reset();
    }
    return Stop::kEnd;
  }
  /// False: failure_ says why.
  [[gnu::always_inline]] bool call(const T& value, [[maybe_unused]] Arena& arena, SinkRecord& out) {
    try {
      const auto run = [&]() -> decltype(auto) {
        if constexpr (SerializerWithArena<S, T>) {
          return serializer_(value, arena, out);
        } else {
          return serializer_(value, out);
        }
      };
      if constexpr (std::is_void_v<decltype(run())>) {
        run();
        return true;
      } else {
        Status status = run();
        if (status.ok()) [[likely]]
          return true;
        failure_ = std::move(status);
        return false;
      }
    } catch (const std::exception& thrown) {
      failure_ = Status(Code::kInvalid, "the serializer threw:", thrown.what());
      return false;
    }
  }
  asio::awaitable<Status> hand_over(const Batch<T>& batch, std::vector<Batch<Record>>& rejected) {
    std::size_t from = 0;
    while (from < out_.size()) {
      std::size_t too_large = 0;
      const std::span<const kafka::OutRecord> left =
          std::span<const kafka::OutRecord>(out_).subspan(from);
      Status produced = co_await core_->producer().produce(left, &too_large);
      if (produced.ok()) break;
      if (produced.code() != Code::kExhausted) co_return produced;
      // Over a limit that only the client knows; what comes before it is handed over.
      const kafka::OutRecord& record = out_[from + too_large];
      SinkRecord refused;
      refused.key = record.key;
      refused.value = record.value;
      refused.headers = record.headers;
      refused.time = record.time;
      Status policy =
          refuse(batch, base_ + from + too_large, refused, topic_.record_bytes_max, rejected);
      if (!policy.ok()) co_return policy.with("-", produced.message());
      from += too_large + 1;
    }
    base_ = at_;
    out_.clear();
    co_return Status();
  }
  asio::awaitable<Status> look_up() {
    std::string name(current_->topic);
    std::string asked = name;
    Result<kafka::TopicInfo> info = co_await core_->topic_from_shard(std::move(asked));
    if (!info.ok()) co_return info.status();
    topics_.insert_or_assign(std::move(name), *info);
    co_return Status();
  }
  void use_own() noexcept {
    own_ = true;
    topic_ = core_->own_topic();
  }
  bool use(std::string_view name) {
    const auto known = topics_.find(name);
    if (known == topics_.end()) return false;
    own_ = false;
    topic_name_ = known->first;
    topic_ = known->second;
    return true;
  }
  Status refuse(const Batch<T>& batch, std::size_t index, const SinkRecord& record,
                std::size_t limit, std::vector<Batch<Record>>& rejected) {
    rejected_total_->add(1);
    return refuse_too_large(context_.operator_id, core_->options().too_large, batch.split_ref(),
                            record_of(batch[index]), record, limit, rejected_total_->value(), rejected);
  }

  const std::shared_ptr<SinkCore> core_;
  S serializer_;
  Picker picker_;
  Context context_;
  std::vector<kafka::OutRecord> out_;
  std::size_t base_ = 0, at_ = 0;
  std::optional<SinkRecord> current_;  // Serialised, and not in out_ yet: its topic is being looked
                                       // up, or it is too large.
  bool own_ = false;                   // topic_ is the sink's.
  kafka::TopicInfo topic_;
  std::string_view topic_name_;  // Into topics_; where not own_.
  std::map<std::string, kafka::TopicInfo, std::less<>> topics_;
  Status failure_;
  std::shared_ptr<Counter> rejected_total_;
};

}  // namespace sluice::kafka::internal
