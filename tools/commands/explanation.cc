#include "commands/explanation.h"

#include <sluice/io/base/random.h>

#include "commands/units.h"

#include <algorithm>
#include <set>
#include <thread>

namespace sluice::tools {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

namespace {

constexpr std::int16_t kTransactionalIdNotFound = 105;

/// The brokers, and who leads which partition.
struct Layout {
  struct Address {
    std::string host;
    std::int32_t port = 0;
  };
  std::map<std::int32_t, Address> brokers;
  std::map<std::pair<std::string, std::int32_t>, std::int32_t> leaders;
  std::map<std::string, std::int32_t> partitions;
};

class Explainer {
 public:
  explicit Explainer(const ExplainOptions& options)
      : options_(options),
        timeout_(std::chrono::duration_cast<milliseconds>(options.connection.connect_timeout)) {}

  Result<Explanation> run() {
    auto place = kafka::register_place(options_.job, options_.group);
    if (!place.ok()) return Status(place.status()).exit(ExitStatus::kUsage);
    if (!options_.topic.empty()) place->topic = options_.topic;
    found_.transactional_id =
        options_.transactional_id.empty() ? "sluice-" + options_.job : options_.transactional_id;
    SLUICE_TRY(open());
    SLUICE_TRY(read_layout());
    auto registers = read_registers(*uncommitted_, *place, timeout_);
    if (!registers.ok()) return registers.status();
    found_.registers = *std::move(registers);
    SLUICE_TRY(ask_about_transactions());
    SLUICE_TRY(look_at_partitions());
    found_.now_ms = wall_now_us() / 1000;
    return std::move(found_);
  }

 private:
  Status open() {
    for (auto* const handle : {&committed_, &uncommitted_}) {
      const char* const isolation = handle == &committed_ ? "read_committed" : "read_uncommitted";
      auto made = Handle::make(
          RD_KAFKA_CONSUMER, options_.connection,
          {.fixed = {{"isolation.level", isolation},
                     {"enable.partition.eof", "true"},
                     // Never joined: without one librdkafka reads through a null pointer when a
                     // coordinator moves while somebody's offsets are asked for.
                     {"group.id", "sluice-unused-" + Uuid::make().to_string()}}});
      if (!made.ok()) return made.status();
      *handle = *std::move(made);
    }
    return {};
  }

  Status read_layout() {
    const struct rd_kafka_metadata* answer = nullptr;
    const rd_kafka_resp_err_t error = rd_kafka_metadata(committed_->get(), 1, nullptr, &answer,
                                                        static_cast<int>(timeout_.count()));
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
      return committed_->failure(error, "could not ask the brokers what there is");
    for (int at = 0; at < answer->broker_cnt; ++at) {
      layout_.brokers[answer->brokers[at].id] = {answer->brokers[at].host,
                                                 answer->brokers[at].port};
    }
    for (int at = 0; at < answer->topic_cnt; ++at) {
      const auto& topic = answer->topics[at];
      layout_.partitions[topic.topic] = topic.partition_cnt;
      for (int i = 0; i < topic.partition_cnt; ++i) {
        layout_.leaders[{topic.topic, topic.partitions[i].id}] = topic.partitions[i].leader;
      }
    }
    rd_kafka_metadata_destroy(answer);
    if (layout_.brokers.empty()) {
      return to_status(RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE, "the cluster names no broker");
    }
    for (const std::string& topic : options_.topics) {
      if (layout_.partitions.contains(topic)) continue;
      return Status(Code::kInvalid,
                    fmt::format("topic \"{}\" does not exist, or this user may not see it", topic));
    }
    return {};
  }

