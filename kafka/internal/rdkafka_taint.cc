#include <sluice/io/base/kill_point.h>
#include <sluice/kafka/internal/rdkafka_handle.h>
#include <sluice/kafka/internal/rdkafka_taint.h>

#include <unistd.h>

namespace sluice::kafka::internal {
namespace {

enum ApiKey : int16_t {
  kProduce = 0,
  kInitProducerId = 22,
  kAddPartitionsToTxn = 24,
  kAddOffsetsToTxn = 25,
  kEndTxn = 26,
  kTxnOffsetCommit = 28,
};

bool of_a_transaction(int16_t api_key) noexcept {
  switch (api_key) {
    case kProduce:
    case kInitProducerId:
    case kAddPartitionsToTxn:
    case kAddOffsetsToTxn:
    case kEndTxn:
    case kTxnOffsetCommit:
      return true;
    default:
      return false;
  }
}

constexpr const char* kInterceptor = "sluice-taint";

}  // namespace

void Taint::watch(rd_kafka_conf_t* conf) {
  rd_kafka_conf_set_closesocket_cb(conf, &Taint::on_close);
  rd_kafka_conf_interceptor_add_on_new(conf, kInterceptor, &Taint::on_new, this);
}

rd_kafka_resp_err_t Taint::on_new(rd_kafka_t* rk, const rd_kafka_conf_t*, void* self, char*,
                                  size_t) {
  const rd_kafka_resp_err_t sent =
      rd_kafka_interceptor_add_on_request_sent(rk, kInterceptor, &Taint::on_sent, self);
  const rd_kafka_resp_err_t answer =
      rd_kafka_interceptor_add_on_response_received(rk, kInterceptor, &Taint::on_answer, self);
  return sent != RD_KAFKA_RESP_ERR_NO_ERROR ? sent : answer;
}

int Taint::on_close(int socket, void* opaque) {
  Taint& self = static_cast<RdHandle*>(opaque)
                    ->taint();  // The library has one opaque for all but interceptors.
  {
    const std::lock_guard lock(self.mutex_);
    const auto at = self.carried_.find(socket);
    if (at != self.carried_.end()) {
      const bool matters = at->second == Carried::kTransaction || self.init_unanswered_;
      if (matters) self.tainted_.store(true, std::memory_order_release);
      self.carried_.erase(at);
    }
  }
  return ::close(socket);  // Behind the erase: the number may be handed out again at once.
}

rd_kafka_resp_err_t Taint::on_sent(rd_kafka_t*, int socket, const char*, int32_t, int16_t api_key,
                                   int16_t, int32_t, size_t, void* opaque) {
  if (!of_a_transaction(api_key)) return RD_KAFKA_RESP_ERR_NO_ERROR;
  auto& self = *static_cast<Taint*>(opaque);
  {
    const std::lock_guard lock(self.mutex_);
    if (api_key == kInitProducerId) {
      self.init_unanswered_ = true;
      self.carried_.try_emplace(socket, Carried::kInit);
    } else {
      self.carried_[socket] = Carried::kTransaction;
    }
  }
  if (api_key == kAddPartitionsToTxn) self.commit_pause_.sent(CommitPause::Clock::now());
  if (api_key == kEndTxn) kill_point("commit.sent");
  if (api_key == kTxnOffsetCommit) kill_point("offsets.sent");
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

rd_kafka_resp_err_t Taint::on_answer(rd_kafka_t*, int, const char*, int32_t, int16_t api_key,
                                     int16_t, int32_t, size_t, int64_t, rd_kafka_resp_err_t error,
                                     void* opaque) {
  auto& self = *static_cast<Taint*>(opaque);
  if (api_key == kInitProducerId &&
      error == RD_KAFKA_RESP_ERR_NO_ERROR) {  // An answer, whatever it says; told twice.
    const std::lock_guard lock(self.mutex_);
    self.init_unanswered_ = false;
  }
  if (api_key == kAddPartitionsToTxn) self.commit_pause_.answered(CommitPause::Clock::now());
  // __NOENT: an answer to a request that had been given up; the library does not say of which kind
  // it was.
  const bool late = error == RD_KAFKA_RESP_ERR__NOENT;
  const bool given_up = error == RD_KAFKA_RESP_ERR__TIMED_OUT && of_a_transaction(api_key);
  if (late || given_up) self.tainted_.store(true, std::memory_order_release);
  return RD_KAFKA_RESP_ERR_NO_ERROR;
}

}  // namespace sluice::kafka::internal
