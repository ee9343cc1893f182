// Goal: the commands that need no broker do what their help says, with the documented statuses.
// Method: build/<preset>/bin/sluice as a child process in a directory of its own.
#include <gmock/gmock.h>

#include "program.h"
#include <algorithm>
#include <chrono>
#include <filesystem>

namespace sluice::tools {
namespace {

using ::testing::AllOf;
using testing::example;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Program;
using testing::Ran;
using ::testing::StartsWith;
using namespace std::chrono_literals;

class PipelineCommand : public ::testing::Test {
 protected:
  const Program program_;
};

constexpr const char* kWrong = R"(version: 1
name: wrong
chekpoint: {interval: 1s}
guarantee: once
connections:
  main: {brokers: "127.0.0.1:9092"}
sources:
  in: {kafka: {connection: main, topics: [in], group: g}}
sinks:
  out: {input: inn, kafka: {connection: main, topic: out}}
)";

constexpr const char* kWrongProblems =
    "wrong.yaml:3:1: error E006: a pipeline has no key \"chekpoint\"; did you mean "
    "\"checkpoint\"?\n"
    "wrong.yaml:4:12: error E008: guarantee is \"once\", but possible is exactly_once, "
    "at_least_once or none\n"
    "wrong.yaml:8:3: error E014: nothing reads the source \"in\"; name it as an input, or remove "
    "it\n"
    "wrong.yaml:10:16: error E012: there is no source or operator \"inn\"; did you mean \"in\"?\n";

TEST_F(PipelineCommand, ValidateListsAllProblemsAndEndsWith78) {
  program_.file("wrong.yaml", kWrong);
  const Ran ran = program_.run({"validate", "wrong.yaml", "--offline"});
  EXPECT_EQ(ran.end.to_string(), "exit status 78");
  EXPECT_EQ(ran.out, std::string(kWrongProblems) + "wrong.yaml: 4 errors\n");
  EXPECT_EQ(ran.err, "");
}

TEST_F(PipelineCommand, RunOfAWrongFileStartsNothing) {
  program_.file("wrong.yaml", kWrong);
  const Ran ran = program_.run({"run", "wrong.yaml"});
  EXPECT_EQ(ran.end.to_string(), "exit status 78");
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ran.err, std::string(kWrongProblems) +
                         "sluice run: wrong.yaml: 4 errors; nothing was started\n");
  EXPECT_FALSE(std::filesystem::exists(program_.directory() / "state"));
}

TEST_F(PipelineCommand, ValidatePrintsOneObject) {
  program_.file("wrong.yaml", kWrong);
  const auto json = program_.run({"validate", "wrong.yaml", "--offline", "--json"}).json();
  EXPECT_EQ(json["schema_version"].GetInt(), 1);
  EXPECT_FALSE(json["ok"].GetBool());
  ASSERT_EQ(json["problems"].Size(), 4u);
  EXPECT_STREQ(json["problems"][0]["code"].GetString(), "E006");
  EXPECT_EQ(json["problems"][0]["line"].GetInt(), 3);
  EXPECT_STREQ(json["problems"][0]["hint"].GetString(), "did you mean \"checkpoint\"?");
}

TEST_F(PipelineCommand, ValidateAnswersOfflineWithin100Milliseconds) {
  auto best = 10'000ms;
  for (int i = 0; i < 5; ++i) {  // The machine may be busy; what it can do is the least of five.
    const auto before = std::chrono::steady_clock::now();
    const Ran ran = program_.run({"validate", "--offline", example("identity-rewrite.yaml")});
    const auto took = std::chrono::steady_clock::now() - before;
    EXPECT_EQ(ran.end.to_string(), "exit status 0") << ran.out;
    best = std::min(best, std::chrono::duration_cast<std::chrono::milliseconds>(took));
  }
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer takes " << best.count()
               << " ms: that says nothing about the program";
#endif
  EXPECT_LT(best, 100ms);
}

