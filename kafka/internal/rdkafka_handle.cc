#include <sluice/io/base/log.h>
#include <sluice/kafka/internal/rdkafka_error.h>
#include <sluice/kafka/internal/rdkafka_handle.h>

#include <utility>

namespace sluice::kafka::internal {

RdHandle::RdHandle(std::string purpose, std::string brokers)
    : purpose_(std::move(purpose)), brokers_(std::move(brokers)) {}

Result<std::shared_ptr<RdHandle>> RdHandle::make(rd_kafka_type_t type, RdConf conf,
                                                 std::string purpose, std::string brokers,
                                                 Watch watch) {
  std::shared_ptr<RdHandle> handle(new RdHandle(std::move(purpose), std::move(brokers)));
  rd_kafka_conf_set_opaque(conf.get(), handle.get());
  rd_kafka_conf_set_log_cb(conf.get(), &RdHandle::on_log);
  rd_kafka_conf_set_error_cb(conf.get(), &RdHandle::on_error);
  if (type == RD_KAFKA_PRODUCER) rd_kafka_conf_set_dr_msg_cb(conf.get(), &RdHandle::on_delivery);
  if (watch == Watch::kTransactions) handle->taint_.watch(conf.get());
  char reason[512];
  rd_kafka_t* rk = rd_kafka_new(type, conf.get(), reason, sizeof(reason));
  if (rk == nullptr) {
    return Status(Code::kInvalid,
                  fmt::format("could not make the {} for {}: {}; correct the properties",
                              handle->purpose_, handle->brokers_, reason));
  }
  (void)conf.release();  // Now the library's.
  handle->rk_ = rk;
  return handle;
}

RdHandle::~RdHandle() {
  if (rk_ == nullptr) return;
  for (const auto& [name, topic] : topics_) rd_kafka_topic_destroy(topic);
  if (rd_kafka_type(rk_) == RD_KAFKA_PRODUCER) {
    // What is not delivered is dropped, instead of being waited for.
    rd_kafka_purge(
        rk_, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING);
  }
  rd_kafka_destroy(rk_);
}

std::string RdHandle::last_error() const {
  const std::lock_guard lock(mutex_);
  return last_error_;
}

Status RdHandle::delivery_failure() const {
  const std::lock_guard lock(mutex_);
  return delivery_failure_;
}

rd_kafka_topic_t* RdHandle::topic(const std::string& name) {
  const std::lock_guard lock(mutex_);
  for (const auto& [known, topic] : topics_) {
    if (known == name) return topic;
  }
  rd_kafka_topic_t* made = rd_kafka_topic_new(rk_, name.c_str(), nullptr);
  if (made != nullptr) topics_.emplace_back(name, made);
  return made;
}

bool RdHandle::fenced() const noexcept {
  switch (rd_kafka_fatal_error(rk_, nullptr, 0)) {
    case RD_KAFKA_RESP_ERR__FENCED:
    case RD_KAFKA_RESP_ERR_PRODUCER_FENCED:
    case RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH:
      return true;
    default:
      return false;
  }
}

void RdHandle::on_log(const rd_kafka_t*, int level, const char* facility, const char* text) {
  // syslog's levels. A lost connection or a retry is the client's daily work: it heals, or a call
  // fails with a message of its own. Only what the library calls critical is loud.
  const auto to = level <= 2   ? spdlog::level::err
                  : level <= 3 ? spdlog::level::warn
                               : spdlog::level::debug;
  log().log(to, "librdkafka {}: {}", facility, text);
}

void RdHandle::on_error(rd_kafka_t* rk, int error, const char* reason, void* opaque) {
  auto& self = *static_cast<RdHandle*>(opaque);
  if (error == RD_KAFKA_RESP_ERR__FATAL) {
    char text[512];
    const rd_kafka_resp_err_t original = rd_kafka_fatal_error(rk, text, sizeof(text));
    log().warn("{} for {}: {} ({})", self.purpose_, self.brokers_, text,
               rd_kafka_err2name(original));
  }
  const std::lock_guard lock(self.mutex_);
  if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN && !self.last_error_.empty())
    return;  // Says less than the one before.
  self.last_error_ = reason;
}

void RdHandle::on_delivery(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
  if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) return;
  auto& self = *static_cast<RdHandle*>(opaque);
  const std::lock_guard lock(self.mutex_);
  if (!self.delivery_failure_.ok()) return;
  const std::string attempted = fmt::format("deliver a record to {}-{}",
                                            rd_kafka_topic_name(message->rkt), message->partition);
  self.delivery_failure_ = delivery_status(message->err, attempted, self.brokers_);
}

}  // namespace sluice::kafka::internal
