// Goal: the programs that the README shows do what it says of them, on a real broker where they need one.
#include <chrono>
#include <fstream>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <support/broker.h>
#include <support/process.h>

namespace sluice::testing {
namespace {

using ::testing::ElementsAre;
using namespace std::chrono_literals;

std::filesystem::path example(const std::string& name) {
  return std::filesystem::canonical("/proc/self/exe").parent_path() / name;
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Process start(const TempDirectory& directory, std::vector<std::string> arguments) {
  Process::Options options;
  options.arguments = std::move(arguments);
  options.directory = directory.path();
  options.stdout_file = directory.path() / "stdout";
  options.stderr_file = directory.path() / "stderr";
  return Process(std::move(options));
}

/// Values of a topic, read_committed, by Kafka's own client.
std::vector<std::string> values(const std::string& topic, int count) {
  std::istringstream text(run_program({(source_directory() / "tools" / "read").string(), topic, "--dump", "--wait-for",
                                       std::to_string(count), "--timeout", "40", "--brokers", SharedBroker::get().bootstrap()},
                                      60s));
  std::vector<std::string> found;
  for (std::string line; std::getline(text, line);) {
    std::istringstream cut(line);
    std::string field;
    for (int i = 0; i < 5 && std::getline(cut, field, '\t'); ++i) {
    }
    if (line.starts_with(topic + "\t")) found.push_back(field);
  }
  return found;
}

void produce(const std::string& topic, const std::string& partition, const std::string& lines) {
  const TempDirectory directory;
  std::ofstream(directory.path() / "lines") << lines;
  (void)run_program({"sh", "-c", "kcat -P -b " + SharedBroker::get().bootstrap() + " -t " + topic + " -p " + partition + " < " +
                                     (directory.path() / "lines").string()},
                    30s);
}

TEST(Examples, HelloSaysItEachTime) {
  const TempDirectory directory;
  for (int time = 0; time < 2; ++time) {
    const auto ended = start(directory, {example("hello")}).wait(30s);
    ASSERT_TRUE(ended && ended->ok()) << contents(directory.path() / "stderr");
  }
  EXPECT_EQ(contents(directory.path() / "stdout"), "hello, exactly\nhello, once\nhello, exactly\nhello, once\n");
}

TEST(Examples, APipelineInVirtualTime) {
  const TempDirectory directory;
  const auto ended = start(directory, {example("virtual_time")}).wait(30s);
  ASSERT_TRUE(ended && ended->ok()) << contents(directory.path() / "stderr");
  EXPECT_EQ(contents(directory.path() / "stdout"),
            "on 1 shard:  bo 0 1\non 1 shard:  eve 0 2\nheld by partition 1, silent\non 2 shards: eve 60000 2\n");
}

TEST(Examples, ACustomSourceIntoACustomSink) {
  const TempDirectory directory;
  const auto ended = start(directory, {example("custom_source_sink"), "squares.txt"}).wait(30s);
  ASSERT_TRUE(ended && ended->ok()) << contents(directory.path() / "stderr");
  std::string expected;
  for (long i = 1; i <= 1000; ++i) expected += std::to_string(i * i) + "\n";
  EXPECT_EQ(contents(directory.path() / "squares.txt"), expected);
}

// Which side is ahead is nobody's to say, so the order of rows is not given.
std::multiset<std::string> lines_of(const std::string& program) {
  const TempDirectory directory;
  const auto ended = start(directory, {example(program)}).wait(30s);
  EXPECT_TRUE(ended && ended->ok()) << contents(directory.path() / "stderr");
  std::istringstream text(contents(directory.path() / "stdout"));
  std::multiset<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.insert(line);
  return lines;
}
TEST(Examples, ALookupJoinNamesEachOrderOnceItsCustomerIsKnown) {
  EXPECT_EQ(lines_of("lookup_join"), (std::multiset<std::string>{"1 by Ada", "2 by Blaise", "3 by Ada"}));
}
TEST(Examples, AnIntervalJoinSaysWhatIsUnpaidOnceNoPaymentCanCome) {
  EXPECT_EQ(lines_of("interval_join"), (std::multiset<std::string>{"order 1 was paid 250", "order 1 was paid 750", "order 2 is unpaid",
                                                                   "order 3 was paid 100"}));
}
TEST(Examples, AWindowJoinPairsWhatIsInTheSameTenSeconds) {
  EXPECT_EQ(lines_of("window_join"), (std::multiset<std::string>{"lamp at 20 was seen by ada", "chair at 50 was not seen",
                                                                 "lamp at 18 was seen by eve"}));
}

// S2: an integer at an interval, the process killed again and again.
TEST(Examples, EveryIntegerOnceInOrderHoweverOftenItIsKilled) {
  const TempDirectory directory;
  const std::string topic = SharedBroker::get().new_topic("integers", 1);
  for (int kill = 0; kill < 4; ++kill) {
    Process job = start(directory, {example("every_two_seconds"), SharedBroker::get().bootstrap(), topic, "40", "60"});
    if (job.wait(1200ms)) break;  // All sixty are out.
    (void)job.kill();
  }
  const auto ended = start(directory, {example("every_two_seconds"), SharedBroker::get().bootstrap(), topic, "40", "60"}).wait(60s);
  ASSERT_TRUE(ended && ended->ok()) << contents(directory.path() / "stderr");
  std::vector<std::string> expected;
  for (int i = 1; i <= 60; ++i) expected.push_back(std::to_string(i));
  EXPECT_EQ(values(topic, 60), expected);
}

// S1: two rules, the first that matches wins, every other byte as it was.
TEST(Examples, IdentityRewriteChangesOnlyWhatItsRulesMatch) {
  const TempDirectory directory;
  for (const std::string topic : {"events-a", "events-b", "events-clean"}) {
    try {
      SharedBroker::get().create_topic(topic, 1);
    } catch (const std::runtime_error&) {  // There already: the names are the example's own.
    }
  }
  produce("events-a", "0", R"({"id":9007199254740993,"identityUri":"user/getById/13782","x":"\u00e9 é"})" "\n");
  produce("events-b", "0", R"({"identityUri":"user/123e4567-e89b-12d3-a456-426614174000", "n": 1.50})" "\n"
                           R"({"identityUri":"user/all","identityUri2":"a/1"})" "\n"
                           R"({"other":"a/1"})" "\n");
  Process job = start(directory, {example("identity_rewrite"), SharedBroker::get().bootstrap(), "state"});
  const auto out = values("events-clean", 4);
  job.terminate();
  const auto ended = job.wait(30s);
  EXPECT_TRUE(ended && ended->ok()) << contents(directory.path() / "stderr");
  EXPECT_THAT(out, ::testing::IsSupersetOf({R"({"id":9007199254740993,"identityUri":"user/getById/{}","x":"\\u00e9 é"})",
                                            R"({"identityUri":"user/{uuid}", "n": 1.50})",
                                            R"({"identityUri":"user/all","identityUri2":"a/1"})", R"({"other":"a/1"})"}));
}

}  // namespace
}  // namespace sluice::testing
