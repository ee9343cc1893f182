// Goal: situations that users of such engines meet (the numbers are those of the case list), on a real broker.
// Method: the copy job, small inputs, the Java reader; each case asserts the value that is right.
#include <signal.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <support/broker.h>
#include <support/process.h>

#include "run.h"

namespace sluice::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

CopyRun::Options copy_of(const std::string& name) {
  CopyRun::Options options;
  options.name = name;
  options.brokers = options.direct = SharedBroker::get().bootstrap();
  return options;
}

std::string read(const std::vector<std::string>& arguments) {
  std::vector<std::string> command{(source_directory() / "tools" / "read").string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  command.insert(command.end(), {"--brokers", SharedBroker::get().bootstrap()});
  return run_program(std::move(command), 60s);
}

/// Lines of a dump: topic, partition, offset, key, value, headers, timestamp.
std::vector<std::vector<std::string>> dump(const std::string& topic, int count) {
  std::istringstream text(read({topic, "--dump", "--wait-for", std::to_string(count), "--timeout", "30"}));
  std::vector<std::vector<std::string>> lines;
  for (std::string line; std::getline(text, line);) {
    std::vector<std::string> fields;
    std::istringstream cut(line);
    for (std::string field; std::getline(cut, field, '\t');) fields.push_back(field);
    if (fields.size() >= 5) lines.push_back(std::move(fields));
  }
  return lines;
}

/// Produces lines with kcat: `key:value` where a separator is given; an empty value with `-Z` is null.
void produce(const std::string& topic, const std::string& lines, std::vector<std::string> more = {}) {
  TempDirectory directory;
  const auto file = directory.path() / "lines";
  std::ofstream(file) << lines;
  std::string command = "kcat -P -b " + SharedBroker::get().bootstrap() + " -t " + topic;
  for (const std::string& argument : more) command += " " + argument;
  (void)run_program({"sh", "-c", command + " < " + file.string()}, 30s);
}

/// Lets a topic take records of 4 MB.
void widen(const std::string& topic) {
  const std::string kafka = (source_directory() / "tools" / "kafka").string();
  (void)run_program({"sh", "-c", "java -cp \"$(" + kafka + " classpath)\" org.apache.kafka.tools.ConfigCommand --bootstrap-server " +
                                     SharedBroker::get().bootstrap() + " --alter --entity-type topics --entity-name " + topic +
                                     " --add-config max.message.bytes=4000000"},
                    60s);
}

std::string log_of(const CopyRun& run) {
  std::ifstream file(run.log());
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(CaseS02, AQuietTopicDoesNotStopTheJobFromStartingAgain) {
  CopyRun run(copy_of("s02"));
  run.generate(5);
  Process first = run.start_job({});
  ASSERT_FALSE(first.wait(3s)) << run.log_tail();  // Some sixty quiet intervals.
  (void)first.kill();
  run.generate(5);
  EXPECT_EQ(run.drain(30s).to_string(), "exit status 0");
  const Verdict verdict = run.verify();
  EXPECT_TRUE(verdict.right) << verdict.text;
  EXPECT_THAT(log_of(run), Not(HasSubstr("INVALID_TXN_STATE")));
  EXPECT_THAT(log_of(run), Not(HasSubstr("fenced")));
}

/// Deletes a topic and makes it again under its name.
void make_anew(const std::string& topic, int partitions) {
  const std::string kafka = (source_directory() / "tools" / "kafka").string();
  const std::string& brokers = SharedBroker::get().bootstrap();
  (void)run_program({kafka, "topic", "delete", topic, "--bootstrap", brokers}, 60s);
  // Deleted a moment after the answer; and the offsets of its groups a moment later.
  for (int tries = 0;; ++tries) {
    std::this_thread::sleep_for(500ms);
    try {
      create_topic(brokers, topic, partitions);
      return;
    } catch (const std::runtime_error&) {
      if (tries > 20) throw;
    }
  }
}

TEST(CaseS16, ATopicMadeAnewAndShorterIsNotReadFromTheOldPosition) {
  CopyRun::Options options = copy_of("s16");
  options.partitions = 1;
  CopyRun run(options);
  run.generate(1000);
  ASSERT_EQ(run.drain(30s).to_string(), "exit status 0") << run.log_tail();
  make_anew(run.in(), 1);
  run.generate(10);
  Process job = run.start_job({});
  const auto ended = job.wait(30s);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->to_string(), "exit status 65") << run.log_tail();
  EXPECT_THAT(run.log_tail(), AllOf(HasSubstr("1000"), HasSubstr("10"), HasSubstr("made anew"), HasSubstr("out_of_range")));
}

TEST(CaseS16, NorIsOneThatHasGrownBeyondIt) {
  CopyRun::Options options = copy_of("s16-longer");
  options.partitions = 1;
  CopyRun run(options);
  run.generate(100);
  ASSERT_EQ(run.drain(30s).to_string(), "exit status 0") << run.log_tail();
  make_anew(run.in(), 1);
  run.generate(500);
  Process job = run.start_job({});
  const auto ended = job.wait(30s);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->to_string(), "exit status 65") << run.log_tail();
  EXPECT_THAT(run.log_tail(), AllOf(HasSubstr("offset 100"), HasSubstr("made anew"), HasSubstr("--reset-decision")));
}

