// Goal: pipelines of a file do on a real broker what the file says, from the first check to the
// drained end. Method: the program as a child process; records in and out by librdkafka alone.
#include <gmock/gmock.h>
#include <signal.h>

#include "program.h"
#include "topics.h"
#include <algorithm>
#include <set>
#include <thread>

namespace sluice::tools {
namespace {

using sluice::testing::SharedBroker;
using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::example;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Program;
using testing::Ran;
using testing::TopicRecord;
using testing::Topics;
using ::testing::UnorderedElementsAre;
using namespace std::chrono_literals;

class PipelineRun : public ::testing::Test {
 protected:
  PipelineRun() { program_.environment = {"BROKERS=" + broker_.bootstrap()}; }

  // A pipeline of one source and one sink, with topics and a job of its own; `part` is by name.
  struct Texts {
    std::string top = {};
    std::string source = {};  // Behind the source's kafka section.
    std::string operators = {};
    std::string input = "in";  // Of the sink.
    std::string kafka = {};    // Within the sink's kafka section.
    std::string sink = {};     // Behind it.
    bool dead = false;
  };
  std::string pipeline(const Texts& texts) {
    return "version: 1\nname: " + job_ + "\ncheckpoint: {interval: 100ms, directory: state}\n" +
           texts.top +
           "connections: {main: {brokers: \"${BROKERS}\"}}\nsources:\n  in: {kafka: "
           "{connection: main, topics: [" +
           in_ + "], group: " + job_ + "}" + texts.source + "}\n" + texts.operators +
           "sinks:\n  out: {input: " + texts.input + ", kafka: {connection: main, topic: " + out_ +
           texts.kafka + "}" + texts.sink + "}\n" +
           (texts.dead ? "  dead: {kafka: {connection: main, topic: " + dead_ + "}}\n" : "");
  }
  void create_topics(int partitions = 1, int out_partitions = 1) const {
    broker_.create_topic(in_, partitions);
    broker_.create_topic(out_, out_partitions);
    broker_.create_topic(dead_, 1);
  }
  Ran run_file(const std::string& text, std::vector<std::string> more = {"--set", "sources.in.kafka.stop=latest"}) {
    program_.file("p.yaml", text);
    more.insert(more.begin(), {"run", "p.yaml"});
    return program_.run(more);
  }

  const SharedBroker& broker_ = SharedBroker::get();
  const Topics topics_{broker_.bootstrap()};
  Program program_;
  const std::string job_ = sluice::testing::unique_name("yaml");
  const std::string in_ = job_ + "-in", out_ = job_ + "-out", dead_ = job_ + "-dead";
};

TEST_F(PipelineRun, ThePipelineOfTheDocumentationRunsAsPrinted) {
  // Its topics have fixed names: what other runs on the same broker left there is told apart.
  const std::string mine = job_;
  for (const char* topic : {"events-a", "events-b", "events-clean", "events-dead"}) {
    if (!topics_.exists(topic)) broker_.create_topic(topic, 2);
  }
  std::vector<TopicRecord> a, b;
  for (int i = 0; i < 500; ++i) {
    const std::string number = std::to_string(i);
    a.push_back({.key = mine,
                 .value = R"({"n":)" + number + R"(, "identityUri": "user/getById/)" + number +
                          R"(", "run":")" + mine + "\"}"});
    b.push_back({.key = mine,
                 .value = R"({"identityUri":"user/list","b":)" + number + "}",
                 .partition = i % 2});
  }
  topics_.produce("events-a", a);
  topics_.produce("events-b", b);
  const std::string file = example("identity-rewrite.yaml");
  EXPECT_EQ(program_.run({"validate", file}).out, file + ": ok\n");
  // A run before this one on the same broker has decided something for a job of this name.
  const Ran ran = program_.run({"run", file, "--from", "none", "--until-idle", "5s"});
  EXPECT_EQ(ran.end.to_string(), "exit status 0") << ran.err;
  EXPECT_EQ(ran.out, "");
  std::multiset<std::string> expected, found;
  for (int i = 0; i < 500; ++i) {
    const std::string number = std::to_string(i);
    expected.insert(R"({"n":)" + number + R"(, "identityUri": "user/getById/{}", "run":")" + mine +
                    "\"}");
    expected.insert(R"({"identityUri":"user/list","b":)" + number + "}");
  }
  for (const TopicRecord& record : topics_.read("events-clean")) {
    if (record.key == mine) found.insert(*record.value);
  }
  EXPECT_EQ(found, expected);
}

