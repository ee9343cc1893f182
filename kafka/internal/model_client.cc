#include <sluice/kafka/internal/model_client.h>

#include <sluice/kafka/internal/model_admin.h>
#include <sluice/kafka/internal/model_consumer.h>
#include <sluice/kafka/internal/model_producer.h>

namespace sluice::kafka::internal {
namespace {

// Handles resume on the executor of whoever awaits them, so that they need none of their own.
class ModelClient final : public Client {
 public:
  ModelClient(std::shared_ptr<ModelState> broker, ClientOptions options)
      : connection_(std::make_shared<ModelConnection>(std::move(broker), std::move(options))) {}

  [[nodiscard]] Result<std::unique_ptr<Consumer>> consumer(io::Executor, io::Event& arrival, ConsumerOptions options,
                                                           Metrics& metrics) override {
    Status checked = model_check(this->options().properties, options.properties, &options, nullptr);
    if (!checked.ok()) return checked;
    return std::unique_ptr<Consumer>(
        std::make_unique<ModelConsumer>(connection_, arrival, options.read_committed, metrics));
  }
  [[nodiscard]] Result<std::unique_ptr<Producer>> producer(io::Executor, ProducerOptions options, Metrics&) override {
    if (!options.transactional_id.empty()) {
      return Status(Code::kInvalid, "could not make a producer: it has a transactional id; ask for a transactional one");
    }
    Status checked = model_check(this->options().properties, options.properties, nullptr, &options);
    if (!checked.ok()) return checked;
    return std::unique_ptr<Producer>(std::make_unique<ModelProducer>(connection_, std::move(options)));
  }
  [[nodiscard]] Result<std::unique_ptr<TransactionalProducer>> transactional_producer(io::Executor, ProducerOptions options,
                                                                                      Metrics&) override {
    if (options.transactional_id.empty() || !options.acks_all) {
      return Status(Code::kInvalid,
                    "could not make a transactional producer: it needs a transactional id and all acknowledgements");
    }
    Status checked = model_check(this->options().properties, options.properties, nullptr, &options);
    if (!checked.ok()) return checked;
    return std::unique_ptr<TransactionalProducer>(
        std::make_unique<ModelTransactionalProducer>(connection_, std::move(options)));
  }
  [[nodiscard]] Result<std::unique_ptr<Admin>> admin(io::Executor) override {
    Status checked = model_check(options().properties, {}, nullptr, nullptr);
    if (!checked.ok()) return checked;
    return std::unique_ptr<Admin>(std::make_unique<ModelAdmin>(connection_));
  }
  [[nodiscard]] const ClientOptions& options() const noexcept override { return connection_->options; }

 private:
  const ModelConnectionPtr connection_;
};

}  // namespace

std::shared_ptr<Client> model_client(std::shared_ptr<ModelState> broker, ClientOptions options) {
  return std::make_shared<ModelClient>(std::move(broker), std::move(options));
}

}  // namespace sluice::kafka::internal
