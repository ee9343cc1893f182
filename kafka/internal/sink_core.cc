#include <sluice/io/base/log.h>
#include <sluice/kafka/internal/inputs.h>
#include <sluice/kafka/internal/sink_core.h>
#include <sluice/kafka/internal/transactional_properties.h>

#include <charconv>
#include <cstdlib>

namespace sluice::kafka::internal {
namespace {

using kafka::Properties;
using std::chrono::milliseconds;

/// Which cluster each transactional id of the job belongs to.
using IdOwners = std::map<std::string, std::string>;

std::optional<std::int64_t> number_of(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

/// The settings that break exactly once, and why.
Status check_properties(const Properties& properties, milliseconds transaction_timeout) {
  for (const auto& [name, value] : properties) {
    SLUICE_TRY(check_transactional_property(name, value, transaction_timeout));
  }
  return {};
}

std::uint64_t taint_fault() {
  const char* const text = std::getenv("SLUICE_FAULT_TAINT_EVERY");
  const auto number = text == nullptr ? std::nullopt : number_of(text);
  return number && *number > 0 ? static_cast<std::uint64_t>(*number) : 0;
}

}  // namespace

std::string SinkCore::describe() const {
  return "kafka " + (options_.topic.empty() ? "(topic of each record)" : options_.topic);
}

Status SinkCore::check_options(Attempt& attempt) const {
  if (options_.partitioner.kind == kafka::Partitioner::Kind::kOwn && !options_.partitioner.own) {
    return Status(Code::kInvalid,
                  fmt::format("sink {}: partition_by() was given no function", id_));
  }
  if (!transactional()) return {};
  if (options_.transaction_timeout < milliseconds(1000)) {
    return Status(Code::kInvalid,
                  fmt::format("sink {}: transaction_timeout of {} ms is below 1000 ms", id_,
                              options_.transaction_timeout.count()));
  }
  if (attempt.checkpoint_interval >= options_.transaction_timeout) {
    const auto interval = std::chrono::duration_cast<milliseconds>(attempt.checkpoint_interval);
    return Status(
        Code::kInvalid,
        fmt::format("sink {}: the checkpoint interval of {} ms must be below transaction_timeout "
                    "(transaction.timeout.ms), {} ms: a transaction is open for as long as an "
                    "interval lasts",
                    id_, interval.count(), options_.transaction_timeout.count()));
  }
  return check_properties(options_.properties, options_.transaction_timeout);
}

asio::awaitable<Status> SinkCore::check(Attempt& attempt, std::string id) {
  id_ = std::move(id);
  control_ = attempt.shards().control().executor();
  Status right = check_options(attempt);
  if (!right.ok()) co_return right;
  Result<std::shared_ptr<Cluster>> cluster =
      Cluster::use(attempt, options_.brokers, options_.properties, options_.client);
  if (!cluster.ok()) co_return cluster.status().with("for sink", id_);
  cluster_ = *std::move(cluster);
  const io::Monotonic deadline = cluster_->in(options_.unreachable_after);
  std::vector<std::string> names;
  if (!options_.topic.empty()) names.push_back(options_.topic);
  std::vector<kafka::TopicMetadata> found;
  std::string whose = "sink " + id_;
  right =
      co_await check_topics(cluster_, std::move(names), std::move(whose), false, deadline, &found);
  if (!right.ok()) co_return right;
  if (!transactional()) {
    kafka::ProducerOptions options;
    options.acks_all = options_.delivery != Delivery::kNone;
    options.properties = cluster_->properties();
    Result<std::unique_ptr<kafka::Producer>> made =
        cluster_->client().producer(control_, std::move(options), attempt.metrics());
    if (!made.ok()) co_return made.status().with("for sink", id_);
    own_ = *std::move(made);
    producer_ = own_.get();
    co_return Status();
  }
  right = co_await check_timeout(deadline);
  if (!right.ok()) co_return right;
  co_return share_decider(attempt);
}

asio::awaitable<Status> SinkCore::check_timeout(io::Monotonic deadline) {
  std::string name = "transaction.max.timeout.ms";
  Result<std::optional<std::string>> setting =
      co_await cluster_->broker_setting(std::move(name), deadline);
  if (setting.code() == Code::kInvalid &&
      setting.status().exit_status() == ExitStatus::kNoPermission) {
    co_return Status();  // Describing a broker is a right that a job need not have; init() will be
                         // refused in its place.
  }
  if (!setting.ok()) co_return setting.status().with("for sink", id_);
  const auto most = *setting ? number_of(**setting) : std::nullopt;
  if (!most || options_.transaction_timeout <= milliseconds(*most)) co_return Status();
  co_return Status(
      Code::kInvalid,
      fmt::format(
          "sink {}: transaction_timeout (transaction.timeout.ms) of {} ms is above the broker's "
          "transaction.max.timeout.ms of {} ms: lower the one or raise the other",
          id_, options_.transaction_timeout.count(), *most));
}

Status SinkCore::share_decider(Attempt& attempt) {
  const Result<kafka::RegisterPlace> place =
      kafka::register_place(attempt.job_name(), options_.decision_group);
  if (!place.ok()) return place.status();
  kafka::TransactionDecider::Options options;
  options.place = *place;
  options.job_id = attempt.job_id();
  options.transactional_id = options_.transactional_id.empty() ? "sluice-" + attempt.job_name()
                                                               : options_.transactional_id;
  options.transaction_timeout = options_.transaction_timeout;
  // Nothing is seen before its epoch is decided, so records may wait for others of their request until
  // the barrier hurries them. It is worth it: each request costs the broker more than its records do, and with five
  // requests of a partition on their way, librdkafka polls without a pause for the next one (bench/kafka/latency).
  options.linger = std::clamp(
      std::chrono::duration_cast<milliseconds>(attempt.checkpoint_interval), milliseconds(5),
      milliseconds(20));
  options.replication = options_.decision_replication;
  options.properties = cluster_->properties();
  options.taint_every = taint_fault();

  const std::string key = Cluster::key(options_.brokers, options_.client);
  const auto owners = attempt.shared<IdOwners>("kafka-transactional-ids",
                                               [] { return std::make_shared<IdOwners>(); });
  const auto [owner, first] = owners->emplace(options.transactional_id, key);
  if (!first && owner->second != key) {
    return Status(Code::kInvalid, fmt::format("sink {}: transactional id {} is used on two "
                                              "clusters, {} and {}: give one of the sinks "
                                              "a transactional_id of its own",
                                              id_, options.transactional_id, owner->second, key));
  }
  const std::shared_ptr<KafkaInputs> inputs = kafka_inputs(attempt, key);
  bool made = false;
  const auto make = [&] {
    made = true;
    return std::make_shared<kafka::TransactionDecider>(options, cluster_, inputs, control_,
                                                       attempt.metrics());
  };
  decider_ = attempt.shared<kafka::TransactionDecider>("kafka:" + key, make);
  if (made) cluster_->retain();  // The decider's own use of it.
  if (!attempt.decider()) attempt.offer(decider_);
  decides_ = attempt.decider() == decider_;
  const auto& theirs = decider_->options();
  if (theirs.transactional_id != options.transactional_id ||
      theirs.place.group != options.place.group ||
      theirs.transaction_timeout != options.transaction_timeout) {
    return Status(
        Code::kInvalid,
        fmt::format(
            "sink {}: all exactly-once sinks of one cluster share a transaction: transactional_id "
            "{} and "
            "{}, decision_group {} and {}, transaction_timeout {} ms and {} ms must be the same",
            id_, theirs.transactional_id, options.transactional_id, theirs.place.group,
            options.place.group, theirs.transaction_timeout.count(),
            options.transaction_timeout.count()));
  }
  SLUICE_TRY(decider_->open().with("for sink", id_));
  producer_ = &decider_->producer();
  attempt.offer(decider_);
  inputs->decider = inputs->decider || decides_;
  return {};
}

asio::awaitable<Status> SinkCore::start() {
  if (options_.topic.empty()) co_return Status();
  std::string name = options_.topic;
  Result<kafka::TopicInfo> info = co_await topic(std::move(name));
  if (!info.ok()) co_return info.status();
  own_topic_ = *info;
  co_return Status();
}

asio::awaitable<Result<kafka::TopicInfo>> SinkCore::topic(std::string name) {
  const auto known = topics_.find(name);
  if (known != topics_.end()) co_return known->second;
  std::string asked = name;
  Result<kafka::TopicInfo> info = co_await producer_->topic(std::move(asked));
  if (!info.ok()) co_return info.status().with("for sink", id_);
  topics_.insert_or_assign(std::move(name), *info);
  co_return info;
}

asio::awaitable<Result<kafka::TopicInfo>> SinkCore::topic_from_shard(std::string name) {
  auto ask = [this, &name] { return topic(name); };
  Result<kafka::TopicInfo> info = co_await io::run_on(control_, std::move(ask));
  co_return info;
}

asio::awaitable<Status> SinkCore::delivered() {
  if (options_.delivery != Delivery::kAtLeastOnce || !own_)
    co_return Status();  // A transaction's are the decider's to await.
  const io::Monotonic deadline = cluster_->in(std::chrono::minutes(5));
  for (;;) {
    // In slices, so that a stop is noticed; the client's own message timeout ends it.
    Status reports =
        co_await own_->delivered(std::min(deadline, cluster_->in(std::chrono::seconds(1))));
    if (reports.code() != Code::kRetry) co_return reports;
    if (cluster_->clock().now() >= deadline)
      co_return reports.as(Code::kRecover).with("for sink", id_);
  }
}

asio::awaitable<Status> SinkCore::close() {
  Status first;
  producer_ = nullptr;
  topics_.clear();
  if (own_) first = co_await own_->close();
  own_.reset();
  // The one that decides is the engine's to close: who owns the job is asked of it when an attempt
  // has failed.
  if (decider_ && (!decides_ || !decider_->asked())) {
    Status closed = co_await decider_->close();
    if (first.ok()) first = std::move(closed);
  }
  decider_.reset();
  std::shared_ptr<Cluster> cluster = std::move(cluster_);
  Status released;
  if (cluster) released = co_await cluster->release();
  co_return first.ok() ? released : first;
}

}  // namespace sluice::kafka::internal
