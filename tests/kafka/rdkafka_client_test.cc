#include <sluice/kafka/internal/rdkafka_watchdog.h>

#include <arpa/inet.h>
#include <librdkafka/rdkafka.h>
#include <netinet/in.h>
#include <support/broker.h>
#include <sys/socket.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "client_contract.h"

namespace sluice::kafka {
namespace {

/// One broker for all tests of this program; it looks for transactions that timed out more often
/// than once in ten seconds.
const sluice::testing::Broker& broker() {
  static const sluice::testing::Broker shared(
      {.properties = {"transaction.abort.timed.out.transaction.cleanup.interval.ms=100"},
       .advertise = "",
       .heap = ""});
  return shared;
}

/// Shuts every connection of this process to the port, as a broken network would. Returns how many.
int shut_connections_to(int port) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::atoi(entry.path().filename().c_str());
    sockaddr_in6 peer{};
    socklen_t size = sizeof(peer);
    if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) != 0) continue;
    // Both families have the port at the same place.
    if (ntohs(peer.sin6_port) != port) continue;
    if (::shutdown(descriptor, SHUT_RDWR) == 0) ++count;
  }
  return count;
}

int port_of(const std::string& address) {
  return std::stoi(address.substr(address.rfind(':') + 1));
}

class BrokerHarness final : public ClientHarness {
 public:
  std::shared_ptr<Client> client(Properties properties) override {
    return make_client({.brokers = broker().bootstrap(), .properties = std::move(properties)});
  }
  std::shared_ptr<Client> unreachable() override {
    return make_client({.brokers = "127.0.0.1:1", .properties = {}});
  }
  void create_topic(const std::string& name, std::int32_t partitions,
                    const Properties& config) override {
    std::vector<std::string> lines;
    for (const auto& [key, value] : config) lines.push_back(key + "=" + value);
    broker().create_topic(name, partitions, lines);
  }
  void delete_records(const TopicPartition& at, Offset before) override;
  void close_connections() override {
    EXPECT_GT(shut_connections_to(port_of(broker().bootstrap())), 0);
  }
  void await_expiry(std::chrono::milliseconds timeout) override {
    std::this_thread::sleep_for(timeout + std::chrono::milliseconds(1'000));
  }
};

void BrokerHarness::delete_records(const TopicPartition& at, Offset before) {
  char reason[256];
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, "bootstrap.servers", broker().bootstrap().c_str(), reason,
                    sizeof(reason));
  rd_kafka_t* rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof(reason));
  ASSERT_NE(rk, nullptr) << reason;
  rd_kafka_topic_partition_list_t* list = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(list, at.topic.c_str(), at.partition)->offset = before.value();
  rd_kafka_DeleteRecords_t* request = rd_kafka_DeleteRecords_new(list);
  rd_kafka_queue_t* queue = rd_kafka_queue_new(rk);
  rd_kafka_DeleteRecords(rk, &request, 1, nullptr, queue);
  rd_kafka_event_t* event = rd_kafka_queue_poll(queue, 20'000);
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(rd_kafka_event_error(event), RD_KAFKA_RESP_ERR_NO_ERROR);
  rd_kafka_event_destroy(event);
  rd_kafka_queue_destroy(queue);
  rd_kafka_DeleteRecords_destroy(request);
  rd_kafka_topic_partition_list_destroy(list);
  rd_kafka_destroy(rk);
}

INSTANTIATE_TEST_SUITE_P(Broker, ClientContract,
                         ::testing::Values([]() -> std::unique_ptr<ClientHarness> {
                           return std::make_unique<BrokerHarness>();
                         }));

// ---- what only this client has ----

struct SettingCase {
  std::string name;
  Properties properties;
  std::string said;  // Part of the message; empty: accepted.
};

class Settings : public ::testing::TestWithParam<SettingCase> {
 protected:
  asio::io_context context_;
  io::Event arrival_{context_.get_executor()};
  Metrics metrics_;
};

TEST_P(Settings, AreRefusedWithAReasonBeforeAnyConnection) {
  const std::shared_ptr<Client> client =
      make_client({.brokers = "127.0.0.1:1", .properties = GetParam().properties});
  const Status status =
      client->consumer(context_.get_executor(), arrival_, {.properties = {}}, metrics_).status();
  if (GetParam().said.empty()) {
    EXPECT_TRUE(status.ok()) << status.to_string();
    return;
  }
  EXPECT_EQ(status.code(), Code::kInvalid);
  EXPECT_EQ(status.exit_status(), ExitStatus::kConfiguration);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr(GetParam().said));
  EXPECT_THAT(std::string(status.message()), ::testing::Not(::testing::HasSubstr("hunter2")));
  // The same from the other handles.
  EXPECT_EQ(client->admin(context_.get_executor()).code(),
            GetParam().name == "isolation" ? Code::kOk : Code::kInvalid);
}

