#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <sluice/io/executor.h>
#include <sluice/kafka/internal/model_state.h>

namespace sluice::kafka::internal {

/// What the handles of one client share. Needs the broker's mutex, except for what is constant.
class ModelConnection {
 public:
  ModelConnection(std::shared_ptr<ModelState> broker, ClientOptions given);

  [[nodiscard]] ModelFaults::Reply send(ModelRequest type, const std::function<ModelAnswer()>& request);
  /// `attempted` completes "could not …".
  [[nodiscard]] Status status(ModelAnswer answer, std::string_view attempted) const;
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  const std::shared_ptr<ModelState> state;
  const ClientOptions options;

 private:
  const std::string name_;
  bool reached_ = false;  // Somebody answered once, so silence is an interruption, not a wrong address.
};
using ModelConnectionPtr = std::shared_ptr<ModelConnection>;

/// An answer arrives through the loop of whoever asked.
[[nodiscard]] asio::awaitable<void> model_answered();

/// Settings that break what the engine relies on: kInvalid.
[[nodiscard]] Status model_check(const Properties& client, const Properties& handle, const ConsumerOptions* consumer,
                                 const ProducerOptions* producer);

}  // namespace sluice::kafka::internal
