#pragma once

#include <sluice/io/base/status.h>

#include <librdkafka/rdkafka.h>

#include <string>
#include <string_view>

namespace sluice::kafka::internal {

/// What the caller does next after an error of the library, with a message that names what was
/// attempted, on which brokers, and the remedy: `could not <attempted> at <brokers>: <reason>
/// (<name>); <remedy>`.
///
/// `attempted` completes "could not …": "commit the transaction of orders-7". `reason` is the
/// library's own text; empty stands for the code's. ok for no error.
[[nodiscard]] Status to_status(rd_kafka_resp_err_t error, std::string_view attempted,
                               std::string_view brokers, std::string_view reason = {});
/// The same for an error object, which is destroyed; null is ok. Fatal, or transaction must abort:
/// kRecover, except where a person must act first. Retriable: kRetry.
[[nodiscard]] Status to_status(rd_kafka_error_t* error, std::string_view attempted,
                               std::string_view brokers);
/// The same for a delivery report: the record is lost for this transaction, so what may be tried
/// again is kRecover.
[[nodiscard]] Status delivery_status(rd_kafka_resp_err_t error, std::string_view attempted,
                                     std::string_view brokers);

/// No broker answered before the deadline: kInvalid, exit status 69.
[[nodiscard]] Status unreachable(std::string_view attempted, std::string_view brokers,
                                 std::string_view last_error);
/// The error says that nobody answered, as opposed to an answer that says no.
[[nodiscard]] bool is_silence(rd_kafka_resp_err_t error) noexcept;

}  // namespace sluice::kafka::internal