TEST(CaseS03, RecoveringAgainAndAgainFromTheSameCheckpoint) {
  CopyRun run(copy_of("s03"));
  run.generate(1000);
  ASSERT_EQ(run.drain(30s).to_string(), "exit status 0") << run.log_tail();
  run.generate(1000);
  for (int time = 0; time < 5; ++time) {
    Process job = run.start_job({"SLUICE_KILL_AT=" + std::string(time % 2 == 0 ? "recovery.restored" : "begin.done")});
    const auto ended = job.wait(30s);
    ASSERT_TRUE(ended && ended->signal == SIGKILL) << run.log_tail();
  }
  EXPECT_EQ(run.drain(30s).to_string(), "exit status 0");
  const Verdict verdict = run.verify();
  EXPECT_TRUE(verdict.right) << verdict.text;
}

TEST(CaseS05, ARecordACheckpoint) {
  CopyRun run(copy_of("s05"));
  run.start_generator(10);
  Process job = run.start_job({});
  ASSERT_FALSE(job.wait(8s)) << run.log_tail();
  (void)job.kill();
  const Verdict verdict = run.finish();
  EXPECT_TRUE(verdict.right) << verdict.text;
}

class CaseS06 : public ::testing::TestWithParam<std::string> {};
TEST_P(CaseS06, TheOutcomeOfACommitIsFoundOut) {
  CopyRun run(copy_of("s06"));
  run.generate(5000);
  Process job = run.start_job({"SLUICE_KILL_AT=" + GetParam()});
  const auto ended = job.wait(30s);
  ASSERT_TRUE(ended && ended->signal == SIGKILL) << run.log_tail();
  EXPECT_EQ(run.drain(30s).to_string(), "exit status 0");
  const Verdict verdict = run.verify();
  EXPECT_TRUE(verdict.right) << verdict.text;
}
INSTANTIATE_TEST_SUITE_P(CrashedAt, CaseS06, ::testing::Values("checkpoint.durable:2", "commit.before:2", "commit.sent:3"),
                         [](const auto& param) { return "point" + std::to_string(param.index); });

TEST(CaseS10, AbortedRecordsAreNoData) {
  // Given ten committed records, five aborted, ten committed,
  CopyRun run(copy_of("s10"));
  run.generate(10);
  Process::Options aborting;
  aborting.arguments = {program("abort_some"), SharedBroker::get().bootstrap(), run.in(), "5"};
  ASSERT_TRUE(Process(std::move(aborting)).wait(30s).value_or(Process::End{1, 0}).ok());
  run.generate(10);
  // when the job copies with its default settings, then twenty come out, and no gap is reported.
  EXPECT_EQ(run.drain(30s).to_string(), "exit status 0");
  const Verdict verdict = run.verify();
  EXPECT_TRUE(verdict.right) << verdict.text;
  EXPECT_EQ(dump(run.out(), 20).size(), 20u);
  EXPECT_THAT(log_of(run), Not(HasSubstr("lost")));
}