TEST_F(PipelineCommand, AFileThatIsNotThereOrADirectoryIsSaidSo) {
  EXPECT_EQ(program_.run({"validate", "absent.yaml"}).out,
            "absent.yaml: error E001: cannot be read: No such file or directory\n"
            "absent.yaml: 1 error\n");
  const Ran ran = program_.run({"validate", "."});
  EXPECT_EQ(ran.end.to_string(), "exit status 78");
  EXPECT_THAT(ran.out, HasSubstr("error E001: cannot be read: it is a directory"));
}

TEST_F(PipelineCommand, WrongUsageAndWhatCannotBeDoneYetEndWith2) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"run"},
                                                    {"run", "x.yaml", "--from", "savepoint-1"},
                                                    {"run", "x.yaml", "--max-records", "5"},
                                                    {"run", "x.yaml", "--io", "floppy"},
                                                    {"run", "x.yaml", "--until-idle", "5"},
                                                    {"validate"},
                                                    {"plan", "x.yaml", "--format", "svg"},
                                                    {"stop"},
                                                    {"completion", "tcsh"},
                                                    {"explain"},
                                                    {"explain", "nonsense"}}) {
    const Ran ran = program_.run(arguments);
    EXPECT_EQ(ran.end.to_string(), "exit status 2")
        << ::testing::PrintToString(arguments) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_NE(ran.err, "");
  }
  EXPECT_THAT(program_.run({"run", "x.yaml", "--from", "p"}).err,
              HasSubstr("starting from a savepoint is not supported yet"));
}

TEST_F(PipelineCommand, ExamplesPassTheirOwnTests) {
  std::size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator(example(""))) {
    const Ran ran = program_.run({"test", file.path()});
    EXPECT_EQ(ran.end.to_string(), "exit status 0") << file.path() << ran.out << ran.err;
    EXPECT_EQ(ran.err, "");
    ++count;
  }
  EXPECT_GE(count, 10u);
}

TEST_F(PipelineCommand, PlanShowsBothSidesOfAJoin) {
  const Ran plan = program_.run({"plan", example("interval-join.yaml")});
  EXPECT_EQ(plan.end.to_string(), "exit status 0");
  EXPECT_THAT(plan.out, HasSubstr("operator  paid             join left with payments between -1m and "
                                  "30m by /id = /order  <- orders, payments\n"));
}

TEST_F(PipelineCommand, ATestThatFailsSaysWhereAndHow) {
  const Ran ran =
      program_.run({"test", example("identity-rewrite.yaml"), "--set", "tests.0.expect.0=other"});
  EXPECT_EQ(ran.end.to_string(), "exit status 1");
  EXPECT_THAT(ran.out, AllOf(StartsWith("FAILED "), HasSubstr("rewrite: value 1 differs"),
                             HasSubstr("expected other"),
                             HasSubstr("got      {\"identityUri\":\"user/getById/{}\"}"),
                             HasSubstr("0 of 1 passed")));
}

TEST_F(PipelineCommand, PlanShowsGraphSettingsAndOrigins) {
  const std::string file = example("identity-rewrite.yaml");
  const Ran text = program_.run({"plan", file, "--origins", "--set", "shards=2"});
  EXPECT_EQ(text.end.to_string(), "exit status 0");
  EXPECT_THAT(text.out, HasSubstr("operator  rewrite          json_replace  <- events  (refused -> "
                                  "dead)\n"));
  EXPECT_THAT(text.out, ::testing::ContainsRegex("shards: 2 +# --set shards\n"));
  EXPECT_THAT(text.out, ::testing::ContainsRegex("checkpoint.timeout: 10m +# default\n"));
  EXPECT_THAT(text.out, ::testing::ContainsRegex("checkpoint.keep: 3 +# .*yaml:4:34\n"));
  const auto json = program_.run({"plan", file, "--format", "json"}).json();
  EXPECT_EQ(json["graph"].Size(), 4u);
  EXPECT_STREQ(json["pipeline"].GetString(), "identity-rewrite");
  const Ran dot = program_.run({"plan", file, "--format", "dot"});
  EXPECT_THAT(dot.out, AllOf(StartsWith("digraph \"identity-rewrite\" {"),
                             HasSubstr("\"rewrite\" -> \"out\";"),
                             HasSubstr("\"rewrite\" -> \"dead\" [style=dashed")));
}

