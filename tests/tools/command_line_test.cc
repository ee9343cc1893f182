// Goal: the program as people run it: records made, judged and explained on a real broker, with the
// exit statuses that the documentation promises. Method: build/<preset>/bin/sluice as a child
// process; faults are put into a topic by hand.
#include <sluice/kafka/registers.h>

#include "commands/cluster.h"
#include "commands/test_record.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidjson/document.h>
#include <support/broker.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <iterator>

namespace sluice::tools {
namespace {

using sluice::testing::Process;
using sluice::testing::SharedBroker;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

struct Ran {
  Process::End end;
  std::string out, err;
  rapidjson::Document json() const {
    rapidjson::Document document;
    document.Parse(out.c_str());
    EXPECT_FALSE(document.HasParseError()) << out << err;
    return document;
  }
};

class CommandLine : public ::testing::Test {
 protected:
  Process start(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), SLUICE_PROGRAM);
    std::ofstream(out_file()).close();
    std::ofstream(err_file()).close();
    return Process(
        {.arguments = std::move(arguments), .stdout_file = out_file(), .stderr_file = err_file()});
  }
  Ran finish(Process& process) {
    const auto end = process.wait(60s);
    EXPECT_TRUE(end.has_value()) << "still runs";
    return {end.value_or(Process::End{}), content(out_file()), content(err_file())};
  }
  Ran run(std::vector<std::string> arguments) {
    Process process = start(std::move(arguments));
    return finish(process);
  }
  Ran on_broker(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin() + 1, {"--brokers", broker_.bootstrap()});
    return run(std::move(arguments));
  }
  // What generate --json printed, as a file for --expect.
  std::string generate(const std::string& topic, std::vector<std::string> more) {
    more.insert(more.begin(), {"generate", "--topic", topic, "--json"});
    const Ran ran = on_broker(std::move(more));
    EXPECT_EQ(ran.end.to_string(), "exit status 0") << ran.err;
    const std::string file = directory_.path() / ("expect-" + std::to_string(++files_));
    std::ofstream(file) << ran.out;
    return file;
  }
  void produce(const std::string& topic, std::int32_t partition, const std::string& value) {
    const auto handle = producer({});
    rd_kafka_producev(handle->get(), RD_KAFKA_V_TOPIC(topic.c_str()),
                      RD_KAFKA_V_PARTITION(partition),
                      RD_KAFKA_V_VALUE(const_cast<char*>(value.data()), value.size()),
                      RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
    ASSERT_EQ(rd_kafka_flush(handle->get(), 10'000), RD_KAFKA_RESP_ERR_NO_ERROR);
  }
  std::unique_ptr<Handle> producer(const std::string& transactional_id) {
    Handle::Settings settings;
    if (!transactional_id.empty()) settings.fixed.emplace("transactional.id", transactional_id);
    auto made = Handle::make(RD_KAFKA_PRODUCER, connection(), std::move(settings));
    EXPECT_TRUE(made.ok()) << made.status().message();
    return *std::move(made);
  }
  const Connection& connection() {
    connection_.brokers = broker_.bootstrap();
    return connection_;
  }
  void commit(const std::string& group, const std::vector<kafka::OffsetAndMetadata>& offsets) {
    auto made = Handle::make(RD_KAFKA_CONSUMER, connection(),
                             {.fixed = {{"group.id", group}, {"enable.auto.commit", "false"}}});
    ASSERT_TRUE(made.ok());
    const PartitionList list(rd_kafka_topic_partition_list_new(2));
    for (const auto& offset : offsets) {
      auto* const one = rd_kafka_topic_partition_list_add(
          list.get(), offset.partition.topic.c_str(), offset.partition.partition);
      one->offset = offset.offset;
      one->metadata = strdup(offset.metadata.c_str());  // The list frees it.
      one->metadata_size = offset.metadata.size();
    }
    ASSERT_EQ(rd_kafka_commit((*made)->get(), list.get(), 0), RD_KAFKA_RESP_ERR_NO_ERROR);
  }

  static std::string content(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::filesystem::path out_file() const { return directory_.path() / "out"; }
  std::filesystem::path err_file() const { return directory_.path() / "err"; }

  const SharedBroker& broker_ = SharedBroker::get();
  const sluice::testing::TempDirectory directory_;
  Connection connection_;
  int files_ = 0;
};

TEST_F(CommandLine, VersionNamesTheFiveCodecs) {
  const Ran ran = run({"version", "--json"});
  EXPECT_EQ(ran.end.status, 0);
  const auto json = ran.json();
  EXPECT_EQ(json["codecs"].Size(), 5u);
  EXPECT_STREQ(json["librdkafka"].GetString(), rd_kafka_version_str());
  EXPECT_EQ(json["schema_version"].GetInt(), 1);
}

TEST_F(CommandLine, WrongUsageEndsWithTwoAndUnreachableBrokersWith69) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{},
        {"genrate"},
        {"generate"},
        {"generate", "--brokers", "x", "--topic", "t", "--duration", "10"},
        {"generate", "--brokers", "x", "--topic", "t", "--rat", "1"},
        {"generate", "--brokers", "x", "--topic", "t", "--key", "a:0"},
        {"verify", "--brokers", "x"},
        {"verify", "--brokers", "x", "--topic", "a,a"},
        {"explain-commit", "--brokers", "x"},
        {"explain-commit", "--brokers", "x", "--job", "a b"}}) {
    const Ran ran = run(arguments);
    EXPECT_EQ(ran.end.to_string(), "exit status 2")
        << ::testing::PrintToString(arguments) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_NE(ran.err, "");
  }
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"generate", "--topic", "t"},
        {"verify", "--topic", "t"},
        {"explain-commit", "--job", "j"}}) {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), {"--brokers", "127.0.0.1:1", "--connect-timeout", "300ms"});
    const Ran ran = run(all);
    EXPECT_EQ(ran.end.to_string(), "exit status 69") << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("127.0.0.1:1"));
  }
}

