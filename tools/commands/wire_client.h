#pragma once

#include <sluice/io/base/result.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// Questions to a broker that librdkafka 2.0.2 cannot ask: about transactions and those who write
/// in them. Plaintext connections only; whoever calls says so to people who need TLS or SASL.
namespace sluice::tools {

struct TransactionState {
  std::int16_t error = 0;  ///< Kafka's error code
  std::string transactional_id;
  std::string state;  ///< Empty, Ongoing, PrepareCommit, …
  std::int32_t timeout_ms = 0;
  std::int64_t start_ms = -1;  ///< since the Unix epoch; -1: no transaction is open
  std::int64_t producer_id = -1;
  std::int16_t producer_epoch = -1;
  struct Topic {
    std::string name;
    std::vector<std::int32_t> partitions;
  };
  std::vector<Topic> topics;
};
struct ListedTransaction {
  std::string transactional_id;
  std::int64_t producer_id = -1;
  std::string state;
};
struct ActiveProducer {
  std::int64_t producer_id = -1;
  std::int32_t producer_epoch = -1;
  std::int64_t last_timestamp_ms = -1;
  std::int64_t transaction_start_offset = -1;  ///< -1: none open in this partition
};
struct PartitionProducers {
  std::int32_t partition = 0;
  std::int16_t error = 0;
  std::vector<ActiveProducer> producers;
};
struct Coordinator {
  std::int16_t error = 0;
  std::string error_message;
  std::string host;
  std::int32_t port = 0;
};

/// Reading the answers; public for the tests. False: the bytes are not such an answer.
bool read_coordinator(std::string_view body, Coordinator& coordinator);
bool read_transactions(std::string_view body, std::vector<TransactionState>& states);
bool read_listed(std::string_view body, std::int16_t& error,
                 std::vector<ListedTransaction>& listed);
bool read_producers(std::string_view body, std::vector<PartitionProducers>& partitions);

/// One connection to one broker; each call waits for its answer, at most until the timeout.
///
/// Thread     one.
/// Errors     exit status 69 where the broker cannot be reached or does not answer, 1 where its
/// answer makes no sense
///            or it is too old (before Kafka 3.0).
class WireClient {
 public:
  static Result<std::unique_ptr<WireClient>> connect(const std::string& host, std::int32_t port,
                                                     std::chrono::milliseconds timeout);
  Result<Coordinator> find_transaction_coordinator(const std::string& transactional_id);
  Result<std::vector<TransactionState>> describe_transactions(
      const std::vector<std::string>& transactional_ids);
  Result<std::vector<ListedTransaction>> list_transactions();
  Result<std::vector<PartitionProducers>> describe_producers(
      const std::string& topic, const std::vector<std::int32_t>& partitions);

 private:
  WireClient(std::string name, std::chrono::milliseconds timeout)
      : name_(std::move(name)), timeout_(timeout) {}
  Status open(const std::string& host, std::int32_t port);
  Status ask_versions();
  Result<std::string> call(std::int16_t api, std::int16_t version, bool flexible,
                           std::string_view body);
  Status wait(bool& done, boost::system::error_code& error, std::string_view what);
  [[nodiscard]] Status nonsense(std::string_view what) const;

  const std::string name_;  // host:port
  const std::chrono::milliseconds timeout_;
  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_{io_};
  std::int32_t correlation_ = 0;
};

}  // namespace sluice::tools