  // Why the wire client cannot be used with these properties; empty: it can.
  [[nodiscard]] Result<std::string> wire_obstacle() const {
    auto properties = properties_of(options_.connection);
    if (!properties.ok()) return properties.status();
    std::string protocol = (*properties)["security.protocol"];
    std::transform(protocol.begin(), protocol.end(), protocol.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    if (protocol.empty() || protocol == "plaintext") return std::string();
    return fmt::format(
        "security.protocol={}: questions about transactions are asked by a client of our own, "
        "which speaks "
        "plaintext only; ask kafka-transactions.sh of Apache Kafka instead",
        protocol);
  }

  Result<WireClient*> wire_to(const std::string& host, std::int32_t port) {
    auto& client = wires_[fmt::format("{}:{}", host, port)];
    if (!client) {
      auto made = WireClient::connect(host, port, timeout_);
      if (!made.ok()) return made.status();
      client = *std::move(made);
    }
    return client.get();
  }

  Status ask_about_transactions() {
    auto obstacle = wire_obstacle();
    if (!obstacle.ok()) return obstacle.status();
    found_.transactions_unknown = *std::move(obstacle);
    if (!found_.transactions_unknown.empty()) return {};
    // Who is who: a partition knows producers by number, only the coordinators know their names.
    for (const auto& [id, address] : layout_.brokers) {
      auto wire = wire_to(address.host, address.port);
      if (!wire.ok()) return wire.status();
      auto listed = (*wire)->list_transactions();
      if (!listed.ok()) return listed.status();
      for (auto& transaction : *listed)
        names_[transaction.producer_id] = std::move(transaction.transactional_id);
    }
    return describe_transaction();
  }

  Status describe_transaction() {
    const std::string& id = found_.transactional_id;
    const auto deadline = std::chrono::steady_clock::now() + timeout_;
    std::string trouble;
    for (; std::chrono::steady_clock::now() < deadline; std::this_thread::sleep_for(100ms)) {
      const auto& any = layout_.brokers.begin()->second;
      auto wire = wire_to(any.host, any.port);
      if (!wire.ok()) return wire.status();
      auto coordinator = (*wire)->find_transaction_coordinator(id);
      if (!coordinator.ok()) return coordinator.status();
      if (coordinator->error != 0) {
        const auto error = static_cast<rd_kafka_resp_err_t>(coordinator->error);
        const Status status = to_status(
            error, fmt::format("could not find the coordinator of transactional id \"{}\"", id));
        if (status.exit_status() == ExitStatus::kNoPermission) return status;
        trouble = status.message();
        continue;
      }
      found_.coordinator = fmt::format("{}:{}", coordinator->host, coordinator->port);
      auto at = wire_to(coordinator->host, coordinator->port);
      if (!at.ok()) return at.status();
      auto states = (*at)->describe_transactions({id});
      if (!states.ok()) return states.status();
      if (states->size() != 1)
        return Status(Code::kRecover,
                      fmt::format("broker {} described {} transactions, asked for one",
                                  found_.coordinator, states->size()));
      TransactionState& state = states->front();
      if (state.error == kTransactionalIdNotFound) return {};
      if (state.error == 0) {
        found_.transaction = std::move(state);
        return {};
      }
      const auto error = static_cast<rd_kafka_resp_err_t>(state.error);
      const Status status =
          to_status(error, fmt::format("could not describe transactional id \"{}\"", id));
      if (status.exit_status() == ExitStatus::kNoPermission) return status;
      trouble = status.message();  // Mostly the coordinator moves or loads.
    }
    return Status(Code::kRetry, trouble).exit(ExitStatus::kUnavailable);
  }

  Status look_at_partitions() {
    std::map<std::string, std::vector<std::int32_t>> wanted;
    for (const std::string& topic : options_.topics) {
      for (std::int32_t partition = 0; partition < layout_.partitions[topic]; ++partition)
        wanted[topic].push_back(partition);
    }
    if (options_.topics.empty() && found_.transaction) {
      for (const auto& topic : found_.transaction->topics) wanted[topic.name] = topic.partitions;
    }
    for (const auto& [topic, partitions] : wanted) {
      std::map<std::int32_t, std::vector<std::int32_t>> by_leader;
      for (const std::int32_t partition : partitions) {
        found_.partitions.push_back(look_at(topic, partition));
        const auto leader = layout_.leaders.find({topic, partition});
        if (leader != layout_.leaders.end()) by_leader[leader->second].push_back(partition);
      }
      if (!found_.transactions_unknown.empty()) continue;
      for (const auto& [leader, led] : by_leader) SLUICE_TRY(ask_for_producers(leader, topic, led));
    }
    return {};
  }

  HeldPartition look_at(const std::string& topic, std::int32_t partition) const {
    HeldPartition held{.topic = topic, .partition = partition, .holders = {}, .problem = {}};
    std::int64_t low = 0;
    const auto ask = [&](const Handle& handle, std::int64_t& high) {
      return rd_kafka_query_watermark_offsets(handle.get(), topic.c_str(), partition, &low, &high,
                                              static_cast<int>(timeout_.count()));
    };
    // The stable end first: it can only come closer to the high watermark by the time that one is
    // read.
    rd_kafka_resp_err_t error = ask(*committed_, held.last_stable);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) error = ask(*uncommitted_, held.high_watermark);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) held.problem = rd_kafka_err2str(error);
    return held;
  }

  Status ask_for_producers(std::int32_t leader, const std::string& topic,
                           const std::vector<std::int32_t>& partitions) {
    const auto broker = layout_.brokers.find(leader);
    if (broker == layout_.brokers.end()) return note(topic, partitions, "has no leader");
    auto wire = wire_to(broker->second.host, broker->second.port);
    if (!wire.ok()) return wire.status();
    auto answer = (*wire)->describe_producers(topic, partitions);
    if (!answer.ok()) return answer.status();
    for (const PartitionProducers& partition : *answer) {
      if (partition.error != 0) {
        SLUICE_TRY(note(topic, {partition.partition},
                        rd_kafka_err2str(static_cast<rd_kafka_resp_err_t>(partition.error))));
      }
      for (auto& held : found_.partitions) {
        if (held.topic != topic || held.partition != partition.partition) continue;
        for (const ActiveProducer& producer : partition.producers) {
          if (producer.transaction_start_offset < 0) continue;
          const auto name = names_.find(producer.producer_id);
          held.holders.push_back({producer, name == names_.end() ? std::string() : name->second});
        }
      }
    }
    return {};
  }

  Status note(const std::string& topic, const std::vector<std::int32_t>& partitions,
              const std::string& problem) {
    for (auto& held : found_.partitions) {
      if (held.topic == topic &&
          std::count(partitions.begin(), partitions.end(), held.partition) > 0)
        held.problem = problem;
    }
    return {};
  }

  const ExplainOptions& options_;
  const milliseconds timeout_;
  Layout layout_;
  Explanation found_;
  std::unique_ptr<Handle> committed_, uncommitted_;
  std::map<std::string, std::unique_ptr<WireClient>> wires_;
  std::map<std::int64_t, std::string> names_;  // Transactional ids by producer id.
};

}  // namespace

Result<Explanation> explain(const ExplainOptions& options) { return Explainer(options).run(); }

}  // namespace sluice::tools