TEST_F(PipelineRun, EveryOperatorWorksTogether) {
  for (const std::string topic : {"orders", "refunds", "settled", "dead"}) {
    broker_.create_topic(job_ + topic, 1);
  }
  std::string text;
  {
    std::ifstream file(example("every-operator.yaml"));
    text = {std::istreambuf_iterator<char>(file), {}};
  }
  topics_.produce(job_ + "orders", {{.value = R"({"id":"order-1","amount":50})"},
                                    {.value = R"({"id":"order-2","amount":150.50})"},
                                    {.value = "no document"},
                                    {.value = R"({"id":"order-3","amount":900})"}});
  topics_.produce(job_ + "refunds", {{.value = R"({"id":"refund-1","amount":3})"}});
  const Ran ran = [&] {
    program_.file("p.yaml", text);
    return program_.run({"run", "p.yaml", "--until-idle", "5s", "--set", "name=" + job_, "--set",
                         "sources.orders.kafka.topics=[" + job_ + "orders]", "--set",
                         "sources.refunds.kafka.topics=[" + job_ + "refunds]", "--set",
                         "sinks.out.kafka.topic=" + job_ + "settled", "--set",
                         "sinks.dead.kafka.topic=" + job_ + "dead"});
  }();
  EXPECT_EQ(ran.end.to_string(), "exit status 0") << ran.err;
  EXPECT_THAT(topics_.values(job_ + "settled"),
              UnorderedElementsAre(R"({"id":"o-2","amount":150.50,"checked":true})",
                                   R"({"id":"o-3","amount":900,"checked":true})",
                                   R"({"id":"r-1","amount":3,"checked":true})"));
  EXPECT_THAT(topics_.values(job_ + "dead"), ElementsAre("no document"));
  std::set<std::string> numbers;
  for (const TopicRecord& record : topics_.read(job_ + "settled")) {
    if (record.headers.contains("number")) numbers.insert(record.headers.at("number"));
  }
  EXPECT_THAT(numbers,
              ElementsAre("2", "3"));  // The first order was too small, the third no order.
}

// ---- what the start finds ----

TEST_F(PipelineRun, S18TopicsThatDoNotExistStandInOneListAndAreNotCreated) {
  for (const char* command : {"validate", "run"}) {
    program_.file("p.yaml", pipeline({}));
    const Ran ran = program_.run({command, "p.yaml"});
    EXPECT_EQ(ran.end.to_string(), "exit status 78") << command << ran.out << ran.err;
    EXPECT_THAT(ran.out + ran.err,
                AllOf(HasSubstr("p.yaml:6:3: error E030"), HasSubstr("p.yaml:8:3: error E030"),
                      HasSubstr(in_), HasSubstr(out_), HasSubstr(broker_.bootstrap())))
        << command;
  }
  EXPECT_FALSE(topics_.exists(in_));
  EXPECT_FALSE(topics_.exists(out_));
}

TEST_F(PipelineRun, S08ATransactionTimeoutAboveTheBrokersIsRefusedWithBothNumbers) {
  create_topics();
  const Ran ran = run_file(pipeline({.kafka = ", transaction_timeout: 1h"}));
  EXPECT_EQ(ran.end.to_string(), "exit status 78");
  EXPECT_THAT(ran.err,
              AllOf(HasSubstr("900000"), HasSubstr("3600000"), HasSubstr("transaction_timeout"),
                    HasSubstr("transaction.max.timeout.ms")));
}

TEST_F(PipelineRun, S58NoSecretIsInAnyLineFileOrArgument) {
  create_topics();
  program_.file("secret", "K3y-77ab\n");
  program_.environment.push_back("T_PASSWORD=S3cr3t-9f2");
  std::string text = pipeline({});
  const std::string connection = "{brokers: \"${BROKERS}\"}";
  text.replace(text.find(connection), connection.size(),
               "{brokers: \"${BROKERS}\", properties: {security.protocol: sasl_plaintext, "
               "sasl.mechanism: PLAIN, sasl.username: u, sasl.password: \"${T_PASSWORD}\", "
               "ssl.key.password: {file: secret}, debug: all}}");
  program_.file("p.yaml", text);
  std::string all;
  for (const char* command : {"plan", "run"}) {  // validate asks as run does.
    const Ran ran = program_.run({command, "p.yaml"});
    if (command != std::string("plan")) {
      EXPECT_EQ(ran.end.to_string(), "exit status 69") << command << ran.out;
    }
    all += ran.out + ran.err;
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(program_.directory())) {
    if (!entry.is_regular_file() || entry.path().filename() == "secret") continue;
    all += program_.content(std::filesystem::relative(entry.path(), program_.directory()));
  }
  EXPECT_THAT(all, Not(HasSubstr("S3cr3t-9f2")));
  EXPECT_THAT(all, Not(HasSubstr("K3y-77ab")));
  EXPECT_THAT(all, HasSubstr("(secret)"));
}

