#include "commands/cluster.h"

#include "commands/units.h"

#include <algorithm>
#include <array>

namespace sluice::tools {

namespace {

// Their values must not be printed, so neither may a message of librdkafka that repeats the value.
bool is_secret(std::string_view key) {
  for (const std::string_view word :
       {"password", "secret", "sasl.oauthbearer.config", "ssl.key", "token", "pem"}) {
    if (key.find(word) != std::string_view::npos) return true;
  }
  return false;
}

Status set(rd_kafka_conf_t* conf, const std::string& key, const std::string& value) {
  std::array<char, 512> why{};
  switch (rd_kafka_conf_set(conf, key.c_str(), value.c_str(), why.data(), why.size())) {
    case RD_KAFKA_CONF_OK:
      return {};
    case RD_KAFKA_CONF_UNKNOWN:
      return Status(Code::kInvalid, fmt::format("-X {}: librdkafka {} has no such property", key,
                                                rd_kafka_version_str()));
    default:
      return Status(Code::kInvalid,
                    is_secret(key)
                        ? fmt::format("-X {}: librdkafka refuses the value (not shown)", key)
                        : fmt::format("-X {}: {}", key, why.data()));
  }
}

bool is_unreachable(rd_kafka_resp_err_t error) {
  switch (error) {
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE:
    case RD_KAFKA_RESP_ERR__MSG_TIMED_OUT:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR__WAIT_COORD:
    case RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
      return true;
    default:
      return false;
  }
}

bool is_refused(rd_kafka_resp_err_t error) {
  switch (error) {
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
      return true;
    default:
      return false;
  }
}

bool is_setting(rd_kafka_resp_err_t error) {
  switch (error) {
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
    case RD_KAFKA_RESP_ERR__INVALID_ARG:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION:
      return true;
    default:
      return false;
  }
}

}  // namespace

void add_connection_options(CLI::App& app, Connection& connection) {
  app.add_option("--brokers", connection.brokers,
                 "Where the cluster is: host:port, separated by commas")
      ->envname("SLUICE_BROKERS")
      ->required()
      ->type_name("LIST");
  app.add_option("-X", connection.properties,
                 "Pass a property to librdkafka, as security.protocol=sasl_ssl; may be repeated. "
                 "For passwords use "
                 "-X sasl.password=@FILE, which reads the value from a file")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  add_duration(app, "--connect-timeout", connection.connect_timeout,
               "How long to look for the brokers before giving up with status 69 (default 10s)");
}

Result<std::map<std::string, std::string>> properties_of(const Connection& connection) {
  std::map<std::string, std::string> properties;
  for (const std::string& property : connection.properties) {
    const std::size_t equals = property.find('=');
    // The text is not repeated: half of it may be a password.
    if (equals == std::string::npos || equals == 0) {
      return Status(Code::kInvalid,
                    "-X takes key=value; one of those given has no \"=\" or no key");
    }
    std::string key = property.substr(0, equals);
    std::string value = property.substr(equals + 1);
    if (is_secret(key) && value.starts_with('@')) {
      std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(value.c_str() + 1, "r"),
                                                           std::fclose);
      if (!file)
        return Status(Code::kInvalid,
                      fmt::format("-X {}: could not open the file {}", key, value.substr(1)));
      std::array<char, 65536> content{};
      value.assign(content.data(), std::fread(content.data(), 1, content.size(), file.get()));
      while (value.ends_with('\n') || value.ends_with('\r')) value.pop_back();
    }
    if (!properties.emplace(key, std::move(value)).second) {
      return Status(Code::kInvalid, fmt::format("-X {} is given twice", key));
    }
  }
  return properties;
}

Status to_status(rd_kafka_resp_err_t error, std::string_view attempted, std::string_view reason) {
  std::string message = fmt::format("{}: {}", attempted, rd_kafka_err2str(error));
  if (!reason.empty()) message += fmt::format(" ({})", reason);
  if (is_unreachable(error)) return Status(Code::kRetry, message).exit(ExitStatus::kUnavailable);
  if (is_refused(error)) return Status(Code::kInvalid, message).exit(ExitStatus::kNoPermission);
  if (is_setting(error)) return Status(Code::kInvalid, message);
  return Status(Code::kRecover, message);
}

