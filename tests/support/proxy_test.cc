// Goal: each fault hits exactly what the test names, and a real transaction ends as Kafka says it
// does. Method: librdkafka's transactional producer through the proxy to a real broker; what was
// committed
//         is read beside the proxy.
#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>
#include <support/broker.h>
#include <support/proxy.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>

namespace sluice::testing {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// One broker behind one proxy for all tests of this file.
struct Site {
  Proxy proxy;
  Broker broker{{.advertise = proxy.address()}};
  Site() { proxy.forward_to(broker.listener()); }
  static Site& get() {
    static Site site;
    return site;
  }
};

std::string take(rd_kafka_error_t* error) {
  if (error == nullptr) return "";
  const std::string text = rd_kafka_error_name(error);
  rd_kafka_error_destroy(error);
  return text;
}

class Producer {
 public:
  Producer(const std::string& bootstrap,
           std::vector<std::pair<std::string, std::string>> settings = {}) {
    char text[512];
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    settings.insert(settings.begin(), {{"bootstrap.servers", bootstrap},
                                       {"transactional.id", unique_name("proxy-test")},
                                       {"transaction.timeout.ms", "20000"},
                                       {"reconnect.backoff.ms", "10"}});
    for (const auto& [key, value] : settings) {
      if (rd_kafka_conf_set(conf, key.c_str(), value.c_str(), text, sizeof(text)) !=
          RD_KAFKA_CONF_OK) {
        throw std::runtime_error(text);
      }
    }
    rd_kafka_conf_set_log_cb(conf, nullptr);
    handle_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text));
    if (handle_ == nullptr) throw std::runtime_error(text);
    if (const std::string error = take(rd_kafka_init_transactions(handle_, 20'000));
        !error.empty()) {
      throw std::runtime_error("init: " + error);
    }
  }
  Producer(const Producer&) = delete;
  ~Producer() { rd_kafka_destroy_flags(handle_, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE); }

  void send(const std::string& topic) {
    ASSERT_EQ(take(rd_kafka_begin_transaction(handle_)), "");
    ASSERT_EQ(rd_kafka_producev(handle_, RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_PARTITION(0),
                                RD_KAFKA_V_VALUE(const_cast<char*>("x"), 1),
                                RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END),
              RD_KAFKA_RESP_ERR_NO_ERROR);
    ASSERT_EQ(rd_kafka_flush(handle_, 10'000), RD_KAFKA_RESP_ERR_NO_ERROR);
  }
  /// As the engine does: a retriable error means, call again.
  std::string commit(std::chrono::milliseconds timeout = 20s) {
    const auto deadline = Clock::now() + timeout;
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
      rd_kafka_error_t* error =
          rd_kafka_commit_transaction(handle_, static_cast<int>(std::max(left, 1ms).count()));
      const bool again = error != nullptr && rd_kafka_error_is_retriable(error) != 0;
      const std::string name = take(error);
      if (!again || Clock::now() >= deadline) return name;
    }
  }
  rd_kafka_t* handle() const { return handle_; }

 private:
  rd_kafka_t* handle_ = nullptr;
};

/// The end of partition 0 for a read_committed reader: the last stable offset.
std::int64_t end_offset(const Site& site, const std::string& topic) {
  char text[512];
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, "bootstrap.servers", site.broker.direct().c_str(), text, sizeof(text));
  const std::unique_ptr<rd_kafka_t, void (*)(rd_kafka_t*)> client(
      rd_kafka_new(RD_KAFKA_PRODUCER, conf, text, sizeof(text)), rd_kafka_destroy);
  std::int64_t low = -1, high = -1;
  rd_kafka_query_watermark_offsets(client.get(), topic.c_str(), 0, &low, &high, 10'000);
  return high;
}

/// The broker acknowledges a commit before its marker is in the log, so this waits for it.
std::int64_t end_offset_from(const Site& site, const std::string& topic, std::int64_t expected) {
  const auto deadline = Clock::now() + 10s;
  std::int64_t found = -1;
  while ((found = end_offset(site, topic)) < expected && Clock::now() < deadline) {
    std::this_thread::sleep_for(10ms);
  }
  return found;
}

class ProxyTest : public ::testing::Test {
 protected:
  void SetUp() override { site.broker.create_topic(topic, 1); }
  void TearDown() override { site.proxy.clear_rules(); }

  Site& site = Site::get();
  Proxy& proxy = site.proxy;
  const std::string topic = unique_name("proxied");
};

// A committed transaction of one record occupies two offsets: the record and the marker.
constexpr std::int64_t kOffsetsEach = 2;

TEST_F(ProxyTest, WithoutRulesATransactionPasses) {
  const std::uint64_t before = proxy.requests(ApiKey::kEndTxn);
  Producer producer(site.broker.bootstrap());
  producer.send(topic);
  EXPECT_EQ(producer.commit(), "");
  EXPECT_EQ(proxy.requests(ApiKey::kEndTxn), before + 1);
  EXPECT_EQ(end_offset_from(site, topic, kOffsetsEach), kOffsetsEach);
}

TEST_F(ProxyTest, ADelayedAnswerIsLateAndNothingElseIs) {
  Producer producer(site.broker.bootstrap());
  const Proxy::RuleId slow = proxy.add({.api = ApiKey::kEndTxn, .delay = 700ms});
  producer.send(topic);
  EXPECT_EQ(proxy.fired(slow), 0U);
  const auto start = Clock::now();
  EXPECT_EQ(producer.commit(), "");
  EXPECT_GE(Clock::now() - start, 700ms);
  EXPECT_EQ(proxy.fired(slow), 1U);
}

TEST_F(ProxyTest, EveryNthFiresAtEveryNthUpToItsMaximum) {
  Producer producer(site.broker.bootstrap());
  const Proxy::RuleId second =
      proxy.add({.api = ApiKey::kEndTxn, .delay = 1ms, .every = 2, .times_max = 2});
  for (int i = 0; i < 8; ++i) {
    producer.send(topic);
    ASSERT_EQ(producer.commit(), "");
  }
  EXPECT_EQ(proxy.fired(second), 2U);
  EXPECT_EQ(end_offset_from(site, topic, 8 * kOffsetsEach), 8 * kOffsetsEach);
}

TEST_F(ProxyTest, ALostAnswerToEndTxnIsRetriedAndCommitsOnce) {
  Producer producer(site.broker.bootstrap());
  const Proxy::RuleId lost =
      proxy.add({.api = ApiKey::kEndTxn, .action = Proxy::Action::kLoseAnswer, .times_max = 1});
  const std::uint64_t before = proxy.requests(ApiKey::kEndTxn);
  producer.send(topic);
  EXPECT_EQ(producer.commit(), "");
  EXPECT_EQ(proxy.fired(lost), 1U);
  EXPECT_GE(proxy.requests(ApiKey::kEndTxn), before + 2);
  EXPECT_EQ(end_offset_from(site, topic, kOffsetsEach), kOffsetsEach);
}

TEST_F(ProxyTest, AHalfOpenConnectionMakesTheClientTimeOut) {
  Producer producer(site.broker.bootstrap(), {{"socket.timeout.ms", "1000"}});
  const Proxy::RuleId lost = proxy.add(
      {.api = ApiKey::kEndTxn, .action = Proxy::Action::kLoseAnswerKeepOpen, .times_max = 1});
  producer.send(topic);
  const auto start = Clock::now();
  EXPECT_EQ(producer.commit(), "");
  EXPECT_GE(Clock::now() - start, 900ms);
  EXPECT_EQ(proxy.fired(lost), 1U);
  EXPECT_EQ(end_offset_from(site, topic, kOffsetsEach), kOffsetsEach);
}

TEST_F(ProxyTest, AHeldRequestWaitsUntilItIsReleased) {
  Producer producer(site.broker.bootstrap());
  const Proxy::RuleId held =
      proxy.add({.api = ApiKey::kEndTxn, .action = Proxy::Action::kHoldRequest, .times_max = 1});
  producer.send(topic);
  std::thread release([&] {
    EXPECT_TRUE(proxy.wait_fired(held, 1, 10s));
    std::this_thread::sleep_for(300ms);
    EXPECT_EQ(end_offset(site, topic), 0) << "committed before the request was released";
    proxy.release();
  });
  EXPECT_EQ(producer.commit(), "");
  release.join();
  EXPECT_EQ(end_offset_from(site, topic, kOffsetsEach), kOffsetsEach);
}

// What KIP-890 is about: the client has given up, the request has not. Here it is harmless, since
// the client retries the same commit; the engine's kill runs use it where it is not.
TEST_F(ProxyTest, ADelayedRequestReachesTheBrokerAfterItsClientGaveUp) {
  Producer producer(site.broker.bootstrap(), {{"socket.timeout.ms", "1000"}});
  const std::uint64_t late = proxy.late_requests();
  const Proxy::RuleId delayed = proxy.add({.api = ApiKey::kEndTxn,
                                           .action = Proxy::Action::kDelayRequest,
                                           .delay = 2'500ms,
                                           .times_max = 1});
  producer.send(topic);
  EXPECT_EQ(producer.commit(), "");
  EXPECT_EQ(proxy.fired(delayed), 1U);
  const auto deadline = Clock::now() + 10s;
  while (proxy.late_requests() == late && Clock::now() < deadline)
    std::this_thread::sleep_for(10ms);
  EXPECT_GT(proxy.late_requests(), late);
  EXPECT_EQ(end_offset_from(site, topic, kOffsetsEach), kOffsetsEach);
}

TEST_F(ProxyTest, ALostRequestIsSentAgain) {
  Producer producer(site.broker.bootstrap());
  const Proxy::RuleId lost =
      proxy.add({.api = ApiKey::kProduce, .action = Proxy::Action::kLoseRequest, .times_max = 1});
  producer.send(topic);
  EXPECT_EQ(producer.commit(), "");
  EXPECT_EQ(proxy.fired(lost), 1U);
  EXPECT_EQ(end_offset_from(site, topic, kOffsetsEach), kOffsetsEach);
}

TEST_F(ProxyTest, CutConnectionsAreMadeAnew) {
  Producer producer(site.broker.bootstrap());
  producer.send(topic);
  const std::uint64_t before = proxy.connections();
  proxy.cut();
  EXPECT_EQ(producer.commit(), "");
  EXPECT_GT(proxy.connections(), before);
  EXPECT_EQ(end_offset_from(site, topic, kOffsetsEach), kOffsetsEach);
}

TEST_F(ProxyTest, OffsetsOfAConsumerGroupPassAndAreCounted) {
  Producer producer(site.broker.bootstrap());
  const Proxy::RuleId add = proxy.add({.api = ApiKey::kAddOffsetsToTxn, .delay = 1ms});
  const Proxy::RuleId commit = proxy.add({.api = ApiKey::kTxnOffsetCommit, .delay = 1ms});
  producer.send(topic);
  rd_kafka_topic_partition_list_t* offsets = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(offsets, topic.c_str(), 0)->offset = 7;
  rd_kafka_consumer_group_metadata_t* group =
      rd_kafka_consumer_group_metadata_new(unique_name("group").c_str());
  EXPECT_EQ(take(rd_kafka_send_offsets_to_transaction(producer.handle(), offsets, group, 10'000)),
            "");
  rd_kafka_consumer_group_metadata_destroy(group);
  rd_kafka_topic_partition_list_destroy(offsets);
  EXPECT_EQ(producer.commit(), "");
  EXPECT_EQ(proxy.fired(add), 1U);
  EXPECT_GE(proxy.fired(commit), 1U);
}

TEST(ProxyAlone, WithoutABrokerClosesTheConnection) {
  Proxy proxy;
  proxy.forward_to("127.0.0.1:1");
  EXPECT_THROW(run_program({"kcat", "-L", "-b", proxy.address(), "-m", "1"}, 5s),
               std::runtime_error);
  EXPECT_GT(proxy.connections(), 0U);
}

}  // namespace
}  // namespace sluice::testing