// ---- bad records ----

const std::vector<TopicRecord> kBad = {
    {.key = "1", .value = R"({"id":1})"},
    {.key = "2", .value = R"({"id":2)", .headers = {{"trace", "t2"}}},
    {.key = "3", .value = ""},
    {.key = "4", .value = std::nullopt},
    {.key = "5", .value = R"({"id":4})"}};

TEST_F(PipelineRun, S46ABadRecordFailsTheJobWithItsPlace) {
  create_topics();
  topics_.produce(in_, kBad);
  const Ran ran =
      run_file(pipeline({.top = "restart: {strategy: none}\n", .source = ", format: json"}));
  EXPECT_NE(ran.end.status, 0);
  EXPECT_THAT(ran.err, AllOf(HasSubstr(in_), HasSubstr("offset 1"), HasSubstr("at byte 7 of 7")));
}

TEST_F(PipelineRun, S46BadRecordsAreLeftOut) {
  create_topics();
  topics_.produce(in_, kBad);
  const Ran ran = run_file(pipeline({.source = ", format: json, on_error: skip"}));
  EXPECT_EQ(ran.end.to_string(), "exit status 0") << ran.err;
  EXPECT_THAT(topics_.values(out_), ElementsAre(R"({"id":1})", "(null)", R"({"id":4})"));
}

TEST_F(PipelineRun, S46BadRecordsGoToTheSinkForThemAsTheyWere) {
  create_topics();
  topics_.produce(in_, kBad);
  const Ran ran =
      run_file(pipeline({.source = ", format: json, on_error: {send_to: dead}", .dead = true}));
  EXPECT_EQ(ran.end.to_string(), "exit status 0") << ran.err;
  EXPECT_THAT(topics_.values(out_), ElementsAre(R"({"id":1})", "(null)", R"({"id":4})"));
  const auto dead = topics_.read(dead_);
  ASSERT_EQ(dead.size(), 2u);
  EXPECT_EQ(dead[0].value, R"({"id":2)");
  EXPECT_EQ(dead[0].key, "2");
  EXPECT_EQ(dead[0].headers.at("trace"), "t2");
  EXPECT_EQ(dead[0].headers.at("sluice.source.topic"), in_);
  EXPECT_EQ(dead[0].headers.at("sluice.source.partition"), "0");
  EXPECT_EQ(dead[0].headers.at("sluice.source.offset"), "1");
  EXPECT_THAT(dead[0].headers.at("sluice.error"), HasSubstr("not JSON"));
  EXPECT_EQ(dead[1].value, "");
}

TEST_F(PipelineRun, S48AFramedDocumentIsNamedAsOne) {
  create_topics();
  topics_.produce(in_, {{.value = std::string("\0\0\0\0\x2a", 5) + R"({"id":1})"}});
  const Ran ran =
      run_file(pipeline({.source = ", format: json, on_error: {send_to: dead}", .dead = true}));
  EXPECT_EQ(ran.end.to_string(), "exit status 0") << ran.err;
  const auto dead = topics_.read(dead_);
  ASSERT_EQ(dead.size(), 1u);
  EXPECT_THAT(dead[0].headers.at("sluice.error"),
              AllOf(HasSubstr("schema id 42"), HasSubstr("on_error")));
}

