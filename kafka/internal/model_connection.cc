#include <sluice/kafka/internal/model_connection.h>

#include <algorithm>
#include <array>
#include <charconv>

#include <boost/asio/deferred.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <fmt/format.h>

#include <sluice/io/internal/waiter.h>

namespace sluice::kafka::internal {
namespace {

struct Refused {
  std::string_view name;
  std::string_view allowed;  // The value that changes nothing; empty: none.
};
constexpr auto kRefused = std::to_array<Refused>({
    {"bootstrap.servers", ""},    {"client.id", ""},           {"transactional.id", ""},
    {"transaction.timeout.ms", ""}, {"group.id", ""},          {"group.instance.id", ""},
    {"enable.auto.commit", "false"}, {"enable.auto.offset.store", "false"}, {"auto.offset.reset", "error"},
    {"enable.idempotence", "true"}, {"acks", "all"},           {"partitioner", ""},
    {"enable.partition.eof", "true"},
});

Status wrong(std::string_view name, std::string_view reason) {
  return Status(Code::kInvalid, fmt::format("could not use the property {}: {}; remove it", name, reason));
}

std::string_view reason_of(ModelAnswer answer) {
  switch (answer) {
    case ModelAnswer::kOk: return "ok";
    case ModelAnswer::kNone: return "no answer in time";
    case ModelAnswer::kUnreachable: return "no broker answered";
    case ModelAnswer::kBusy: return "the coordinator still completes a transaction";
    case ModelAnswer::kMoved: return "not the coordinator any more";
    case ModelAnswer::kUnstable: return "an open transaction holds the offsets back";
    case ModelAnswer::kFenced: return "fenced by a newer producer epoch";
    case ModelAnswer::kWrongState: return "the transaction is not in a state that allows it";
    case ModelAnswer::kOutOfOrder: return "out of order sequence number";
    case ModelAnswer::kFailed: return "the delivery failed";
    case ModelAnswer::kUnknownTopic: return "unknown topic or partition";
    case ModelAnswer::kDenied: return "authorisation failed";
    case ModelAnswer::kTimeout: return "the transaction timeout is above the broker's transaction.max.timeout.ms";
    case ModelAnswer::kBadRequest: return "invalid request";
  }
  return "?";
}

}  // namespace

ModelConnection::ModelConnection(std::shared_ptr<ModelState> broker, ClientOptions given)
    : state(std::move(broker)), options(std::move(given)), name_(options.brokers.empty() ? "model" : options.brokers) {}

ModelFaults::Reply ModelConnection::send(ModelRequest type, const std::function<ModelAnswer()>& request) {
  const ModelFaults::Reply reply = state->faults.send(type, request);
  if (reply.answer != ModelAnswer::kUnreachable) reached_ = true;
  return reply;
}

Status ModelConnection::status(ModelAnswer answer, std::string_view attempted) const {
  const std::string text = fmt::format("could not {} at {}: {}", attempted, name_, reason_of(answer));
  switch (answer) {
    case ModelAnswer::kOk:
      return {};
    case ModelAnswer::kUnreachable:
      if (reached_) return Status(Code::kRetry, text);
      return Status(Code::kInvalid, text + "; check the address, the network and that the broker runs")
          .exit(ExitStatus::kUnavailable);
    case ModelAnswer::kNone:
    case ModelAnswer::kBusy:
    case ModelAnswer::kMoved:
    case ModelAnswer::kUnstable:
      return Status(Code::kRetry, text);
    case ModelAnswer::kFenced:
    case ModelAnswer::kWrongState:
    case ModelAnswer::kOutOfOrder:
    case ModelAnswer::kFailed:
      return Status(Code::kRecover, text);
    case ModelAnswer::kDenied:
      return Status(Code::kInvalid, text + "; grant the right to the user that connects").exit(ExitStatus::kNoPermission);
    case ModelAnswer::kUnknownTopic:
      return Status(Code::kInvalid, text + "; create the topic or correct its name");
    case ModelAnswer::kTimeout:
      return Status(Code::kInvalid, text + "; lower the transaction timeout");
    case ModelAnswer::kBadRequest:
      return Status(Code::kInvalid, text + "; correct the setting that it names");
  }
  return Status(Code::kRecover, text);
}

asio::awaitable<void> model_answered() {
  const asio::cancellation_state asked = co_await asio::this_coro::cancellation_state;
  if (sluice::internal::cancelled(asked)) co_return;  // The loop may not run again.
  const io::Executor here = co_await asio::this_coro::executor;
  auto turn = asio::post(here, asio::deferred);
  co_await std::move(turn);
}

Status model_check(const Properties& client, const Properties& handle, const ConsumerOptions* consumer,
                   const ProducerOptions* producer) {
  Properties all = client;
  for (const auto& [name, value] : handle) all[name] = value;
  for (const auto& [name, value] : all) {
    for (const Refused& refused : kRefused) {
      if (name != refused.name || (!refused.allowed.empty() && value == refused.allowed)) continue;
      return wrong(name, "it breaks what the engine relies on");
    }
    const bool word = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
    });
    if (!word) return wrong(name, "no such property");
    if (consumer != nullptr && name == "isolation.level" &&
        value != (consumer->read_committed ? "read_committed" : "read_uncommitted")) {
      return wrong(name, "the source's option isolation says otherwise");
    }
    if (producer != nullptr && !producer->transactional_id.empty() && name == "message.timeout.ms") {
      std::int64_t said = 0;
      std::from_chars(value.data(), value.data() + value.size(), said);
      if (said <= 0 || said >= producer->transaction_timeout.count()) {
        return wrong(name, fmt::format("{} ms is not below the transaction timeout of {} ms", value,
                                       producer->transaction_timeout.count()));
      }
    }
  }
  return {};
}

}  // namespace sluice::kafka::internal
