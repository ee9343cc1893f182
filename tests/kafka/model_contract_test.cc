#include <sluice/kafka/model.h>

#include "client_contract.h"

namespace sluice::kafka {
namespace {

class ModelHarness final : public ClientHarness {
 public:
  std::shared_ptr<Client> client(Properties properties) override {
    return broker_.client({.brokers = "model:9092", .properties = std::move(properties)});
  }
  std::shared_ptr<Client> unreachable() override {
    dead_.set_reachable(false);
    return dead_.client({.brokers = "model:1", .properties = {}});
  }
  void create_topic(const std::string& name, std::int32_t partitions, const Properties& config) override {
    broker_.create_topic(name, partitions, config);
  }
  void delete_records(const TopicPartition& at, Offset before) override { broker_.delete_records(at, before); }
  void close_connections() override { broker_.close_connections(); }
  void await_expiry(std::chrono::milliseconds) override { broker_.expire_transactions(); }

 private:
  ModelBroker broker_, dead_;
};

INSTANTIATE_TEST_SUITE_P(Model, ClientContract, ::testing::Values([]() -> std::unique_ptr<ClientHarness> {
                           return std::make_unique<ModelHarness>();
                         }));

}  // namespace
}  // namespace sluice::kafka
