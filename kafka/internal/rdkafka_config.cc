#include <sluice/io/base/log.h>
#include <sluice/io/base/random.h>
#include <sluice/kafka/internal/rdkafka_config.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace sluice::kafka::internal {
namespace {

struct Refused {
  std::string_view name;
  std::string_view allowed;  // The values that change nothing, separated by '|'; empty: none.
  std::string_view reason;
};

constexpr std::string_view kPositions =
    "positions belong to the checkpoint; a commit by the library would move them";
constexpr std::string_view kGiven = "it is an option of its own";
constexpr std::string_view kOnce = "exactly-once output needs it";
constexpr std::string_view kReports = "the engine counts deliveries itself";
constexpr std::string_view kAssigned = "partitions are assigned by the engine, not by a group";

constexpr auto kRefused = std::to_array<Refused>({
    {"bootstrap.servers", "", kGiven},
    {"metadata.broker.list", "", kGiven},
    {"client.id", "", kGiven},
    {"transactional.id", "", kGiven},
    {"transaction.timeout.ms", "", kGiven},
    {"group.id", "", "the group is an option of the source; the library's group is not used"},
    {"group.instance.id", "", kAssigned},
    {"group.protocol", "", kAssigned},
    {"partition.assignment.strategy", "", kAssigned},
    {"enable.auto.commit", "false", kPositions},
    {"auto.commit.enable", "false", kPositions},
    {"enable.auto.offset.store", "false", kPositions},
    {"auto.offset.reset", "error",
     "an unreadable position must stop the job; see the option out_of_range"},
    {"topic.auto.offset.reset", "error",
     "an unreadable position must stop the job; see the option out_of_range"},
    {"enable.partition.eof", "true", "bounded reads end by it"},
    {"check.crcs", "true", "corrupt records must not pass for good ones"},
    {"offset.store.method", "broker", kPositions},
    {"enable.idempotence", "true", kOnce},
    {"acks", "all|-1", kOnce},
    {"request.required.acks", "all|-1", kOnce},
    {"enable.gapless.guarantee", "false", "a lost delivery is handled by recovery"},
    {"queuing.strategy", "fifo", "it would change the order of records"},
    {"delivery.report.only.error", "true", kReports},
    {"partitioner", "", "the engine computes partitions; see the option hash"},
    {"allow.auto.create.topics", "false", "a misspelt topic must not come into being"},
    {"enabled_events", "", kReports},
    {"message.copy.max.bytes", "", "records are always copied: their memory belongs to the batch"},
    {"plugin.library.paths", "", "code that is not part of the program is not loaded"},
    {"test.mock.num.brokers", "",
     "it would replace the cluster by an imitation without transactions on disk"},
});

bool one_of(std::string_view value, std::string_view allowed) {
  while (!allowed.empty()) {
    const std::size_t bar = std::min(allowed.find('|'), allowed.size());
    if (value == allowed.substr(0, bar)) return true;
    allowed.remove_prefix(std::min(bar + 1, allowed.size()));
  }
  return false;
}

bool secret(std::string_view name) {
  for (const std::string_view part :
       {"password", "secret", "key.pem", "token", "oauthbearer.config", "jaas"}) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

Status wrong(std::string_view name, std::string_view reason) {
  return Status(Code::kInvalid, fmt::format("could not use the property {}: {}", name, reason));
}

Status check(const std::string& name, const std::string& value) {
  for (const Refused& refused : kRefused) {
    if (refused.name != name || one_of(value, refused.allowed)) continue;
    if (refused.allowed.empty()) return wrong(name, fmt::format("{}; remove it", refused.reason));
    return wrong(name, fmt::format("only {} is possible, since {}; remove it", refused.allowed,
                                   refused.reason));
  }
  return {};
}

}  // namespace

Result<RdConfig> RdConfig::make(const ClientOptions& client, const Properties& handle) {
  RdConfig config;
  config.conf_.reset(rd_kafka_conf_new());
  config.said_ = client.properties;
  for (const auto& [name, value] : handle) config.said_[name] = value;
  for (const auto& [name, value] : config.said_) {
    if (Status checked = check(name, value); !checked.ok()) return checked;
    char reason[512];
    const rd_kafka_conf_res_t set =
        rd_kafka_conf_set(config.conf_.get(), name.c_str(), value.c_str(), reason, sizeof(reason));
    if (set == RD_KAFKA_CONF_OK) continue;
    if (secret(name))
      return wrong(name, "the library refuses its value, which is not shown; correct it");
    return wrong(name, fmt::format("{}; correct it or remove it", reason));
  }
  config.require("bootstrap.servers", client.brokers);
  config.require("client.id", client.client_id);
  config.require("allow.auto.create.topics", "false");
  config.prefer("log.connection.close", "false");
  config.prefer("socket.nagle.disable",
                "true");  // A request is written in one piece; waiting for more gains nothing.
  config.prefer("socket.keepalive.enable", "true");
  config.prefer("reconnect.backoff.ms", "50");
  config.prefer("reconnect.backoff.max.ms", "2000");
  return config;
}

bool RdConfig::known(std::string_view name) {
  const RdConf probe(rd_kafka_conf_new());
  char value[64];
  std::size_t size = sizeof(value);
  return rd_kafka_conf_get(probe.get(), std::string(name).c_str(), value, &size) ==
         RD_KAFKA_CONF_OK;
}

void RdConfig::prefer(std::string_view name, std::string_view value) {
  if (said(name) == nullptr && known(name)) require(name, value);
}

void RdConfig::require(std::string_view name, std::string_view value) {
  char reason[512];
  const rd_kafka_conf_res_t set = rd_kafka_conf_set(
      conf_.get(), std::string(name).c_str(), std::string(value).c_str(), reason, sizeof(reason));
  // Only numbers that an option carries can be out of the library's range; rd_kafka_new says so
  // again, with a message.
  if (set != RD_KAFKA_CONF_OK) log().warn("librdkafka refuses {}: {}", name, reason);
}

const std::string* RdConfig::said(std::string_view name) const {
  const auto at = said_.find(std::string(name));
  return at == said_.end() ? nullptr : &at->second;
}

std::int64_t RdConfig::number(std::string_view name, std::int64_t otherwise) const {
  const std::string* text = said(name);
  std::int64_t value = otherwise;
  if (text != nullptr) std::from_chars(text->data(), text->data() + text->size(), value);
  return value;
}

Result<RdConfig> consumer_config(const ClientOptions& client, const ConsumerOptions& options) {
  Result<RdConfig> made = RdConfig::make(client, options.properties);
  if (!made.ok()) return made;
  RdConfig& config = *made;
  const std::string_view isolation = options.read_committed ? "read_committed" : "read_uncommitted";
  if (const std::string* said = config.said("isolation.level");
      said != nullptr && *said != isolation) {
    return wrong("isolation.level",
                 fmt::format("the source's option isolation says {}; remove it", isolation));
  }
  config.require("isolation.level", isolation);
  // The library has no queue for all partitions without a group. This one is private, never joined,
  // never committed to.
  config.require("group.id", "sluice-unused-" + Uuid::make().to_string());
  config.require("enable.auto.commit", "false");
  config.require("enable.auto.offset.store", "false");
  config.require("auto.offset.reset", "error");
  config.require("enable.partition.eof", "true");
  config.require("check.crcs", "true");

  // What the library holds: a header of about 330 bytes a record, the record, and answers that are
  // being read. The two limits count records and bytes of values; small records hit the first,
  // large ones the second.
  const std::size_t budget = std::max<std::size_t>(options.buffer_bytes_max, 4u << 20);
  const std::size_t answer = std::clamp<std::size_t>(budget / 8, 1u << 20, 16u << 20);
  const std::size_t messages = std::clamp<std::size_t>((budget - answer) / 500, 1, 10'000'000);
  config.prefer("queued.min.messages", std::to_string(messages));
  config.prefer("queued.max.messages.kbytes",
                std::to_string(std::max<std::size_t>((budget - 2 * answer) / 1024, 1)));
  const std::int64_t message_bytes_max = config.number("message.max.bytes", 1'000'000);
  config.prefer("fetch.max.bytes", std::to_string(std::max<std::int64_t>(
                                       static_cast<std::int64_t>(answer), message_bytes_max)));
  config.prefer("fetch.min.bytes", "1");
  // An end of partition, and thereby a position behind control records, is told by an answer that
  // waited this long.
  config.prefer("fetch.wait.max.ms", "100");
  config.prefer("fetch.error.backoff.ms", "100");
  config.prefer("fetch.queue.backoff.ms",
                "1");  // From 2.2 on; before, see RdConsumer::wake_fetchers().
  return made;
}

Result<RdConfig> producer_config(const ClientOptions& client, const ProducerOptions& options) {
  Result<RdConfig> made = RdConfig::make(client, options.properties);
  if (!made.ok()) return made;
  RdConfig& config = *made;
  const bool transactional = !options.transactional_id.empty();
  config.require("enable.idempotence", options.acks_all ? "true" : "false");
  config.require("acks", options.acks_all ? "all" : "1");
  config.require("delivery.report.only.error", "true");
  config.prefer("linger.ms", std::to_string(options.linger.count()));
  config.prefer("queue.buffering.max.messages", "200000");
  config.prefer("queue.buffering.max.kbytes", "65536");
  // A connection that the library closes for idleness would taint the handle; see rdkafka_taint.h.
  config.prefer("connections.max.idle.ms", "0");
  if (!transactional) return made;

  const std::int64_t timeout = options.transaction_timeout.count();
  const std::string* delivery = nullptr;
  for (const std::string_view name : {"message.timeout.ms", "delivery.timeout.ms"}) {
    if (delivery == nullptr) delivery = config.said(name);
  }
  if (delivery != nullptr) {
    const std::int64_t said =
        std::max(config.number("message.timeout.ms", 0), config.number("delivery.timeout.ms", 0));
    if (said == 0 || said >= timeout) {
      return wrong("message.timeout.ms",
                   fmt::format("{} ms is not below the transaction timeout of {} ms; lower it",
                               *delivery, timeout));
    }
  } else {
    config.prefer("message.timeout.ms",
                  std::to_string(std::max<std::int64_t>(timeout * 9 / 10, 100)));
  }
  config.require("transactional.id", options.transactional_id);
  config.require("transaction.timeout.ms", std::to_string(timeout));
  config.prefer("socket.timeout.ms",
                std::to_string(std::clamp<std::int64_t>(timeout / 2, 1'000, 30'000)));
  config.prefer("retry.backoff.ms", "2");  // With 1 the library's thread polls without a pause under load.
  return made;
}

Result<RdConfig> admin_config(const ClientOptions& client, bool read_committed) {
  Result<RdConfig> made = RdConfig::make(client, {});
  if (!made.ok()) return made;
  made->require("isolation.level", read_committed ? "read_committed" : "read_uncommitted");
  made->prefer("retry.backoff.ms", "20");
  // Never joined. Without a group of its own the library crashes (2.0.2 and later ones: a null
  // pointer in its main thread) when a coordinator answers a look-up of somebody's offsets with
  // NOT_COORDINATOR, or its connection closes meanwhile.
  made->require("group.id", "sluice-unused-" + Uuid::make().to_string());
  return made;
}

}  // namespace sluice::kafka::internal