TEST_F(PipelineCommand, VariablesOfAFileAreThereAndThoseOfTheEnvironmentStandAbove) {
  program_.file("env", "# brokers\nBROKERS=from-file:1\n\n");
  const auto brokers = [&](const Program& program) {
    return program.run({"plan", example("identity-rewrite.yaml"), "--env-file", "env"}).out;
  };
  EXPECT_THAT(brokers(program_), HasSubstr("connections.main.brokers: from-file:1\n"));
  Program other;
  other.environment = {"BROKERS=from-environment:1"};
  other.file("env", "BROKERS=from-file:1\n");
  EXPECT_THAT(brokers(other), HasSubstr("connections.main.brokers: from-environment:1\n"));
  program_.file("env", "hunter2\n");
  const Ran ran = program_.run({"plan", example("identity-rewrite.yaml"), "--env-file", "env"});
  EXPECT_EQ(ran.end.to_string(), "exit status 78");
  EXPECT_EQ(ran.err, "sluice plan: --env-file env:1: not of the form NAME=VALUE\n");
}

TEST_F(PipelineCommand, StopWithoutAJobSaysSoAndEndsWith1) {
  const Ran ran = program_.run({"stop", example("identity-rewrite.yaml")});
  EXPECT_EQ(ran.end.to_string(), "exit status 1");
  EXPECT_THAT(ran.err, HasSubstr("there is no state directory"));
  std::filesystem::create_directory(program_.directory() / "state");
  EXPECT_EQ(program_.run({"stop", "--directory", "state"}).err,
            "sluice stop: no job runs on \"state\"\n");
}

TEST_F(PipelineCommand, CompletionsAndManualNameAllCommands) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Ran ran = program_.run({"completion", shell});
    EXPECT_EQ(ran.end.to_string(), "exit status 0");
    for (const char* word : {"validate", "explain-commit", "until-idle"}) {
      EXPECT_THAT(ran.out, HasSubstr(word)) << shell;
    }
  }
  program_.file("completion.bash", program_.run({"completion", "bash"}).out);
  EXPECT_EQ(
      sluice::testing::run_program(
          {"bash", "-c",
           "source " + (program_.directory() / "completion.bash").string() +
               "; COMP_WORDS=(sluice val); COMP_CWORD=1; _sluice; echo ${COMPREPLY[@]}; "
               "COMP_WORDS=(sluice run --until); COMP_CWORD=2; _sluice; echo ${COMPREPLY[@]}"},
          10s),
      "validate\n--until-idle\n");
  const Ran man = program_.run({"man"});
  EXPECT_THAT(man.out, AllOf(StartsWith(".TH SLUICE 1"), HasSubstr(".SS \"sluice run\""),
                             HasSubstr("\\-\\-until\\-idle"), HasSubstr(".SH EXIT STATUS")));
}

TEST_F(PipelineCommand, ExplainKnowsCodesKeysAndPrintsTheSchema) {
  EXPECT_THAT(program_.run({"explain", "E012"}).out, StartsWith("E012: a name that nothing has\n"));
  EXPECT_THAT(program_.run({"explain", "checkpoint.interval"}).out, HasSubstr("default  1s"));
  EXPECT_EQ(program_.run({"explain", "--schema"}).json()["title"].GetString(),
            std::string("A pipeline of sluice"));
}

TEST_F(PipelineCommand, AClusterThatNobodyReachesEndsWith69) {
  const Ran ran = program_.run({"validate", example("identity-rewrite.yaml"), "--set",
                                "connections.main.brokers=127.0.0.1:1"});
  EXPECT_EQ(ran.end.to_string(), "exit status 69") << ran.out;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("error E030"), HasSubstr("127.0.0.1:1")));
  // The connection is asked once, not once for each source and sink.
  EXPECT_EQ(std::ranges::count(ran.out, '\n'), 2) << ran.out;
}

}  // namespace
}  // namespace sluice::tools
