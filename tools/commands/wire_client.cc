#include "commands/wire_client.h"

#include "commands/wire.h"
#include <boost/asio/connect.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <array>

namespace sluice::tools {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

enum Api : std::int16_t {
  kFindCoordinator = 10,
  kApiVersions = 18,
  kDescribeProducers = 61,
  kDescribeTransactions = 65,
  kListTransactions = 66,
};
constexpr std::int16_t kFindCoordinatorVersion = 3;
constexpr std::int8_t kTransactionCoordinator = 1;
constexpr std::int32_t kAnswerBytesMax = 64 << 20;
constexpr std::string_view kClientId = "sluice-explain";

}  // namespace

Result<std::unique_ptr<WireClient>> WireClient::connect(const std::string& host, std::int32_t port,
                                                        std::chrono::milliseconds timeout) {
  std::unique_ptr<WireClient> client(new WireClient(fmt::format("{}:{}", host, port), timeout));
  SLUICE_TRY(client->open(host, port));
  SLUICE_TRY(client->ask_versions());
  return client;
}

// Runs what was started until it is done; past the timeout the socket is closed, which ends it.
Status WireClient::wait(bool& done, error_code& error, std::string_view what) {
  io_.restart();
  io_.run_for(timeout_);
  if (done && !error) return {};
  const bool late = !done;
  error_code ignored;
  socket_.close(ignored);
  io_.restart();
  io_.run_for(timeout_);  // Takes the cancelled operation, which refers to the caller's variables.
  return Status(Code::kRetry, fmt::format("could not {} broker {}: {}", what, name_,
                                          late ? fmt::format("no answer in {} ms", timeout_.count())
                                               : error.message()))
      .exit(ExitStatus::kUnavailable);
}

Status WireClient::open(const std::string& host, std::int32_t port) {
  bool done = false;
  error_code error;
  asio::ip::tcp::resolver resolver(io_);
  asio::ip::tcp::resolver::results_type found;
  resolver.async_resolve(host, std::to_string(port), [&](error_code result, auto addresses) {
    error = result;
    found = std::move(addresses);
    done = true;
  });
  SLUICE_TRY(wait(done, error, "find the address of"));
  done = false;
  asio::async_connect(socket_, found, [&](error_code result, const auto&) {
    error = result;
    done = true;
  });
  SLUICE_TRY(wait(done, error, "connect to"));
  socket_.set_option(asio::ip::tcp::no_delay(true), error);
  return {};
}

Result<std::string> WireClient::call(std::int16_t api, std::int16_t version, bool flexible,
                                     std::string_view body) {
  WireWriter request;
  request.i16(api);
  request.i16(version);
  request.i32(++correlation_);
  request.string(kClientId);
  if (flexible) request.no_tags();
  WireWriter size;
  size.i32(static_cast<std::int32_t>(request.bytes().size() + body.size()));
  bool done = false;
  error_code error;
  const std::array<asio::const_buffer, 3> parts{asio::buffer(size.bytes()),
                                                asio::buffer(request.bytes()),
                                                asio::buffer(body.data(), body.size())};
  const auto finish = [&](error_code result, std::size_t) {
    error = result;
    done = true;
  };
  asio::async_write(socket_, parts, finish);
  SLUICE_TRY(wait(done, error, "ask"));
  std::string answer(4, '\0');
  done = false;
  asio::async_read(socket_, asio::buffer(answer), finish);
  SLUICE_TRY(wait(done, error, "get an answer from"));
  const std::int32_t answer_bytes = WireReader(answer).i32();
  if (answer_bytes < 4 || answer_bytes > kAnswerBytesMax) return nonsense("the size of an answer");
  answer.resize(static_cast<std::size_t>(answer_bytes));
  done = false;
  asio::async_read(socket_, asio::buffer(answer), finish);
  SLUICE_TRY(wait(done, error, "get an answer from"));
  WireReader header(answer);
  if (header.i32() != correlation_) return nonsense("the number of an answer");
  if (flexible) header.skip_tags();
  if (!header.ok()) return nonsense("the head of an answer");
  return answer.substr(answer.size() - header.left());
}

Status WireClient::ask_versions() {
  auto answer = call(kApiVersions, 0, false, {});
  if (!answer.ok()) return answer.status();
  WireReader in(*answer);
  const std::int16_t error = in.i16();
  std::size_t found = 0;
  for (std::size_t count = in.array32(); count > 0 && in.ok(); --count) {
    const std::int16_t api = in.i16();
    const std::int16_t low = in.i16();
    const std::int16_t high = in.i16();
    const std::int16_t ours = api == kFindCoordinator ? kFindCoordinatorVersion : 0;
    const bool wanted = api == kFindCoordinator || api == kDescribeProducers ||
                        api == kDescribeTransactions || api == kListTransactions;
    if (wanted && low <= ours && ours <= high) ++found;
  }
  if (!in.ok()) return nonsense("its list of requests");
  if (error == 0 && found == 4) return {};
  return Status(
      Code::kRecover,
      fmt::format("broker {} cannot describe transactions: Kafka 3.0 or later is needed", name_));
}

Status WireClient::nonsense(std::string_view what) const {
  return Status(
      Code::kRecover,
      fmt::format("broker {} sent something that is no Kafka answer ({}); is this a plaintext "
                  "listener?",
                  name_, what));
}

Result<Coordinator> WireClient::find_transaction_coordinator(const std::string& transactional_id) {
  WireWriter body;
  body.compact_string(transactional_id);
  body.i8(kTransactionCoordinator);
  body.no_tags();
  auto answer = call(kFindCoordinator, kFindCoordinatorVersion, true, body.bytes());
  if (!answer.ok()) return answer.status();
  Coordinator coordinator;
  if (!read_coordinator(*answer, coordinator)) return nonsense("FindCoordinator");
  return coordinator;
}

Result<std::vector<TransactionState>> WireClient::describe_transactions(
    const std::vector<std::string>& transactional_ids) {
  WireWriter body;
  body.array(transactional_ids.size());
  for (const std::string& id : transactional_ids) body.compact_string(id);
  body.no_tags();
  auto answer = call(kDescribeTransactions, 0, true, body.bytes());
  if (!answer.ok()) return answer.status();
  std::vector<TransactionState> states;
  if (!read_transactions(*answer, states)) return nonsense("DescribeTransactions");
  return states;
}

Result<std::vector<ListedTransaction>> WireClient::list_transactions() {
  WireWriter body;
  body.array(0);  // any state
  body.array(0);  // any producer
  body.no_tags();
  auto answer = call(kListTransactions, 0, true, body.bytes());
  if (!answer.ok()) return answer.status();
  std::vector<ListedTransaction> listed;
  std::int16_t error = 0;
  if (!read_listed(*answer, error, listed)) return nonsense("ListTransactions");
  if (error != 0)
    return Status(Code::kRetry,
                  fmt::format("broker {} could not list transactions: error {}", name_, error));
  return listed;
}

Result<std::vector<PartitionProducers>> WireClient::describe_producers(
    const std::string& topic, const std::vector<std::int32_t>& partitions) {
  WireWriter body;
  body.array(1);
  body.compact_string(topic);
  body.array(partitions.size());
  for (const std::int32_t partition : partitions) body.i32(partition);
  body.no_tags();
  body.no_tags();
  auto answer = call(kDescribeProducers, 0, true, body.bytes());
  if (!answer.ok()) return answer.status();
  std::vector<PartitionProducers> found;
  if (!read_producers(*answer, found)) return nonsense("DescribeProducers");
  return found;
}

}  // namespace sluice::tools