Result<std::unique_ptr<Handle>> Handle::make(rd_kafka_type_t type, const Connection& connection,
                                             Settings settings) {
  auto properties = properties_of(connection);
  if (!properties.ok()) return properties.status();
  std::unique_ptr<Handle> handle(new Handle(std::move(settings)));
  const std::unique_ptr<rd_kafka_conf_t, void (*)(rd_kafka_conf_t*)> conf(rd_kafka_conf_new(),
                                                                          rd_kafka_conf_destroy);
  handle->settings_.fixed.emplace("bootstrap.servers", connection.brokers);
  handle->settings_.defaults.emplace("client.id", "sluice-tools");
  for (const auto& [key, value] : handle->settings_.defaults)
    SLUICE_TRY(set(conf.get(), key, value));
  for (const auto& [key, value] : *properties) {
    if (handle->settings_.fixed.contains(key)) {
      return Status(Code::kInvalid,
                    fmt::format("-X {}: this command sets it itself; leave it out", key));
    }
    SLUICE_TRY(set(conf.get(), key, value));
  }
  for (const auto& [key, value] : handle->settings_.fixed) SLUICE_TRY(set(conf.get(), key, value));
  rd_kafka_conf_set_opaque(conf.get(), handle.get());
  rd_kafka_conf_set_error_cb(conf.get(), on_error);
  if (!properties->contains("debug")) {
    rd_kafka_conf_set_log_cb(conf.get(), [](const rd_kafka_t*, int, const char*, const char*) {});
  }
  if (handle->settings_.delivery_failure != nullptr)
    rd_kafka_conf_set_dr_msg_cb(conf.get(), on_delivery);
  std::array<char, 512> why{};
  // rd_kafka_new takes the configuration it is given when it succeeds, so it gets a copy.
  rd_kafka_conf_t* const copy = rd_kafka_conf_dup(conf.get());
  handle->handle_ = rd_kafka_new(type, copy, why.data(), why.size());
  if (handle->handle_ == nullptr) {
    rd_kafka_conf_destroy(copy);
    return Status(Code::kInvalid, fmt::format("could not start the Kafka client: {}", why.data()));
  }
  return handle;
}

Handle::~Handle() {
  if (handle_ != nullptr) rd_kafka_destroy(handle_);
}

std::string Handle::complaint() const {
  // Complaints are served by poll(); where the caller never polls they wait in the queue until
  // here.
  rd_kafka_poll(handle_, 0);
  const std::lock_guard lock(mutex_);
  return complaint_;
}

Status Handle::fatal() const {
  std::array<char, 512> why{};
  const rd_kafka_resp_err_t error = rd_kafka_fatal_error(handle_, why.data(), why.size());
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
  return to_status(error, "the Kafka client gave up", why.data());
}

Status Handle::failure(rd_kafka_resp_err_t error, std::string_view attempted,
                       std::string_view reason) const {
  const std::string last = complaint();
  if (error == RD_KAFKA_RESP_ERR__TRANSPORT || error == RD_KAFKA_RESP_ERR__TIMED_OUT) {
    if (last.find("uthentication") != std::string::npos) error = RD_KAFKA_RESP_ERR__AUTHENTICATION;
    if (!last.empty()) return to_status(error, attempted, last);
  }
  return to_status(error, attempted, reason);
}

void Handle::on_error(rd_kafka_t* /*handle*/, int error, const char* reason, void* opaque) {
  auto& self = *static_cast<Handle*>(opaque);
  if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) return;  // The one before it says why.
  const std::lock_guard lock(self.mutex_);
  self.complaint_ = reason;
}

void Handle::on_delivery(rd_kafka_t* /*handle*/, const rd_kafka_message_t* message, void* opaque) {
  const auto& self = *static_cast<Handle*>(opaque);
  self.settings_.delivery_failure(*message, self.settings_.opaque);
}

Result<std::int32_t> partition_count(const Handle& consumer, const std::string& topic,
                                     std::chrono::milliseconds timeout) {
  const TopicHandle topic_handle(rd_kafka_topic_new(consumer.get(), topic.c_str(), nullptr));
  if (!topic_handle) {
    return to_status(RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION,
                     fmt::format("could not use topic \"{}\"", topic));
  }
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const std::string attempted = fmt::format("could not look up topic \"{}\"", topic);
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    const struct rd_kafka_metadata* answer = nullptr;
    rd_kafka_resp_err_t error =
        rd_kafka_metadata(consumer.get(), 0, topic_handle.get(), &answer,
                          static_cast<int>(std::max<long>(left.count(), 1)));
    const std::unique_ptr<const struct rd_kafka_metadata, decltype(&rd_kafka_metadata_destroy)>
        metadata(answer, rd_kafka_metadata_destroy);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR && metadata->topic_cnt != 1)
      error = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) error = metadata->topics[0].err;
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return metadata->topics[0].partition_cnt;
    if (error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
        error == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC) {
      return Status(
          Code::kInvalid,
          fmt::format("topic \"{}\" does not exist; create it first, or correct the name", topic));
    }
    const bool again =
        error == RD_KAFKA_RESP_ERR__TRANSPORT || error == RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE;
    if (!again || left.count() <= 0) return consumer.failure(error, attempted);
    rd_kafka_poll(consumer.get(), 100);  // Waits, and takes the connections' complaints.
  }
}

}  // namespace sluice::tools
