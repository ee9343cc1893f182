#include "commands/lag_probe.h"

#include "commands/cluster.h"
#include "pipeline_file/kafka_parts.h"

#include <algorithm>

namespace sluice::tools {

using namespace std::chrono_literals;

namespace {

constexpr int kAnswer_ms = 2000;

/// End and committed offset of each partition of one topic; nothing when one is not known.
std::optional<std::uint64_t> lag_of(const Handle& handle, const std::string& topic) {
  const auto partitions = partition_count(handle, topic, std::chrono::milliseconds(kAnswer_ms));
  if (!partitions.ok()) return {};
  const PartitionList list(rd_kafka_topic_partition_list_new(*partitions));
  for (std::int32_t i = 0; i < *partitions; ++i) {
    rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), i);
  }
  if (rd_kafka_committed(handle.get(), list.get(), kAnswer_ms) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return {};
  }
  std::uint64_t lag = 0;
  for (std::int32_t i = 0; i < *partitions; ++i) {
    std::int64_t first = 0, end = 0;
    if (rd_kafka_query_watermark_offsets(handle.get(), topic.c_str(), i, &first, &end,
                                         kAnswer_ms) != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return {};
    }
    const std::int64_t committed = list->elems[i].offset;
    lag += static_cast<std::uint64_t>(std::max<std::int64_t>(end - std::max(committed, first), 0));
  }
  return lag;
}

}  // namespace

struct LagProbe::Input {
  Connection connection;
  kafka::Properties properties;
  std::vector<std::string> topics;
  std::unique_ptr<Handle> handle = {};
};

LagProbe::LagProbe(const Pipeline& pipeline) {
  for (const SourceSpec& source : pipeline.sources) {
    kafka::SourceOptions options = source_options(pipeline, source);
    const bool told = options.commit_offsets != kafka::CommitOffsets::kNever;
    if (options.group.empty() || options.topics.empty() || !told) {
      inputs_.clear();
      return;  // A sum of some of them would pass for all.
    }
    Input input{{.brokers = options.brokers, .properties = {}},
                std::move(options.properties),
                std::move(options.topics)};
    input.properties["group.id"] = options.group;
    input.properties["enable.auto.commit"] = "false";
    inputs_.push_back(std::move(input));
  }
  thread_ = std::thread([this] { run(); });
}

LagProbe::~LagProbe() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::optional<std::uint64_t> LagProbe::records() const {
  const std::int64_t records = records_.load(std::memory_order_relaxed);
  return records < 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(records));
}

void LagProbe::run() {
  std::unique_lock lock(mutex_);
  // The first look waits too: the job's own start comes first.
  while (!wake_.wait_for(lock, 2s, [this] { return stop_; })) {
    lock.unlock();
    std::optional<std::uint64_t> sum = 0;
    for (Input& input : inputs_) {
      if (!input.handle) {
        auto made = Handle::make(RD_KAFKA_CONSUMER, input.connection, {.fixed = input.properties});
        if (made.ok()) input.handle = *std::move(made);
      }
      for (const std::string& topic : input.topics) {
        const auto lag = input.handle && sum ? lag_of(*input.handle, topic) : std::nullopt;
        sum = lag && sum ? std::optional(*sum + *lag) : std::nullopt;
      }
    }
    records_.store(sum ? static_cast<std::int64_t>(*sum) : -1, std::memory_order_relaxed);
    lock.lock();
  }
}

}  // namespace sluice::tools
