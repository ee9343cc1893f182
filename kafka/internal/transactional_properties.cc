#include <sluice/kafka/internal/transactional_properties.h>

#include <charconv>
#include <cstdint>
#include <optional>

namespace sluice::kafka::internal {
namespace {

using std::chrono::milliseconds;

std::optional<std::int64_t> number_of(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

}  // namespace

Status check_transactional_property(std::string_view name, const std::string& value,
                                    milliseconds transaction_timeout) {
  const auto refused = [&](std::string_view why) {
    return Status(Code::kInvalid, fmt::format("{}={} does not go with delivery = exactly_once: {}",
                                              name, value, why));
  };
  const bool timeout = name == "message.timeout.ms" || name == "delivery.timeout.ms";
  if (name == "transactional.id") return refused("set transactional_id of the sink instead");
  if (name == "transaction.timeout.ms")
    return refused("set transaction_timeout of the sink instead");
  if (name == "enable.idempotence" && value != "true")
    return refused("a retried request would write its records twice");
  if ((name == "acks" || name == "request.required.acks") && value != "all" && value != "-1") {
    return refused("an acknowledged record could be lost with its leader; acks must be all");
  }
  if (name == "max.in.flight.requests.per.connection" || name == "max.in.flight") {
    const auto number = number_of(value);
    if (!number || *number > 5)
      return refused("more than 5 requests in flight lose their order when one is retried");
  }
  if (timeout) {
    const auto number = number_of(value);
    if (!number || *number <= 0 || milliseconds(*number) >= transaction_timeout) {
      return refused(
          fmt::format("it must be above 0 and below transaction_timeout "
                      "(transaction.timeout.ms), {} ms: a delivery "
                      "must fail before its transaction does",
                      transaction_timeout.count()));
    }
  }
  return {};
}

}  // namespace sluice::kafka::internal
