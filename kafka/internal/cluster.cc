#include <sluice/kafka/internal/cluster.h>
#include <sluice/kafka/internal/patiently.h>

#include <fmt/ranges.h>

#include <algorithm>

namespace sluice::kafka::internal {

using kafka::Admin;
using kafka::OffsetAndMetadata;
using kafka::TopicMetadata;
using kafka::TopicPartition;

std::string Cluster::key(const std::string& brokers, const std::shared_ptr<kafka::Client>& given) {
  return given ? fmt::format("{}@{}", brokers, static_cast<const void*>(given.get())) : brokers;
}

Result<std::shared_ptr<Cluster>> Cluster::use(Attempt& attempt, const std::string& brokers,
                                              const kafka::Properties& properties,
                                              const std::shared_ptr<kafka::Client>& given) {
  if (brokers.empty() && !given)
    return Status(Code::kInvalid,
                  "kafka: .brokers is empty: name host:port of one broker at least");
  std::string name = "kafka-cluster:" + key(brokers, given);
  for (const auto& [property, value] : properties) name += fmt::format("\n{}={}", property, value);
  const auto make = [&] {
    std::shared_ptr<kafka::Client> client = given;
    if (!client)
      client = kafka::make_client({.brokers = brokers,
                                   .client_id = "sluice-" + attempt.job_name(),
                                   .properties = properties});
    const std::string named = brokers.empty() ? client->options().brokers : brokers;
    return std::make_shared<Cluster>(std::move(client), named,
                                     given ? properties : kafka::Properties{}, attempt.clock());
  };
  std::shared_ptr<Cluster> cluster = attempt.shared<Cluster>(name, make);
  if (!cluster->admin_) {
    Result<std::unique_ptr<Admin>> admin =
        cluster->client_->admin(attempt.shards().control().executor());
    if (!admin.ok()) return std::move(admin).status();
    cluster->admin_ = *std::move(admin);
  }
  ++cluster->users_;
  return cluster;
}

Status Cluster::unanswered(const Status& last, std::string_view what) const {
  if (last.code() != Code::kRetry) return last;
  return Status(Code::kInvalid, fmt::format("{}: no answer from the brokers at {} in time ({}); "
                                            "are they up, and is the address right?",
                                            what, brokers_, last.message()))
      .exit(ExitStatus::kUnavailable);
}

asio::awaitable<Result<std::vector<TopicMetadata>>> Cluster::topics(std::vector<std::string> names,
                                                                    io::Monotonic deadline) {
  auto call = [this, &names, deadline] { return admin_->topics(names, deadline); };
  Result<std::vector<TopicMetadata>> answer =
      co_await patiently<Result<std::vector<TopicMetadata>>>(clock_, deadline, std::move(call));
  if (!answer.ok()) co_return unanswered(answer.status(), "looking for topics");
  co_return answer;
}

asio::awaitable<Status> Cluster::create_topic(std::string name, std::int32_t partitions,
                                              std::int32_t replication, kafka::Properties config,
                                              io::Monotonic deadline) {
  auto call = [&, this] {
    return admin_->create_topic(name, partitions, replication, config, deadline);
  };
  Status created = co_await patiently<Status>(clock_, deadline, std::move(call));
  co_return unanswered(created, "creating topic " + name);
}

asio::awaitable<Result<std::vector<Offset>>> Cluster::offsets(
    std::vector<TopicPartition> partitions, kafka::OffsetKind kind, EventTime time,
    bool read_committed, io::Monotonic deadline) {
  if (partitions.empty()) co_return std::vector<Offset>{};
  auto call = [&, this] {
    return admin_->offsets(partitions, kind, time, read_committed, deadline);
  };
  Result<std::vector<Offset>> answer =
      co_await patiently<Result<std::vector<Offset>>>(clock_, deadline, std::move(call));
  if (!answer.ok()) co_return unanswered(answer.status(), "asking for offsets");
  co_return answer;
}

asio::awaitable<Result<std::vector<OffsetAndMetadata>>> Cluster::committed(
    std::string group, std::vector<TopicPartition> partitions, io::Monotonic deadline,
    io::Monotonic patience) {
  if (partitions.empty()) co_return std::vector<OffsetAndMetadata>{};
  auto call = [&, this] { return admin_->committed(group, partitions, deadline); };
  Result<std::vector<OffsetAndMetadata>> answer =
      co_await patiently<Result<std::vector<OffsetAndMetadata>>>(clock_, deadline, patience,
                                                                 std::move(call));
  co_return answer;
}

asio::awaitable<Status> Cluster::commit_offsets(std::string group,
                                                std::vector<OffsetAndMetadata> offsets,
                                                io::Monotonic deadline) {
  if (offsets.empty()) co_return Status();
  auto call = [&, this] { return admin_->commit_offsets(group, offsets, deadline); };
  Status committed = co_await patiently<Status>(clock_, deadline, std::move(call));
  co_return unanswered(committed, "committing offsets of group " + group);
}

asio::awaitable<Result<std::optional<std::string>>> Cluster::broker_setting(
    std::string name, io::Monotonic deadline) {
  auto call = [&, this] { return admin_->broker_setting(name, deadline); };
  Result<std::optional<std::string>> answer =
      co_await patiently<Result<std::optional<std::string>>>(clock_, deadline, std::move(call));
  if (!answer.ok()) co_return unanswered(answer.status(), "asking for the broker's " + name);
  co_return answer;
}

asio::awaitable<Status> Cluster::release() {
  SLUICE_ASSERT(users_ > 0);
  if (--users_ > 0) co_return Status();
  std::unique_ptr<Admin> admin = std::move(admin_);
  Status closed = co_await admin->close();
  co_return closed;
}

asio::awaitable<Status> check_topics(std::shared_ptr<Cluster> cluster,
                                     std::vector<std::string> names, std::string whose,
                                     bool may_be_missing, io::Monotonic deadline,
                                     std::vector<TopicMetadata>* found) {
  if (names.empty()) co_return Status();  // An empty list would ask for all topics.
  Result<std::vector<TopicMetadata>> answer = co_await cluster->topics(names, deadline);
  if (!answer.ok()) co_return answer.status().with("for", whose);
  std::vector<std::string> missing, refused;
  Status other;
  for (const TopicMetadata& topic : *answer) {
    if (!topic.status.ok() && topic.status.exit_status() == ExitStatus::kNoPermission) {
      refused.push_back(topic.name);
    } else if (!topic.status.ok() && topic.partitions > 0) {
      other = topic.status;
    } else if (topic.partitions == 0) {
      missing.push_back(topic.name);
    }
  }
  *found = *std::move(answer);
  if (!refused.empty()) {
    co_return Status(
        Code::kInvalid,
        fmt::format("{}: not allowed to describe topic {} at {}: grant DESCRIBE, and READ or WRITE",
                    whose, fmt::join(refused, ", "), cluster->brokers()))
        .exit(ExitStatus::kNoPermission);
  }
  if (!missing.empty() && !may_be_missing) {
    co_return Status(
        Code::kInvalid,
        fmt::format(
            "{}: topic {} does not exist at {} (nothing was created): is the name spelt right?",
            whose, fmt::join(missing, ", "), cluster->brokers()));
  }
  co_return other;
}

}  // namespace sluice::kafka::internal
