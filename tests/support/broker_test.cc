// Goal: tests can rely on a broker that starts, stands still, dies and comes back with its data.
// Method: the real one; what it answers is asked through librdkafka's metadata request.
#include <gtest/gtest.h>
#include <support/broker.h>

#include <stdexcept>

namespace sluice::testing {
namespace {

TEST(Broker, ComesBackAfterAKillWithItsTopicsAndAddress) {
  Broker broker({.properties = {"message.max.bytes=2000000"}, .heap = "256m"});
  const std::string address = broker.bootstrap();
  broker.create_topic("orders", 3, {"retention.ms=60000"});
  broker.restart();
  EXPECT_EQ(broker.bootstrap(), address);
  // A topic that is there cannot be made again.
  EXPECT_THROW(broker.create_topic("orders", 3), std::runtime_error);
  broker.create_topic("payments", 1);
}

TEST(Broker, AnswersNothingWhilePaused) {
  Broker broker;
  broker.create_topic("before", 1);
  broker.pause();
  EXPECT_THROW(run_program({"kcat", "-L", "-b", broker.bootstrap(), "-m", "1"},
                           std::chrono::milliseconds(5'000)),
               std::runtime_error);
  broker.resume();
  broker.create_topic("after", 1);
}

TEST(SharedBroker, IsOneForAllTestsOfAProcess) {
  EXPECT_EQ(&SharedBroker::get(), &SharedBroker::get());
  EXPECT_FALSE(SharedBroker::get().new_topic("shared", 1).empty());
}

TEST(UniqueName, IsNeverTheSame) { EXPECT_NE(unique_name("a"), unique_name("a")); }

}  // namespace
}  // namespace sluice::testing
