#include <sluice/kafka/client.h>
#include <sluice/kafka/internal/rdkafka_admin.h>
#include <sluice/kafka/internal/rdkafka_consumer.h>
#include <sluice/kafka/internal/rdkafka_producer.h>
#include <sluice/kafka/internal/rdkafka_transactional.h>

#include <utility>

namespace sluice::kafka {
namespace {

/// Makes handles. They need no executor: blocking calls have threads of their own, and a caller
/// resumes on the executor that it came from.
class RdClient final : public Client {
 public:
  explicit RdClient(ClientOptions options) : options_(std::move(options)) {}

  Result<std::unique_ptr<Consumer>> consumer(io::Executor, io::Event& arrival,
                                             ConsumerOptions options, Metrics& metrics) override {
    return internal::RdConsumer::make(options_, arrival, options, metrics);
  }
  Result<std::unique_ptr<Producer>> producer(io::Executor, ProducerOptions options,
                                             Metrics&) override {
    return internal::RdProducer::make(options_, options);
  }
  Result<std::unique_ptr<TransactionalProducer>> transactional_producer(io::Executor,
                                                                        ProducerOptions options,
                                                                        Metrics&) override {
    return internal::RdTransactionalProducer::make(options_, options);
  }
  Result<std::unique_ptr<Admin>> admin(io::Executor) override {
    Result<std::unique_ptr<internal::RdAdmin>> made = internal::RdAdmin::make(options_);
    if (!made.ok()) return made.status();
    return std::unique_ptr<Admin>(std::move(*made));
  }
  const ClientOptions& options() const noexcept override { return options_; }

 private:
  const ClientOptions options_;
};

}  // namespace

std::shared_ptr<Client> make_client(ClientOptions options) {
  return std::make_shared<RdClient>(std::move(options));
}

}  // namespace sluice::kafka
