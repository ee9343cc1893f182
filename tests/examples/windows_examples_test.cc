// Goal: the examples of operators, windows and of what is kept of a key say what their rules say.
// Method: the programs as a user starts them, without a broker; their lines, sorted where keys come in no order.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <support/process.h>

namespace sluice::testing {
namespace {

using ::testing::ElementsAre;
using namespace std::chrono_literals;

std::vector<std::string> lines_of(const std::string& program, const std::string& kind, bool sorted = true) {
  const TempDirectory directory;
  Process::Options options;
  options.arguments = {std::filesystem::canonical("/proc/self/exe").parent_path() / program, kind};
  options.directory = directory.path();
  options.stdout_file = directory.path() / "stdout";
  options.stderr_file = directory.path() / "stderr";
  const auto ended = Process(std::move(options)).wait(30s);
  EXPECT_TRUE(ended && ended->ok()) << program << " " << kind;
  std::ifstream file(directory.path() / "stdout");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  if (sorted) std::ranges::sort(lines);
  return lines;
}

TEST(WindowExamples, Tumbling) {
  EXPECT_THAT(lines_of("windows", "tumbling"), ElementsAre("Bronx [0, 60): (1, 700)", "Bronx [180, 240): (1, 400)",
                                                           "Bronx [60, 120): (2, 800)", "Queens [0, 60): (1, 900)",
                                                           "Queens [120, 180): (1, 100)"));
}
TEST(WindowExamples, Sliding) {
  EXPECT_THAT(lines_of("windows", "sliding"),
              ElementsAre("Bronx [-60, 60): 700", "Bronx [0, 120): 700", "Bronx [120, 240): 400", "Bronx [180, 300): 400",
                          "Bronx [60, 180): 500", "Queens [-60, 60): 900", "Queens [0, 120): 900", "Queens [120, 240): 100",
                          "Queens [60, 180): 100"));
}
TEST(WindowExamples, Session) {
  // The ride of second 20 is late: its minute is over.
  EXPECT_THAT(lines_of("windows", "session"), ElementsAre("Bronx [0, 60): 1", "Bronx [200, 260): 1", "Bronx [61, 125): 2",
                                                          "Queens [10, 70): 1", "Queens [130, 190): 1"));
}
TEST(WindowExamples, Calendar) {
  EXPECT_THAT(lines_of("windows", "calendar"), ElementsAre("Bronx [-68400, 18000): 390", "Queens [-68400, 18000): 500"));
}
TEST(WindowExamples, Global) {
  EXPECT_THAT(lines_of("windows", "global"), ElementsAre("Bronx: [400]", "Bronx: [500, 50]", "Bronx: [700, 300]", "Queens: [900, 100]"));
}
TEST(WindowExamples, Early) {
  // All rides come in one batch, so time moves once before the end: one early row a key.
  EXPECT_THAT(lines_of("windows", "early"),
              ElementsAre("Bronx [0, 240): 5", "Bronx [0, 240): 5", "Queens [0, 240): 2", "Queens [0, 240): 2"));
}
TEST(WindowExamples, Late) {
  EXPECT_THAT(lines_of("windows", "late"),
              ElementsAre("Bronx [0, 60): 700", "Bronx [180, 240): 400", "Bronx [60, 120): 500", "Queens [0, 60): 900",
                          "Queens [120, 180): 100", "late: Bronx, 50 cents"));
}

TEST(RunningExamples, Deduplicate) {
  EXPECT_THAT(lines_of("running", "deduplicate", false),
              ElementsAre("b1: 10 for the vase", "b2: 30 for the lamp", "b3: 25 for the vase", "b4: 20 for the vase", "b5: 5 for the vase",
                          "b2: 30 for the lamp"));
}
TEST(RunningExamples, TopN) {
  EXPECT_THAT(lines_of("running", "top_n", false),
              ElementsAre("vase: Ann 10", "lamp: Bob 30", "vase: Ann 10 Ann 10", "vase: Bob 25 Ann 10", "vase: Bob 25 Ann 20",
                          "lamp: Bob 30 Bob 30"));
}
TEST(RunningExamples, CountDistinct) {
  EXPECT_THAT(lines_of("running", "count_distinct", false), ElementsAre("vase: 1", "lamp: 1", "vase: 2"));
}


TEST(OperatorExamples, Chain) {
  EXPECT_THAT(lines_of("operators", "chain", false),
              ElementsAre("seen: Ann", "seen: Bob", "seen: Ann", "Ann, part", "Bob, part", "Bob, part", "Bob, part", "Bob, part",
                          "Ann, part"));
}
TEST(OperatorExamples, Union) {
  EXPECT_THAT(lines_of("operators", "union"), ElementsAre("Ann 200", "Ann 300", "Bob 1500", "Cyd 40", "Dee 10"));
}
TEST(OperatorExamples, Split) {
  EXPECT_THAT(lines_of("operators", "split"), ElementsAre("Ann 200", "Ann 300", "Cyd 40", "large: Bob 1500"));
}
TEST(OperatorExamples, Rebalance) {
  EXPECT_THAT(lines_of("operators", "rebalance"), ElementsAre("Ann 200", "Ann 300", "Bob 1500", "Cyd 40"));
}
TEST(OperatorExamples, Broadcast) {
  EXPECT_THAT(lines_of("operators", "broadcast"),
              ElementsAre("Ann 200", "Ann 200", "Ann 300", "Ann 300", "Bob 1500", "Bob 1500", "Cyd 40", "Cyd 40"));
}
TEST(OperatorExamples, Connect) {
  // Ann's second order waits for a payment that does not come, or it is the first that does.
  EXPECT_THAT(lines_of("operators", "connect"), ElementsAre("Ann", "Bob", "Cyd"));
}
TEST(OperatorExamples, Timers) {
  EXPECT_THAT(lines_of("operators", "timers"), ElementsAre("Ann is silent", "Bob is silent", "Cyd is silent", "large: Bob 1500"));
}
TEST(OperatorExamples, OperatorState) {
  EXPECT_THAT(lines_of("operators", "operator_state", false), ElementsAre("1: Ann 300", "2: Bob 1500", "3: Ann 200", "4: Cyd 40"));
}
TEST(OperatorsOnKeysExamples, Value) {
  EXPECT_THAT(lines_of("operators_on_keys", "value"), ElementsAre("Ann: 1", "Ann: 2", "Ann: 3", "Bob: 1", "Bob: 2"));
}
TEST(OperatorsOnKeysExamples, List) {
  EXPECT_THAT(lines_of("operators_on_keys", "list"),
              ElementsAre("Ann: vase", "Ann: vase lamp", "Ann: vase lamp vase", "Bob: lamp", "Bob: lamp lamp"));
}
TEST(OperatorsOnKeysExamples, Map) {
  EXPECT_THAT(lines_of("operators_on_keys", "map"), ElementsAre("Ann: lamp 1200 vase 300", "Ann: lamp 1200 vase 600", "Ann: vase 300",
                                                                "Bob: lamp 1500", "Bob: lamp 2400"));
}
TEST(OperatorsOnKeysExamples, Reducing) {
  EXPECT_THAT(lines_of("operators_on_keys", "reducing"), ElementsAre("Ann: 1200", "Ann: 1200", "Ann: 300", "Bob: 1500", "Bob: 1500"));
}
TEST(OperatorsOnKeysExamples, Aggregating) {
  EXPECT_THAT(lines_of("operators_on_keys", "aggregating"), ElementsAre("Ann: 300", "Ann: 600", "Ann: 750", "Bob: 1200", "Bob: 1500"));
}
TEST(OperatorsOnKeysExamples, TimeToLive) {
  EXPECT_THAT(lines_of("operators_on_keys", "time_to_live"), ElementsAre("Ann: 1", "Ann: 1", "Ann: 2", "Bob: 1", "Bob: 1"));
}

}  // namespace
}  // namespace sluice::testing
