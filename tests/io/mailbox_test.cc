// Goal: what is sent is received once and in order, nobody sleeps through a message, a free slot, a close or a stop.
// Method: small cases on one loop turned by hand; then two real shards, many messages, lanes of every small size.
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <sluice/io/event.h>
#include <sluice/io/mailbox.h>
#include <sluice/io/scope.h>
#include <sluice/io/shards.h>

#include "loop.h"
#include "race.h"

namespace sluice::io {
namespace {

using Lane = Mailbox<std::unique_ptr<int>>;
using Numbers = Mailbox<std::uint64_t>;

asio::awaitable<Status> send_range(std::shared_ptr<Numbers> lane, std::uint64_t from, std::uint64_t to) {
  for (std::uint64_t number = from; number < to; ++number) {
    const Status sent = co_await lane->send(number);
    if (!sent.ok()) co_return sent;
  }
  co_return Status();
}
asio::awaitable<Status> send_all_and_close(std::shared_ptr<Numbers> lane, std::uint64_t count) {
  const Status sent = co_await send_range(lane, 0, count);
  lane->close();
  co_return sent;
}
asio::awaitable<Status> receive_all(std::shared_ptr<Numbers> lane, std::vector<std::uint64_t>* into) {
  for (;;) {
    const Result<std::uint64_t> next = co_await lane->receive();
    if (!next.ok()) co_return Status();
    into->push_back(*next);
  }
}
std::vector<std::uint64_t> up_to(std::uint64_t count) {
  std::vector<std::uint64_t> numbers;
  for (std::uint64_t at = 0; at < count; ++at) numbers.push_back(at);
  return numbers;
}

class MailboxTest : public testing::Test {
 protected:
  std::shared_ptr<Numbers> lane_of(std::uint32_t capacity, Event* arrival = nullptr) {
    return std::make_shared<Numbers>(Numbers::Options{
        .from = loop.executor(), .to = loop.executor(), .capacity_messages = capacity, .arrival = arrival});
  }
  Loop loop;
  std::vector<std::uint64_t> received;
};

TEST_F(MailboxTest, CarriesMoveOnlyMessagesInOrderOnOneShard) {
  auto lane = std::make_shared<Lane>(Lane::Options{.from = loop.executor(), .to = loop.executor()});
  for (int number = 0; number < 3; ++number) {
    auto message = std::make_unique<int>(number);
    ASSERT_TRUE(lane->try_send(message));
  }
  for (int number = 0; number < 3; ++number) {
    Result<std::unique_ptr<int>> next = loop.run(lane->receive());
    ASSERT_TRUE(next.ok());
    EXPECT_EQ(**next, number);
  }
  EXPECT_TRUE(lane->empty());
}

TEST_F(MailboxTest, TrySendLeavesTheMessageAloneWhenTheLaneIsFullOrClosed) {
  auto lane = std::make_shared<Lane>(
      Lane::Options{.from = loop.executor(), .to = loop.executor(), .capacity_messages = 2});
  auto first = std::make_unique<int>(1), second = std::make_unique<int>(2), third = std::make_unique<int>(3);
  EXPECT_TRUE(lane->try_send(first));
  EXPECT_TRUE(lane->try_send(second));
  EXPECT_FALSE(lane->try_send(third));
  ASSERT_NE(third, nullptr);
  std::unique_ptr<int> out;
  EXPECT_TRUE(lane->try_receive(out));
  lane->close();
  EXPECT_FALSE(lane->try_send(third));
  ASSERT_NE(third, nullptr);
  EXPECT_EQ(*third, 3);
}

TEST_F(MailboxTest, ASenderWaitsWhileTheLaneIsFullAndGoesOnWhenThereIsRoom) {
  auto lane = lane_of(2);
  Scope scope(loop.executor());
  scope.spawn(send_range(lane, 0, 3));
  loop.drain();
  std::uint64_t number = 99;
  ASSERT_TRUE(lane->try_receive(number));
  EXPECT_EQ(number, 0u);
  EXPECT_TRUE(loop.run(scope.join()).ok());
  ASSERT_TRUE(lane->try_receive(number));
  ASSERT_TRUE(lane->try_receive(number));
  EXPECT_EQ(number, 2u);
}

TEST_F(MailboxTest, AReceiverOnTheSameShardWakesForEachMessage) {
  auto lane = lane_of(2);
  Scope scope(loop.executor());
  scope.spawn(receive_all(lane, &received));
  loop.drain();
  scope.spawn(send_all_and_close(lane, 1'000));
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(received, up_to(1'000));
}

TEST_F(MailboxTest, AfterCloseTheReceiverFirstGetsEverythingSentBefore) {
  auto lane = lane_of(4);
  EXPECT_TRUE(loop.run(send_all_and_close(lane, 3)).ok());
  EXPECT_TRUE(lane->closed());
  for (std::uint64_t number = 0; number < 3; ++number) EXPECT_EQ(*loop.run(lane->receive()), number);
  EXPECT_EQ(loop.run(lane->receive()).code(), Code::kCancelled);
  EXPECT_EQ(loop.run(lane->send(7)).code(), Code::kCancelled);
}

TEST_F(MailboxTest, CloseWakesAWaitingReceiver) {
  auto lane = lane_of(4);
  Scope scope(loop.executor());
  scope.spawn(receive_all(lane, &received));
  loop.drain();
  lane->close();
  lane->close();
  EXPECT_TRUE(loop.run(scope.join()).ok());
}

TEST_F(MailboxTest, CloseWakesAWaitingSenderWhoseMessageWasNotSent) {
  auto lane = lane_of(2);
  Scope scope(loop.executor());
  scope.spawn(send_range(lane, 0, 3));
  loop.drain();
  lane->close();
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_TRUE(loop.run(receive_all(lane, &received)).ok());
  EXPECT_EQ(received, up_to(2));
}

TEST_F(MailboxTest, AStoppedSenderHasNotSent) {
  auto lane = lane_of(2);
  Scope scope(loop.executor());
  scope.spawn(send_range(lane, 0, 3));
  loop.drain();
  scope.stop();
  EXPECT_TRUE(loop.run(scope.join()).ok());
  lane->close();
  EXPECT_TRUE(loop.run(receive_all(lane, &received)).ok());
  EXPECT_EQ(received, up_to(2));
}

TEST_F(MailboxTest, AStoppedReceiverTakesNothingEvenWhenSomethingIsThere) {
  auto lane = lane_of(2);
  Scope scope(loop.executor());
  scope.spawn(receive_all(lane, &received));
  scope.stop();
  EXPECT_TRUE(loop.run(send_range(lane, 0, 2)).ok());
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_TRUE(received.empty());
  EXPECT_FALSE(lane->empty());
}

TEST_F(MailboxTest, MessagesThatNobodyTookDieWithTheLane) {
  auto counted = std::make_shared<int>(0);
  auto lane = std::make_shared<Mailbox<std::shared_ptr<int>>>(
      Mailbox<std::shared_ptr<int>>::Options{.from = loop.executor(), .to = loop.executor()});
  for (int number = 0; number < 5; ++number) {
    auto message = counted;
    ASSERT_TRUE(lane->try_send(message));
  }
  EXPECT_EQ(counted.use_count(), 6);
  lane.reset();
  EXPECT_EQ(counted.use_count(), 1);
}

// An inbox as the engine has it: one coroutine, several lanes, one doorbell.
asio::awaitable<Status> receive_any(std::vector<std::shared_ptr<Numbers>> lanes, Event* arrival,
                                    std::vector<std::uint64_t>* into) {
  while (!lanes.empty()) {
    bool found = false;
    for (auto lane = lanes.begin(); lane != lanes.end();) {
      const bool closed = (*lane)->closed();
      std::uint64_t number = 0;
      if ((*lane)->try_receive(number)) {
        into->push_back(number);
        found = true;
      } else if (closed) {
        lane = lanes.erase(lane);
        continue;
      }
      ++lane;
    }
    if (found || lanes.empty()) continue;
    const Status woken = co_await arrival->wait();
    if (!woken.ok()) co_return woken;
  }
  co_return Status();
}

TEST_F(MailboxTest, OneDoorbellServesSeveralLanesAndTheirCloses) {
  Event arrival(loop.executor());
  std::vector<std::shared_ptr<Numbers>> lanes;
  for (int at = 0; at < 3; ++at) lanes.push_back(lane_of(2, &arrival));
  Scope scope(loop.executor());
  scope.spawn(receive_any(lanes, &arrival, &received));
  loop.drain();
  for (const auto& lane : lanes) scope.spawn(send_all_and_close(lane, 100));
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(received.size(), 300u);
}

TEST_F(MailboxTest, ReceiveOnALaneWithADoorbellWaitsForTheDoorbell) {
  Event arrival(loop.executor());
  auto lane = lane_of(2, &arrival);
  Scope scope(loop.executor());
  scope.spawn(receive_all(lane, &received));
  loop.drain();
  scope.spawn(send_all_and_close(lane, 10));
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(received, up_to(10));
}

TEST(MailboxDeathTest, ACapacityThatIsNoPowerOfTwoIsOurMistake) {
  Loop loop;
  EXPECT_DEATH(Numbers({.from = loop.executor(), .to = loop.executor(), .capacity_messages = 3}), "capacity");
}

// Two real shards. A lost wake-up shows as a test that never ends.
class MailboxAcross : public testing::TestWithParam<std::uint32_t> {
 protected:
  static constexpr std::uint64_t kCount = 20'000;
  Loop loop;  // Before the shards: they post to it until they are joined.
  std::unique_ptr<Shards> shards = *Shards::start({.count = 3, .pin = {}, .file_faults = {}, .thread_name = "test"});
  Executor first = shards->shard(ShardId(0)).executor(), second = shards->shard(ShardId(1)).executor(),
           third = shards->shard(ShardId(2)).executor();
  std::vector<std::uint64_t> received;
};

TEST_P(MailboxAcross, LosesNothingAndKeepsTheOrder) {
  auto lane = std::make_shared<Numbers>(
      Numbers::Options{.from = first, .to = second, .capacity_messages = GetParam()});
  Scope scope(loop.executor());
  auto sender = [lane] { return send_all_and_close(lane, kCount); };
  auto receiver = [lane, into = &received] { return receive_all(lane, into); };
  scope.spawn(run_on(first, sender));
  scope.spawn(run_on(second, receiver));
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(received, up_to(kCount));
}

TEST_P(MailboxAcross, TwoSendersAndOneDoorbellLoseNothing) {
  auto arrival = std::make_unique<Event>(third);
  std::vector<std::shared_ptr<Numbers>> lanes;
  for (const Executor& from : {first, second}) {
    lanes.push_back(std::make_shared<Numbers>(Numbers::Options{
        .from = from, .to = third, .capacity_messages = GetParam(), .arrival = arrival.get()}));
  }
  Scope scope(loop.executor());
  auto receiver = [lanes, bell = arrival.get(), into = &received] { return receive_any(lanes, bell, into); };
  scope.spawn(run_on(third, receiver));
  auto left = [lane = lanes[0]] { return send_all_and_close(lane, kCount); };
  auto right = [lane = lanes[1]] { return send_all_and_close(lane, kCount); };
  scope.spawn(run_on(first, left));
  scope.spawn(run_on(second, right));
  EXPECT_TRUE(loop.run(scope.join()).ok());
  EXPECT_EQ(received.size(), 2 * kCount);
}

TEST_P(MailboxAcross, PingPongSleepsAndWakesOnBothSides) {
  auto there = std::make_shared<Numbers>(
      Numbers::Options{.from = first, .to = second, .capacity_messages = GetParam()});
  auto back = std::make_shared<Numbers>(
      Numbers::Options{.from = second, .to = first, .capacity_messages = GetParam()});
  auto echo = [](std::shared_ptr<Numbers> in, std::shared_ptr<Numbers> out) -> asio::awaitable<Status> {
    for (;;) {
      const Result<std::uint64_t> next = co_await in->receive();
      if (!next.ok()) co_return Status();
      const Status sent = co_await out->send(*next);
      if (!sent.ok()) co_return sent;
    }
  };
  auto play = [](std::shared_ptr<Numbers> out, std::shared_ptr<Numbers> in) -> asio::awaitable<Status> {
    for (std::uint64_t number = 0; number < 2'000; ++number) {
      const Status sent = co_await out->send(number);
      if (!sent.ok()) co_return sent;
      const Result<std::uint64_t> next = co_await in->receive();
      if (!next.ok() || *next != number) co_return Status(Code::kCorrupt, "got another number back than", number);
    }
    out->close();
    co_return Status();
  };
  Scope scope(loop.executor());
  auto player = [play, there, back] { return play(there, back); };
  auto echoer = [echo, there, back] { return echo(there, back); };
  scope.spawn(run_on(first, player));
  scope.spawn(run_on(second, echoer));
  EXPECT_EQ(loop.run(scope.join()).to_string(), "ok");
}

TEST_P(MailboxAcross, ACloseByTheReceiverEndsASenderThatWaits) {
  auto lane = std::make_shared<Numbers>(
      Numbers::Options{.from = first, .to = second, .capacity_messages = GetParam()});
  auto receive_some = [](std::shared_ptr<Numbers> from) -> asio::awaitable<Status> {
    for (int at = 0; at < 100; ++at) {
      const Result<std::uint64_t> next = co_await from->receive();
      if (!next.ok()) co_return Status(Code::kCorrupt, "closed early");
    }
    from->close();
    co_return Status();
  };
  Scope scope(loop.executor());
  auto sender = [lane] { return send_range(lane, 0, ~std::uint64_t{0}); };
  auto receiver = [receive_some, lane] { return receive_some(lane); };
  scope.spawn(run_on(first, sender));
  scope.spawn(run_on(second, receiver));
  EXPECT_EQ(loop.run(scope.join()).to_string(), "ok");
}

INSTANTIATE_TEST_SUITE_P(Capacities, MailboxAcross, testing::Values(2, 4, 64, 4'096),
                         [](const auto& param) { return "capacity_" + std::to_string(param.param); });

// The other side acts as this one is about to sleep. The foreign thread stands for a shard.
class MailboxRace : public testing::Test {
 protected:
  static constexpr std::uint64_t kRounds = 5'000;
  Loop loop;
  std::unique_ptr<Shards> shards = *Shards::start({.count = 1, .pin = {}, .file_faults = {}, .thread_name = "test"});
  Executor there = shards->shard(ShardId(0)).executor();
  Race race;
  std::shared_ptr<Numbers> lane_of(std::uint32_t capacity) {
    return std::make_shared<Numbers>(Numbers::Options{.from = there, .to = there, .capacity_messages = capacity});
  }
};

TEST_F(MailboxRace, AMessageThatMeetsTheReceiverOnItsWayToSleepWakesIt) {
  auto lane = lane_of(2);
  auto receiver = [lane, against = &race] {
    auto receive = [](std::shared_ptr<Numbers> from, Race* with) -> asio::awaitable<std::uint64_t> {
      for (std::uint64_t round = 1; round <= kRounds; ++round) {
        with->begin(round);
        const Result<std::uint64_t> next = co_await from->receive();
        if (!next.ok() || *next != round) co_return round;
      }
      co_return 0;
    };
    return receive(lane, against);
  };
  std::thread sender([this, lane] {
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      race.meet(round);
      EXPECT_TRUE(lane->try_send(round));
    }
  });
  EXPECT_EQ(loop.run(run_on(there, receiver)), 0u) << "the round in which something else came";
  sender.join();
}

TEST_F(MailboxRace, ASlotThatMeetsTheSenderOnItsWayToSleepWakesIt) {
  auto lane = lane_of(2);
  auto sender = [lane, against = &race] {
    auto send = [](std::shared_ptr<Numbers> to, Race* with) -> asio::awaitable<Status> {
      for (std::uint64_t round = 1; round <= kRounds; ++round) {
        with->begin(round);
        const Status sent = co_await to->send(round);
        if (!sent.ok()) co_return sent;
      }
      co_return Status();
    };
    return send(lane, against);
  };
  std::thread receiver([this, lane] {
    // Two are in the lane before the third has to wait for a slot.
    for (std::uint64_t round = 1; round <= kRounds - 2; ++round) {
      race.meet(round + 2);
      std::uint64_t number = 0;
      EXPECT_TRUE(lane->try_receive(number));
      EXPECT_EQ(number, round);
    }
  });
  EXPECT_TRUE(loop.run(run_on(there, sender)).ok());
  receiver.join();
}

TEST_F(MailboxRace, WhatIsSentRightBeforeACloseIsReceived) {
  std::vector<std::shared_ptr<Numbers>> lanes;
  for (std::uint64_t round = 0; round <= kRounds; ++round) lanes.push_back(lane_of(2));
  auto receiver = [&lanes, against = &race] {
    auto receive = [](std::vector<std::shared_ptr<Numbers>>* all, Race* with) -> asio::awaitable<std::uint64_t> {
      for (std::uint64_t round = 1; round <= kRounds; ++round) {
        with->begin(round);
        const Result<std::uint64_t> next = co_await (*all)[round]->receive();
        if (!next.ok()) co_return round;
      }
      co_return 0;
    };
    return receive(&lanes, against);
  };
  std::thread sender([this, &lanes] {
    for (std::uint64_t round = 1; round <= kRounds; ++round) {
      race.meet(round);
      EXPECT_TRUE(lanes[round]->try_send(round));
      lanes[round]->close();
    }
  });
  EXPECT_EQ(loop.run(run_on(there, receiver)), 0u) << "the round whose message was lost";
  sender.join();
}

}  // namespace
}  // namespace sluice::io
