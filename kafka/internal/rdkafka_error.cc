#include <sluice/kafka/internal/rdkafka_error.h>

#include <fmt/format.h>

#include <memory>

namespace sluice::kafka::internal {
namespace {

struct NextStep {
  Code code = Code::kRecover;
  ExitStatus exit = ExitStatus::kDone;  // kDone: the one that the code implies.
  const char* remedy = nullptr;
};

NextStep next_step(rd_kafka_resp_err_t error) noexcept {
  switch (error) {
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_DELEGATION_TOKEN_AUTHORIZATION_FAILED:
      return {Code::kInvalid, ExitStatus::kNoPermission,
              "grant the right to the user that connects"};
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM:
    case RD_KAFKA_RESP_ERR_ILLEGAL_SASL_STATE:
      return {Code::kInvalid, ExitStatus::kNoPermission,
              "correct security.protocol and the sasl.* properties"};
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
      return {Code::kInvalid, ExitStatus::kConfiguration, "create the topic or correct its name"};
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
    case RD_KAFKA_RESP_ERR_INVALID_PARTITIONS:
    case RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR:
    case RD_KAFKA_RESP_ERR_INVALID_REPLICA_ASSIGNMENT:
    case RD_KAFKA_RESP_ERR_INVALID_CONFIG:
    case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
    case RD_KAFKA_RESP_ERR_INVALID_GROUP_ID:
    case RD_KAFKA_RESP_ERR_INVALID_REQUEST:
    case RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE:
    case RD_KAFKA_RESP_ERR__INVALID_ARG:
    case RD_KAFKA_RESP_ERR__CONFLICT:
      return {Code::kInvalid, ExitStatus::kConfiguration, "correct the setting that it names"};
    case RD_KAFKA_RESP_ERR_INVALID_TRANSACTION_TIMEOUT:
      return {Code::kInvalid, ExitStatus::kConfiguration,
              "lower the transaction timeout to the broker's transaction.max.timeout.ms or below"};
    case RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT:
      return {Code::kInvalid, ExitStatus::kConfiguration, "use brokers of version 2.5 or later"};
    case RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID:
    case RD_KAFKA_RESP_ERR_NON_EMPTY_GROUP:
      return {Code::kInvalid, ExitStatus::kConfiguration,
              "stop the consumers that are members of the group"};
    case RD_KAFKA_RESP_ERR__SSL:
      return {Code::kInvalid, ExitStatus::kUnavailable,
              "correct security.protocol and the ssl.* properties"};
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
      return {Code::kExhausted, ExitStatus::kDone, "raise the topic's max.message.bytes"};
    case RD_KAFKA_RESP_ERR__BAD_MSG:
    case RD_KAFKA_RESP_ERR__BAD_COMPRESSION:
    case RD_KAFKA_RESP_ERR_INVALID_MSG:
      return {Code::kCorrupt, ExitStatus::kDone, "check the broker's disks; nothing was skipped"};
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE:
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
    case RD_KAFKA_RESP_ERR__WAIT_COORD:
    case RD_KAFKA_RESP_ERR__WAIT_CACHE:
    case RD_KAFKA_RESP_ERR__IN_PROGRESS:
    case RD_KAFKA_RESP_ERR__PREV_IN_PROGRESS:
    case RD_KAFKA_RESP_ERR__RETRY:
    case RD_KAFKA_RESP_ERR__OUTDATED:
    case RD_KAFKA_RESP_ERR__QUEUE_FULL:
    case RD_KAFKA_RESP_ERR__NO_OFFSET:
    case RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT:
    case RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION:
    case RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS:
    case RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_COORDINATOR:
    case RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS:
    case RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT:
    case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION:
    case RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_PREFERRED_LEADER_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS:
    case RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND:
    case RD_KAFKA_RESP_ERR_NOT_CONTROLLER:
    case RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR:
    case RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS:
    case RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE:
    case RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH:
    case RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH:
    case RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED:
      return {Code::kRetry};
    default:
      return {Code::kRecover};
  }
}

Status say(const NextStep& step, rd_kafka_resp_err_t error, std::string_view attempted,
           std::string_view brokers, std::string_view reason) {
  if (reason.empty()) reason = rd_kafka_err2str(error);
  std::string text = fmt::format("could not {} at {}: {} ({})", attempted, brokers, reason,
                                 rd_kafka_err2name(error));
  if (step.remedy != nullptr) text += fmt::format("; {}", step.remedy);
  Status status(step.code, text);
  if (step.exit == ExitStatus::kDone) return status;
  return std::move(status).exit(step.exit);
}

}  // namespace

Status to_status(rd_kafka_resp_err_t error, std::string_view attempted, std::string_view brokers,
                 std::string_view reason) {
  if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return {};
  return say(next_step(error), error, attempted, brokers, reason);
}

Status to_status(rd_kafka_error_t* error, std::string_view attempted, std::string_view brokers) {
  if (error == nullptr) return {};
  const std::unique_ptr<rd_kafka_error_t, decltype(&rd_kafka_error_destroy)> owned(
      error, &rd_kafka_error_destroy);
  const rd_kafka_resp_err_t code = rd_kafka_error_code(error);
  NextStep step = next_step(code);
  const bool person_first = step.code == Code::kInvalid;
  if (rd_kafka_error_is_fatal(error) != 0 || rd_kafka_error_txn_requires_abort(error) != 0) {
    if (!person_first) step = {Code::kRecover};
  } else if (rd_kafka_error_is_retriable(error) != 0) {
    if (!person_first || code == RD_KAFKA_RESP_ERR__CONFLICT) step = {Code::kRetry};
  }
  return say(step, code, attempted, brokers, rd_kafka_error_string(error));
}

Status delivery_status(rd_kafka_resp_err_t error, std::string_view attempted,
                       std::string_view brokers) {
  NextStep step = next_step(error);
  if (step.code == Code::kExhausted) {
    // Single records are measured before they are handed over, so it is the batch that was too
    // large.
    step = {Code::kInvalid, ExitStatus::kConfiguration,
            "set the property batch.size to the topic's max.message.bytes or below"};
  } else if (step.code != Code::kInvalid) {
    step = {Code::kRecover};
  }
  return say(step, error, attempted, brokers, {});
}

Status unreachable(std::string_view attempted, std::string_view brokers,
                   std::string_view last_error) {
  return Status(Code::kInvalid,
                fmt::format(
                    "could not {} at {}: no broker answered{}{}; check the address, the network "
                    "and that the broker runs",
                    attempted, brokers, last_error.empty() ? "" : ", last: ", last_error))
      .exit(ExitStatus::kUnavailable);
}

bool is_silence(rd_kafka_resp_err_t error) noexcept {
  switch (error) {
    case RD_KAFKA_RESP_ERR__TIMED_OUT:
    case RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE:
    case RD_KAFKA_RESP_ERR__TRANSPORT:
    case RD_KAFKA_RESP_ERR__RESOLVE:
    case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
      return true;
    default:
      return false;
  }
}

}  // namespace sluice::kafka::internal