INSTANTIATE_TEST_SUITE_P(
    Table, Settings,
    ::testing::Values(
        SettingCase{"harmless", {{"socket.receive.buffer.bytes", "65536"}, {"acks", "all"}}, ""},
        SettingCase{"same_isolation", {{"isolation.level", "read_committed"}}, ""},
        SettingCase{"isolation", {{"isolation.level", "read_uncommitted"}}, "isolation"},
        SettingCase{"unknown", {{"fetch.mni.bytes", "1"}}, "fetch.mni.bytes"},
        SettingCase{"out_of_range", {{"fetch.min.bytes", "-1"}}, "fetch.min.bytes"},
        SettingCase{"auto_commit", {{"enable.auto.commit", "true"}}, "checkpoint"},
        SettingCase{"offset_reset", {{"auto.offset.reset", "earliest"}}, "out_of_range"},
        SettingCase{"transactional_id", {{"transactional.id", "x"}}, "option of its own"},
        SettingCase{"group", {{"group.id", "x"}}, "option of the source"},
        SettingCase{"acks", {{"acks", "1"}}, "exactly-once"},
        SettingCase{"idempotence", {{"enable.idempotence", "false"}}, "exactly-once"},
        SettingCase{"crc", {{"check.crcs", "false"}}, "corrupt"},
        SettingCase{"plugin", {{"plugin.library.paths", "/tmp/x.so"}}, "not loaded"},
        SettingCase{
            "secret", {{"security.protocol", "ssl"}, {"ssl.key.pem", "hunter2"}}, "ssl.key.pem"}),
    [](const auto& made) { return made.param.name; });

TEST(ProducerSettings, MessageTimeoutMustBeBelowTheTransactions) {
  asio::io_context context;
  Metrics metrics;
  const std::shared_ptr<Client> client = make_client({.brokers = "127.0.0.1:1", .properties = {}});
  const Status status =
      client
          ->transactional_producer(context.get_executor(),
                                   {.transactional_id = "x",
                                    .transaction_timeout = 10s,
                                    .properties = {{"message.timeout.ms", "10000"}}},
                                   metrics)
          .status();
  EXPECT_EQ(status.code(), Code::kInvalid);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("10000"));
  EXPECT_TRUE(client
                  ->transactional_producer(context.get_executor(),
                                           {.transactional_id = "x",
                                            .transaction_timeout = 10s,
                                            .properties = {{"message.timeout.ms", "9999"}}},
                                           metrics)
                  .ok());
}

// librdkafka 2.0.2 may stay in send_offsets for ever; see rdkafka_watchdog.h.
TEST(WatchdogDeathTest, EndsTheProcessWhenACallDoesNotComeBack) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const io::Monotonic deadline = io::system_clock().now() - internal::Watchdog::kGrace;
        const auto guard = internal::Watchdog::of_process().watch(deadline, "send the offsets");
        std::this_thread::sleep_for(60s);
      },
      ::testing::ExitedWithCode(1), "gave up waiting to send the offsets");
}

TEST(Watchdog, LeavesCallsThatCameBackAlone) {
  const io::Monotonic soon = io::system_clock().now() - internal::Watchdog::kGrace + 100ms;
  for (int i = 0; i < 100; ++i) {
    const auto guard = internal::Watchdog::of_process().watch(soon + 1ms * i, "return at once");
  }
  std::this_thread::sleep_for(300ms);
}

class BrokerClient : public ClientContract {};
INSTANTIATE_TEST_SUITE_P(Broker, BrokerClient,
                         ::testing::Values([]() -> std::unique_ptr<ClientHarness> {
                           return std::make_unique<BrokerHarness>();
                         }));

// The library waits 500 ms between its tries; see kInitStep_ms.
TEST_P(BrokerClient, InitAfterACrashDoesNotWaitForTheLibrarysTimer) {
  const std::string name = topic();
  const std::string id = unique("id");
  double best_ms =
      1e9;  // The best of a few: a busy machine is slower, but the timer would spoil every one.
  for (int i = 0; i < 8; ++i) {
    const std::unique_ptr<TransactionalProducer> first = initialised(id);
    ok(wait(first->begin()));
    ok(send_texts(*first, {name, 0}, {"open"}));
    ok(wait(first->delivered(soon())));
    const std::unique_ptr<TransactionalProducer> second = transactional(id);
    const io::Monotonic started = io::system_clock().now();
    ok(wait(second->init(soon())));
    const std::chrono::duration<double, std::milli> taken = io::system_clock().now() - started;
    best_ms = std::min(best_ms, taken.count());
    ok(wait(first->close()));
    ok(wait(second->close()));
  }
  RecordProperty("init_ms", static_cast<int>(best_ms));
  EXPECT_LT(best_ms, 450.0);
}

}  // namespace
}  // namespace sluice::kafka