TEST_F(PipelineRun, S53ARecordThatIsTooLargeStopsTheJobOrGoesToTheSinkForIt) {
  create_topics();
  std::vector<TopicRecord> records(99, {.value = std::string(100, 'x')});
  records.insert(records.begin() + 49, {.value = std::string(2'000'000, 'y')});
  sluice::testing::create_topic(broker_.bootstrap(), in_ + "-big", 1,
                                {"max.message.bytes=5000000"});
  topics_.produce(in_ + "-big", records);
  const auto text = [&](Texts texts) {
    std::string all = pipeline(texts);
    return all.replace(all.find("topics: [" + in_), 9 + in_.size(), "topics: [" + in_ + "-big");
  };
  const Ran ran = run_file(text({.top = "restart: {strategy: none}\n"}));
  EXPECT_NE(ran.end.status, 0);
  EXPECT_THAT(ran.err,
              AllOf(HasSubstr(in_ + "-big"), HasSubstr("offset 49"), HasSubstr("2000000")));
  EXPECT_LE(topics_.values(out_).size(), 49u);
  // With larger limits of the client and of the topic for such records, one goes there.
  broker_.create_topic(dead_ + "-big", 1, {"max.message.bytes=5000000"});
  const Ran again = run_file(
      text({.sink = ", on_error: {send_to: dead}", .dead = true}),
      {"--until-idle", "5s", "--set", "connections.main.properties.message.max.bytes=5000000",
       "--set", "sinks.dead.kafka.topic=" + dead_ + "-big"});
  EXPECT_EQ(again.end.to_string(), "exit status 0") << again.err;
  EXPECT_EQ(topics_.values(out_).size(), 99u);
  const auto dead = topics_.read(dead_ + "-big");
  ASSERT_EQ(dead.size(), 1u);
  EXPECT_EQ(dead[0].headers.at("sluice.source.offset"), "49");
  EXPECT_EQ(dead[0].value->size(), 2'000'000u);
}

// ---- keys ----

TEST_F(PipelineRun, S54NullAndEmptyKeysStayWhatTheyAre) {
  create_topics(1, 10);
  topics_.produce(in_, {{.value = "n1"},
                        {.key = "", .value = "e1"},
                        {.value = "n2"},
                        {.key = "", .value = "e2"},
                        {.value = "n3"},
                        {.key = "a", .value = "a1"}});
  const Ran ran = run_file(pipeline({}));
  EXPECT_EQ(ran.end.to_string(), "exit status 0") << ran.err;
  int null = 0, empty = 0;
  for (const TopicRecord& record : topics_.read(out_)) {
    null += record.key ? 0 : 1;
    if (record.key != "") continue;
    ++empty;
    EXPECT_EQ(record.partition, 1);  // Where Java's producers put the empty key.
  }
  EXPECT_EQ(null, 3);
  EXPECT_EQ(empty, 2);
}

TEST_F(PipelineRun, AKeyIsLeftOutWhereTheFileSaysSo) {
  create_topics();
  topics_.produce(in_, {{.key = "k", .value = "v"}});
  EXPECT_EQ(run_file(pipeline({.kafka = ", key: none"})).end.status, 0);
  const auto out = topics_.read(out_);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_FALSE(out[0].key.has_value());
}

TEST_F(PipelineRun, AKeyIsTakenFromAFieldWhereTheFileSaysSo) {
  create_topics();
  topics_.produce(in_, {{.key = "old", .value = R"({"id":"a\u00e9"})"},
                        {.key = "old", .value = R"({"id":9007199254740993})"},
                        {.key = "old", .value = R"({"id":null})"},
                        {.key = "old", .value = std::nullopt}});
  EXPECT_EQ(run_file(pipeline({.kafka = ", key: {field: /id}"})).end.status, 0);
  std::vector<std::string> keys;
  for (const TopicRecord& record : topics_.read(out_))
    keys.push_back(record.key.value_or("(null)"));
  EXPECT_THAT(keys, ElementsAre("a\u00e9", "9007199254740993", "(null)", "old"));
}

// ---- S56 ----