TEST(CaseS11, BoundedInputEndsBeforeTheFirstIntervalAndEverythingIsThere) {
  CopyRun::Options options = copy_of("s11");
  options.interval_ms = 50'000;
  CopyRun run(std::move(options));
  run.generate(10);
  EXPECT_EQ(run.drain(30s).to_string(), "exit status 0") << run.log_tail();
  EXPECT_EQ(dump(run.out(), 10).size(), 10u);
}

TEST(CaseS13, TheLastRecordsComeOutThoughNothingFollows) {
  CopyRun run(copy_of("s13"));
  run.generate(7);
  Process job = run.start_job({});
  EXPECT_EQ(dump(run.out(), 7).size(), 7u);  // While the job runs.
  EXPECT_TRUE(job.running());
  job.terminate();
  const auto ended = job.wait(30s);
  EXPECT_TRUE(ended && ended->ok());
}

TEST(CaseS14, TheSinkRefusesOneRecordAndThePositionDoesNotPassIt) {
  // Given a record in the middle that the output topic does not take,
  CopyRun::Options options = copy_of("s14");
  options.partitions = 1;
  options.arguments = {"--restarts", "1"};
  CopyRun run(std::move(options));
  produce(run.in(), "one\n");
  widen(run.in());
  produce(run.in(), std::string(2'000'000, 'x') + "\n", {"-X", "message.max.bytes=3000000"});
  produce(run.in(), "three\n");
  const auto first = run.drain(30s);
  // then the job stops and says which one and why, and what is behind it is not lost:
  EXPECT_NE(first.status, 0);
  EXPECT_THAT(log_of(run), HasSubstr(run.in()));
  EXPECT_THAT(log_of(run), HasSubstr("offset 1"));
  // once the topic takes it, all three arrive.
  widen(run.out());
  run.add_arguments({"-X", "message.max.bytes=4000000"});
  EXPECT_EQ(run.drain(60s).to_string(), "exit status 0") << run.log_tail();
  const auto lines = dump(run.out(), 3);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0][4], "c=1;one");
  EXPECT_EQ(lines[2][4], "c=3;three");
}

TEST(CaseS21, TombstonesStayTombstones) {
  CopyRun::Options options = copy_of("s21");
  options.partitions = 1;
  options.numbered = false;
  CopyRun run(std::move(options));
  produce(run.in(), "k1:{\"v\":1}\nk2:{\"v\":2}\nk1:\n", {"-K:", "-Z"});
  EXPECT_EQ(run.drain(30s).to_string(), "exit status 0") << run.log_tail();
  const auto lines = dump(run.out(), 3);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0][4], "{\"v\":1}");
  EXPECT_EQ(lines[2][3], "k1");
  EXPECT_EQ(lines[2][4], "\\N");
}

TEST(CaseS55, KeysGoWhereJavaProducersPutThem) {
  CopyRun::Options options = copy_of("s55");
  options.partitions = 10;
  options.numbered = false;
  options.arguments = {"--partition", "hash"};
  CopyRun run(std::move(options));
  const std::vector<std::string> keys{"meter-001", "meter-002", "meter-003", "meter-004", "meter-005", "zähler-7", "計-1", "TT0124"};
  std::string lines;
  for (const std::string& key : keys) lines += key + ":v\n";
  produce(run.in(), lines, {"-K:"});
  EXPECT_EQ(run.drain(30s).to_string(), "exit status 0") << run.log_tail();
  std::map<std::string, std::string> placed;
  for (const auto& line : dump(run.out(), 8)) placed[line[3]] = line[1];
  std::vector<std::string> partitions;
  for (const std::string& key : keys) partitions.push_back(placed[key]);
  EXPECT_THAT(partitions, ElementsAre("8", "1", "6", "4", "5", "7", "8", "0"));
}

// ---- bad input: status, message with place and remedy, within 30 s, nothing lost ----

