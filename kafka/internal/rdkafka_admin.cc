#include <sluice/kafka/internal/rdkafka_admin.h>
#include <sluice/kafka/internal/rdkafka_admin_work.h>
#include <sluice/kafka/internal/rdkafka_config.h>

#include <utility>

namespace sluice::kafka::internal {

Result<std::unique_ptr<RdAdmin>> RdAdmin::make(const ClientOptions& client) {
  Result<RdConfig> config = admin_config(client, true);
  if (!config.ok()) return config.status();
  Result<std::shared_ptr<RdHandle>> handle =
      RdHandle::make(RD_KAFKA_CONSUMER, std::move(*config).take(), "admin client", client.brokers,
                     RdHandle::Watch::kNothing);
  if (!handle.ok()) return handle.status();
  return std::unique_ptr<RdAdmin>(new RdAdmin(std::make_unique<Work>(client, std::move(*handle))));
}

RdAdmin::RdAdmin(std::unique_ptr<Work> work) : work_(std::move(work)), thread_("sluice-admin") {}

RdAdmin::~RdAdmin() = default;

// The parameters live in the coroutine's frame, which waits, so the thread may refer to them.

asio::awaitable<Result<std::vector<TopicMetadata>>> RdAdmin::topics(std::vector<std::string> names,
                                                                    io::Monotonic deadline) {
  auto call = [work = work_.get(), &names, deadline] { return work->topics(names, deadline); };
  Result<std::vector<TopicMetadata>> answer = co_await io::offload(thread_, std::move(call));
  co_return answer;
}

asio::awaitable<Status> RdAdmin::create_topic(std::string name, std::int32_t partitions,
                                              std::int32_t replication, Properties config,
                                              io::Monotonic deadline) {
  auto call = [work = work_.get(), &name, partitions, replication, &config, deadline] {
    return work->create_topic(name, partitions, replication, config, deadline);
  };
  Status answer = co_await io::offload(thread_, std::move(call));
  co_return answer;
}

asio::awaitable<Result<std::vector<Offset>>> RdAdmin::offsets(
    std::vector<TopicPartition> partitions, OffsetKind kind, EventTime time, bool read_committed,
    io::Monotonic deadline) {
  auto call = [work = work_.get(), &partitions, kind, time, read_committed, deadline] {
    return work->offsets(partitions, kind, time, read_committed, deadline);
  };
  Result<std::vector<Offset>> answer = co_await io::offload(thread_, std::move(call));
  co_return answer;
}

asio::awaitable<Result<std::vector<OffsetAndMetadata>>> RdAdmin::committed(
    std::string group, std::vector<TopicPartition> partitions, io::Monotonic deadline) {
  auto call = [work = work_.get(), &group, &partitions, deadline] {
    return work->committed(group, partitions, deadline);
  };
  Result<std::vector<OffsetAndMetadata>> answer = co_await io::offload(thread_, std::move(call));
  co_return answer;
}

asio::awaitable<Status> RdAdmin::commit_offsets(std::string group,
                                                std::vector<OffsetAndMetadata> offsets,
                                                io::Monotonic deadline) {
  auto call = [work = work_.get(), &group, &offsets, deadline] {
    return work->commit_offsets(group, offsets, deadline);
  };
  Status answer = co_await io::offload(thread_, std::move(call));
  co_return answer;
}

asio::awaitable<Result<std::optional<std::string>>> RdAdmin::broker_setting(
    std::string name, io::Monotonic deadline) {
  auto call = [work = work_.get(), &name, deadline] {
    return work->broker_setting(name, deadline);
  };
  Result<std::optional<std::string>> answer = co_await io::offload(thread_, std::move(call));
  co_return answer;
}

asio::awaitable<Result<RdAdmin::TopicLimits>> RdAdmin::topic_limits(std::string name,
                                                                    io::Monotonic deadline) {
  auto call = [work = work_.get(), &name, deadline] { return work->topic_limits(name, deadline); };
  Result<TopicLimits> answer = co_await io::offload(thread_, std::move(call));
  co_return answer;
}

asio::awaitable<Status> RdAdmin::close() {
  auto call = [work = work_.get()] { work->drop_handles(); };
  co_await io::offload(thread_, std::move(call));
  co_return Status();
}

}  // namespace sluice::kafka::internal