TEST_F(PipelineRun, S56EveryCodecIsReadAndWritten) {
  for (const std::string codec : {"none", "gzip", "snappy", "lz4", "zstd"}) {
    const std::string in = in_ + codec, out = out_ + codec;
    broker_.create_topic(in, 1, {"compression.type=" + (codec == "none" ? "uncompressed" : codec)});
    broker_.create_topic(out, 1);
    std::vector<TopicRecord> records;
    for (int i = 1; i <= 1000; ++i) records.push_back({.value = std::to_string(i)});
    topics_.produce(in, records);
    const Ran ran =
        run_file(pipeline({}),
                 {"--set", "sources.in.kafka.stop=latest", "--set", "name=" + job_ + codec, "--set",
                  "checkpoint.directory=state-" + codec, "--set",
                  "sources.in.kafka.topics=[" + in + "]", "--set", "sinks.out.kafka.topic=" + out,
                  "--set", "sinks.out.kafka.properties.compression.type=" + codec});
    EXPECT_EQ(ran.end.to_string(), "exit status 0") << codec << ran.err;
    long sum = 0;
    for (const std::string& value : topics_.values(out)) sum += std::stol(value);
    EXPECT_EQ(sum, 500'500) << codec;
  }
}

// ---- S52, S68: stops ----

TEST_F(PipelineRun, S68StopsDrainAndNothingIsReadTwice) {
  constexpr int kRecords = 50'000, kStops = 6;
  create_topics(2, 2);
  std::vector<TopicRecord> records;
  for (int i = 0; i < kRecords; ++i) {
    records.push_back(
        {.key = std::to_string(i % 20), .value = std::to_string(i), .partition = i % 2});
  }
  topics_.produce(in_, records);
  program_.file("p.yaml", pipeline({.kafka = ", partition: keep"}));
  program_.environment.push_back("SLUICE_METRICS_FILE=metrics");
  long read = 0;
  for (int i = 0; i <= kStops; ++i) {
    const bool last = i == kStops;
    auto process =
        program_.start(last ? std::vector<std::string>{"run", "p.yaml", "--until-idle", "5s"}
                            : std::vector<std::string>{"run", "p.yaml"});
    // During start-up the first time, then later and later; two signals at once in between.
    std::this_thread::sleep_for(std::chrono::milliseconds(last ? 0 : 40 + 250 * i));
    if (!last) process.signal(i == 3 ? SIGINT : SIGTERM);
    if (i == 4) process.signal(SIGTERM);
    const auto before = std::chrono::steady_clock::now();
    const Ran ran = program_.finish(process);
    // Before the handler is there a signal ends the process as it always did.
    const bool early = i == 0 && ran.end.signal == SIGTERM;
    EXPECT_TRUE(early || ran.end.to_string() == "exit status 0") << ran.end.to_string() << ran.err;
    EXPECT_TRUE(last || std::chrono::steady_clock::now() - before < 10s);
    std::ifstream metrics(program_.directory() / "metrics");
    for (std::string name, value; metrics >> name >> value;) {
      if (name == "sluice_source_records_total") read += std::stol(value);
    }
    std::filesystem::remove(program_.directory() / "metrics");
  }
  std::map<std::string, long> before;  // S52: the order of each key.
  long count = 0;
  for (const TopicRecord& record : topics_.read(out_)) {
    const long number = std::stol(*record.value);
    const auto at = before.find(*record.key);
    EXPECT_TRUE(at == before.end() || number == at->second + 20) << number;
    before[*record.key] = number;
    ++count;
  }
  EXPECT_EQ(count, kRecords);
  EXPECT_EQ(read, kRecords);
}

TEST_F(PipelineRun, StopFindsTheJobAndWaitsForItsEnd) {
  create_topics();
  program_.file("p.yaml", pipeline({}));
  topics_.produce(in_, {{.value = "v"}});
  auto job = program_.start({"run", "p.yaml"});
  for (int i = 0; i < 200 && topics_.values(out_).empty(); ++i) std::this_thread::sleep_for(50ms);
  EXPECT_EQ(sluice::testing::run_program(
                {"bash", "-c",
                 "cd " + program_.directory().string() + " && " SLUICE_PROGRAM " stop p.yaml 2>&1"},
                60s),
            "sluice stop: process " + std::to_string(job.pid()) +
                " drains: it takes a last checkpoint and ends\n");
  EXPECT_EQ(program_.finish(job).end.to_string(), "exit status 0");
  EXPECT_THAT(topics_.values(out_), ElementsAre("v"));
}

TEST_F(PipelineRun, ASecondJobOnTheSameDirectoryEndsWith73) {
  create_topics();
  program_.file("p.yaml", pipeline({}));
  auto job = program_.start({"run", "p.yaml"});
  for (int i = 0; i < 200 && !std::filesystem::exists(program_.directory() / "state/lock"); ++i) {
    std::this_thread::sleep_for(20ms);
  }
  const Ran second = program_.run({"run", "p.yaml"});
  EXPECT_EQ(second.end.to_string(), "exit status 73") << second.err;
  EXPECT_THAT(second.err, HasSubstr(std::to_string(job.pid())));
  job.terminate();
  EXPECT_TRUE(job.wait(20s).has_value());
}

}  // namespace
}  // namespace sluice::tools
