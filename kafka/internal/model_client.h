#pragma once

#include <sluice/kafka/internal/model_connection.h>

namespace sluice::kafka::internal {

[[nodiscard]] std::shared_ptr<Client> model_client(std::shared_ptr<ModelState> broker, ClientOptions options);

}  // namespace sluice::kafka::internal