TEST_F(CommandLine, WrongSettingsEndWith78AndNoPasswordIsPrinted) {
  const std::string topic = broker_.new_topic("cli", 1);
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"generate", "--topic", "no-such-topic"},
        {"verify", "--topic", "no-such-topic"},
        {"explain-commit", "--job", "no-such-job"},
        {"generate", "--topic", topic, "--partitions-used", "1"},
        {"generate", "--topic", topic, "-X", "lingr.ms=5"},
        {"generate", "--topic", topic, "-X", "acks=1"},
        {"generate", "--topic", topic, "-X", "hunter2"},
        {"verify", "--topic", topic, "--expect", "/nonexistent"},
        {"generate", "--topic", topic, "-X", "sasl.password=hunter2", "-X",
         "sasl.password=hunter2"},
        {"generate", "--topic", topic, "-X", "sasl.password=hunter2", "-X", "linger.ms=soon"}}) {
    const Ran ran = on_broker(arguments);
    EXPECT_EQ(ran.end.to_string(), "exit status 78")
        << ::testing::PrintToString(arguments) << ran.err;
    EXPECT_THAT(ran.out + ran.err, Not(HasSubstr("hunter2")));
  }
}

TEST_F(CommandLine, WhatIsGeneratedIsVerified) {
  for (const std::vector<std::string>& how :
       {std::vector<std::string>{},
        {"--format", "json", "--size", "400", "--key", "user:10"},
        {"--transactional"},
        {"--producers", "3", "--partitions-used", "0,2", "--key", "seq"},
        {"--rate", "5000"}}) {
    SCOPED_TRACE(::testing::PrintToString(how));
    const std::string topic = broker_.new_topic("cli", 3);
    std::vector<std::string> arguments = how;
    arguments.insert(arguments.end(), {"--records", "5000"});
    const std::string expect = generate(topic, arguments);
    const Ran ran = on_broker({"verify", "--topic", topic, "--expect", expect, "--json"});
    EXPECT_EQ(ran.end.to_string(), "exit status 0") << ran.out << ran.err;
    const auto json = ran.json();
    EXPECT_TRUE(json["ok"].GetBool());
    EXPECT_EQ(json["records"].GetUint64(), 5000u);
    EXPECT_EQ(json["expected"].GetUint64(), 5000u);
    EXPECT_EQ(on_broker({"verify", "--topic", topic, "--input", topic}).end.to_string(),
              "exit status 0");
  }
}

