// Scenario S2: an integer at an interval (two seconds, or as given), exactly once into a topic. Kill it with -9 and start it again as
// often as you like: a read_committed reader sees every integer once, in order.
//   every_two_seconds [brokers] [topic] [milliseconds] [last integer, 0 = for ever]
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/steady_timer.hpp>

#include <sluice/sluice.h>

using namespace sluice;

/// Hands out the next integer when its time has come; a timer rings the stage's bell.
class TickReader final : public SourceReader<std::string> {
 public:
  TickReader(std::chrono::milliseconds every, std::int64_t last) : every_(every), last_(last) {}
  asio::awaitable<Status> open(const Context& context, std::vector<SplitPosition> starts, io::Event& arrival) override {
    arrival_ = &arrival;
    timer_ = std::make_unique<asio::steady_timer>(context.executor);
    if (!starts.empty()) at_ = starts.front();
    due_ = std::chrono::steady_clock::now();
    co_return Status();
  }
  asio::awaitable<Result<Polled>> poll(SourceOutput<std::string>& out) override {
    if (at_.source.empty() || (last_ > 0 && at_.next.value() > last_)) co_return Polled::kEnd;
    if (std::chrono::steady_clock::now() < due_) co_return Polled::kNothing;
    Batch<std::string> batch;
    batch.records().push_back(std::to_string(at_.next.value()));
    out.batches.push_back(std::move(batch));
    ++at_.next;
    due_ += every_;
    timer_->expires_at(due_);
    timer_->async_wait([arrival = arrival_](const boost::system::error_code& error) {
      if (!error) arrival->set();
    });
    co_return Polled::kData;
  }
  std::vector<SplitPosition> positions() const override {
    if (at_.source.empty()) return {};
    return {at_};
  }
  asio::awaitable<Status> close() override {
    timer_.reset();
    co_return Status();
  }

 private:
  const std::chrono::milliseconds every_;
  const std::int64_t last_;
  SplitPosition at_;
  io::Event* arrival_ = nullptr;
  std::unique_ptr<asio::steady_timer> timer_;
  std::chrono::steady_clock::time_point due_;
};

class Ticks final : public Source<std::string> {
 public:
  Ticks(std::chrono::milliseconds every, std::int64_t last) : every_(every), last_(last) {}
  std::string describe() const override { return "integers from 1"; }
  asio::awaitable<Result<std::vector<SplitPosition>>> start(Attempt&, const std::string& id,
                                                            std::optional<std::vector<SplitPosition>> restored) override {
    if (restored) co_return *std::move(restored);
    co_return std::vector{SplitPosition{id, Split{"ticks", 0}, Offset{1}}};
  }
  std::unique_ptr<SourceReader<std::string>> reader(Attempt&, ShardId) override {
    return std::make_unique<TickReader>(every_, last_);
  }

 private:
  const std::chrono::milliseconds every_;
  const std::int64_t last_;
};

int main(int argc, char** argv) {
  const std::string brokers = argc > 1 ? argv[1] : "127.0.0.1:9092";
  const std::string topic = argc > 2 ? argv[2] : "integers";
  const std::chrono::milliseconds every(argc > 3 ? std::atoi(argv[3]) : 2000);
  const std::int64_t last = argc > 4 ? std::atoll(argv[4]) : 0;
  Job job{"every-two-seconds-" + topic};  // A job is its name: another topic is another job, with state of its own.
  job.checkpoint({.interval = every / 2, .directory = "state/" + job.name()});
  job.from(std::shared_ptr<Source<std::string>>(std::make_shared<Ticks>(every, last)), "ticks")
      .to(kafka::sink<std::string>({.brokers = brokers, .topic = topic, .partitioner = kafka::fixed()}), "integers");
  return run(std::move(job));
}
