#pragma once

#include "commands/command.h"
#include <librdkafka/rdkafka.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

/// librdkafka as the commands use it: properties from the command line, failures as Status with the
/// exit status of the documentation, and no line on stderr that nobody asked for.
namespace sluice::tools {

struct Connection {
  std::string brokers;
  std::vector<std::string> properties;  ///< key=value, as given with -X
  std::chrono::microseconds connect_timeout = std::chrono::seconds(10);
};
/// --brokers (environment: SLUICE_BROKERS), -X, --connect-timeout.
void add_connection_options(CLI::App& app, Connection& connection);

/// The properties given with -X by name. kInvalid when one is not of the form key=value or stands
/// there twice.
Result<std::map<std::string, std::string>> properties_of(const Connection& connection);

/// Unreachable, refused or wrong, as the exit status says. `attempted` begins the message.
Status to_status(rd_kafka_resp_err_t error, std::string_view attempted,
                 std::string_view reason = {});

/// A client handle, and the last thing its connections complained about. Its methods may be called
/// by any thread.
class Handle {
 public:
  using DeliveryFailure = void (*)(const rd_kafka_message_t& message, void* opaque);
  struct Settings {
    std::map<std::string, std::string>
        fixed{};  ///< what the command needs; -X may not change these
    std::map<std::string, std::string> defaults{};  ///< what -X may change
    DeliveryFailure delivery_failure =
        nullptr;  ///< producers: called by poll() for a record that failed
    void* opaque = nullptr;
  };
  static Result<std::unique_ptr<Handle>> make(rd_kafka_type_t type, const Connection& connection,
                                              Settings settings);
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle();

  [[nodiscard]] rd_kafka_t* get() const noexcept { return handle_; }
  /// The last complaint of a connection ("Connect to … failed: Connection refused"); empty when
  /// there was none.
  [[nodiscard]] std::string complaint() const;
  /// Where the client can do nothing more: its reason.
  [[nodiscard]] Status fatal() const;
  /// to_status with this handle's complaint added where the broker could not be reached.
  [[nodiscard]] Status failure(rd_kafka_resp_err_t error, std::string_view attempted,
                               std::string_view reason = {}) const;

 private:
  explicit Handle(Settings settings) : settings_(std::move(settings)) {}
  static void on_error(rd_kafka_t*, int error, const char* reason, void* opaque);
  static void on_delivery(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque);

  Settings settings_;
  rd_kafka_t* handle_ = nullptr;
  mutable std::mutex mutex_;
  std::string complaint_;
};

struct TopicHandleDelete {
  void operator()(rd_kafka_topic_t* topic) const noexcept { rd_kafka_topic_destroy(topic); }
};
using TopicHandle = std::unique_ptr<rd_kafka_topic_t, TopicHandleDelete>;
struct PartitionListDelete {
  void operator()(rd_kafka_topic_partition_list_t* list) const noexcept {
    rd_kafka_topic_partition_list_destroy(list);
  }
};
using PartitionList = std::unique_ptr<rd_kafka_topic_partition_list_t, PartitionListDelete>;

/// How many partitions the topic has. A topic that is missing is an error (78) and is not created
/// by the question.
Result<std::int32_t> partition_count(const Handle& consumer, const std::string& topic,
                                     std::chrono::milliseconds timeout);

}  // namespace sluice::tools