TEST_F(CommandLine, EachFaultInATopicEndsWithOneAndItsPlace) {
  const std::string topic = broker_.new_topic("cli", 2);
  const std::string expect = generate(topic, {"--records", "200", "--producer-id", "gen"});
  const auto verdict = [&] { return on_broker({"verify", "--topic", topic, "--expect", expect}); };
  ASSERT_EQ(verdict().end.status, 0);
  const RecordWriter writer({.producer = "gen", .partition = 1});
  std::string doubled;
  writer.append(17, 1'700'000'000'000'000, doubled);
  produce(topic, 1, doubled);
  produce(topic, 0, "poison");
  const Ran ran = verdict();
  EXPECT_EQ(ran.end.to_string(), "exit status 1");
  EXPECT_THAT(ran.out,
              AllOf(HasSubstr("duplicate p=gen n=1 s=17 at " + topic + "[1] offset 100"),
                    HasSubstr("unreadable at " + topic + "[0] offset 100"), HasSubstr("NOT OK")));

  const std::string output = broker_.new_topic("cli-out", 2);  // Nothing of it got there.
  const Ran lost = on_broker({"verify", "--topic", output, "--expect", expect, "--json"});
  EXPECT_EQ(lost.end.to_string(), "exit status 1");
  EXPECT_EQ(lost.json()["lost"].GetUint64(), 200u);
}

TEST_F(CommandLine, ASignalEndsGenerateWithItsSummary) {
  const std::string topic = broker_.new_topic("cli", 2);
  const Ran ran = [&] {
    Process process = start({"generate", "--brokers", broker_.bootstrap(), "--topic", topic,
                             "--rate", "2000", "--json"});
    // Once the first records are there it is running for certain.
    sluice::testing::run_program({SLUICE_PROGRAM, "verify", "--brokers", broker_.bootstrap(),
                                  "--topic", topic, "--follow-until", "100"},
                                 60s);
    process.terminate();
    return finish(process);
  }();
  EXPECT_EQ(ran.end.to_string(), "exit status 0");
  EXPECT_TRUE(ran.json()["interrupted"].GetBool());
  const std::string expect = directory_.path() / "interrupted";
  std::ofstream(expect) << ran.out;
  EXPECT_EQ(on_broker({"verify", "--topic", topic, "--expect", expect}).end.status, 0);
}

TEST_F(CommandLine, ExplainCommitNamesDecisionOwnerAndWhoHoldsReadersBack) {
  const std::string job = sluice::testing::unique_name("explained");
  const std::string out = broker_.new_topic("cli-out", 2);
  const auto place = *kafka::register_place(job);
  broker_.create_topic(place.topic, kafka::RegisterPlace::kPartitions);
  const Uuid claim = Uuid::make();
  commit(place.group,
         {kafka::encode(place, kafka::DecisionRegister{.job_id = job,
                                                       .epoch = Epoch(42),
                                                       .writer = claim,
                                                       .digest = std::string(32, 'a'),
                                                       .positions = {}}),
          kafka::encode(place,
                        kafka::OwnerRegister{.job_id = job, .claim = claim, .known = Epoch(41)})});
  // A transaction of the job's id that nobody finishes.
  const auto open = producer("sluice-" + job);
  ASSERT_EQ(rd_kafka_init_transactions(open->get(), 30'000), nullptr);
  ASSERT_EQ(rd_kafka_begin_transaction(open->get()), nullptr);
  for (int i = 0; i < 3; ++i) {
    rd_kafka_producev(open->get(), RD_KAFKA_V_TOPIC(out.c_str()), RD_KAFKA_V_PARTITION(1),
                      RD_KAFKA_V_VALUE(const_cast<char*>("x"), 1), RD_KAFKA_V_END);
  }
  ASSERT_EQ(rd_kafka_flush(open->get(), 10'000), RD_KAFKA_RESP_ERR_NO_ERROR);

  const Ran ran = on_broker({"explain-commit", "--job", job, "--json"});
  ASSERT_EQ(ran.end.to_string(), "exit status 0") << ran.err;
  const auto json = ran.json();
  EXPECT_STREQ(json["registers"]["checksums"].GetString(), "fit");
  EXPECT_EQ(json["registers"]["decision"]["checkpoint"].GetUint64(), 42u);
  EXPECT_TRUE(json["registers"]["decision"]["committed_ms"].IsInt64()) << ran.out;
  EXPECT_EQ(json["registers"]["owner"]["claim"].GetString(), claim.to_string());
  EXPECT_STREQ(json["transaction"]["state"].GetString(), "Ongoing");
  ASSERT_EQ(json["partitions"].Size(), 1u) << ran.out;
  const auto& partition = json["partitions"][0];
  EXPECT_EQ(partition["partition"].GetInt(), 1);
  EXPECT_EQ(partition["last_stable"].GetInt64(), 0);
  EXPECT_EQ(partition["high_watermark"].GetInt64(), 3);
  ASSERT_EQ(partition["held_by"].Size(), 1u);
  EXPECT_EQ(partition["held_by"][0]["transactional_id"].GetString(), "sluice-" + job);

  const Ran text = on_broker({"explain-commit", "--job", job, "--topics", out});
  EXPECT_THAT(text.out, AllOf(HasSubstr("checkpoint 42"), HasSubstr(out + "[0] 0 = high watermark"),
                              HasSubstr("3 offsets held back")));

  // Somebody resets the group: the checksum no longer fits.
  commit(place.group, {{place.decision(), 7, {}}});
  const Ran damaged = on_broker({"explain-commit", "--job", job});
  EXPECT_EQ(damaged.end.to_string(), "exit status 65");
  EXPECT_THAT(damaged.out, HasSubstr("damaged"));
}

}  // namespace
}  // namespace sluice::tools