TEST(BadInput, AMissingTopicIsNamedAndNotMade) {
  CopyRun::Options options = copy_of("missing");
  options.arguments = {"--in", "no-such-topic-ordres"};
  CopyRun run(std::move(options));
  Process job = run.start_job({});
  const auto ended = job.wait(30s);
  ASSERT_TRUE(ended) << run.log_tail();
  EXPECT_EQ(ended->status, 78) << run.log_tail();
  EXPECT_THAT(run.log_tail(), HasSubstr("no-such-topic-ordres"));
}

TEST(BadInput, AnUnreachableBrokerIsNamed) {
  CopyRun::Options options = copy_of("unreachable");
  options.brokers = "127.0.0.1:9";
  CopyRun run(std::move(options));
  Process job = run.start_job({});
  const auto ended = job.wait(30s);
  ASSERT_TRUE(ended) << run.log_tail();
  EXPECT_EQ(ended->status, 69) << run.log_tail();
  EXPECT_THAT(run.log_tail(), HasSubstr("127.0.0.1:9"));
}

TEST(BadInput, ATransactionTimeoutAboveTheBrokersIsRefusedWithBothNumbers) {
  CopyRun::Options options = copy_of("timeout");
  options.arguments = {"--transaction-timeout-ms", "3600000"};
  CopyRun run(std::move(options));
  Process job = run.start_job({});
  const auto ended = job.wait(30s);
  ASSERT_TRUE(ended) << run.log_tail();
  EXPECT_EQ(ended->status, 78);
  EXPECT_THAT(run.log_tail(), HasSubstr("3600000"));
  EXPECT_THAT(run.log_tail(), HasSubstr("900000"));
}

TEST(BadInput, AStateDirectoryInUseNamesItsHolder) {
  CopyRun run(copy_of("in-use"));
  Process first = run.start_job({});
  ASSERT_FALSE(first.wait(3s)) << run.log_tail();
  Process second = run.start_job({});
  const auto ended = second.wait(30s);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->status, 73);
  EXPECT_THAT(run.log_tail(), HasSubstr(std::to_string(first.pid())));
  EXPECT_TRUE(first.running());
}

TEST(BadInput, ALostStateDirectoryStopsTheJobUntilAPersonDecides) {
  CopyRun run(copy_of("lost-state"));
  run.generate(100);
  ASSERT_EQ(run.drain(30s).to_string(), "exit status 0") << run.log_tail();
  std::filesystem::remove_all(run.state());
  Process again = run.start_job({});
  const auto ended = again.wait(30s);
  ASSERT_TRUE(ended) << run.log_tail();
  EXPECT_EQ(ended->status, 65) << run.log_tail();
  EXPECT_THAT(run.log_tail(), HasSubstr("--reset-decision"));
}

TEST(BadInput, ADamagedManifestIsNamedAndNothingIsRestored) {
  CopyRun run(copy_of("damaged"));
  run.generate(100);
  ASSERT_EQ(run.drain(30s).to_string(), "exit status 0") << run.log_tail();
  int damaged = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(run.state())) {
    if (entry.path().filename() != "MANIFEST") continue;
    std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(entry.path()) / 2));
    file.put('\x7f');
    ++damaged;
  }
  ASSERT_GT(damaged, 0);
  Process again = run.start_job({});
  const auto ended = again.wait(30s);
  ASSERT_TRUE(ended) << run.log_tail();
  EXPECT_EQ(ended->status, 65) << run.log_tail();
  EXPECT_THAT(run.log_tail(), HasSubstr("MANIFEST"));
}

TEST(BadInput, ALostRegisterStopsTheJob) {
  CopyRun run(copy_of("lost-register"));
  run.generate(100);
  ASSERT_EQ(run.drain(30s).to_string(), "exit status 0") << run.log_tail();
  (void)run_program({(source_directory() / "tools" / "kafka").string(), "topic", "delete", "sluice-" + run.job() + "-decisions",
                     "--bootstrap", SharedBroker::get().bootstrap()},
                    30s);
  Process again = run.start_job({});
  const auto ended = again.wait(30s);
  ASSERT_TRUE(ended) << run.log_tail();
  EXPECT_EQ(ended->status, 65) << run.log_tail();
  EXPECT_THAT(run.log_tail(), HasSubstr("--reset-decision"));
}

}  // namespace
}  // namespace sluice::testing
