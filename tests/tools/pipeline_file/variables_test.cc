// Goal: what stands above the file (--set, the environment) and beside it (variables, secrets)
// arrives, never adds keys by accident, and secrets are never shown (S57, S58). Method: texts with
// an environment of their own, secrets in a directory of their own.
#include "pipeline_file/overrides.h"
#include "pipeline_file/plan.h"
#include "pipeline_file/settings.h"
#include <support/process.h>

#include "problems_of.h"
#include <fstream>

namespace sluice::tools {
namespace {

using sluice::testing::TempDirectory;
using testing::Parts;
using testing::problems_of;

Overlay with(std::initializer_list<std::pair<std::string, std::string>> variables,
             std::vector<std::string> settings = {}) {
  Overlay options{.settings = std::move(settings)};
  for (const auto& [name, value] : variables) options.environment.set(name, value);
  return options;
}

std::string value_of(const Loaded& loaded, const std::string& path) {
  for (const Setting& setting : settings_of(*loaded.pipeline.root)) {
    if (setting.path == path) return setting.value + " # " + setting.origin;
  }
  return "(none)";
}

Parts brokers(const std::string& text) { return {.connection = "{brokers: \"" + text + "\"}"}; }

TEST(Variables, AreFilledInAndHaveDefaults) {
  const auto value = [](const std::string& text, const Overlay& options) {
    const Loaded loaded = load_text(brokers(text).text(), "p.yaml", ".", options);
    EXPECT_TRUE(loaded.problems.ok());
    return loaded.pipeline.connections.front().brokers;
  };
  EXPECT_EQ(value("${T_HOST}:1", with({{"T_HOST", "kafka"}})), "kafka:1");
  EXPECT_EQ(value("${T_HOST:-local}:1", with({})), "local:1");
  EXPECT_EQ(value("${T_HOST:-local}:1", with({{"T_HOST", ""}})), "local:1");
  EXPECT_EQ(value("${T_A:-a},${T_B:-b:2}", with({})), "a,b:2");
  EXPECT_EQ(value("$${x", with({})), "${x");
}

TEST(Variables, ThatAreNotSetOrNotWrittenProperlyAreNamed) {
  EXPECT_EQ(problems_of(brokers("${T_NOT_SET}").text()),
            "p.yaml:4:19: error E010: the environment has no variable T_NOT_SET; set it, or give a "
            "default: ${T_NOT_SET:-…}\n"
            "p.yaml:4:19: error E020: connections.main.brokers: \"\" is no list of brokers: write "
            "host:port, separated by commas\n");
  EXPECT_EQ(problems_of(brokers("a${b").text()).substr(0, 66),
            "p.yaml:4:19: error E010: a ${ has no } behind it; write $${ for th");
  EXPECT_EQ(problems_of(brokers("${1 x}").text()).substr(0, 54),
            "p.yaml:4:19: error E010: ${1 x} names no variable; wri");
}

TEST(Variables, CannotAddKeysToTheFile) {
  const Loaded loaded = load_text(Parts{.top = "shards: ${T_SHARDS}\n"}.text(), "p.yaml", ".",
                                  with({{"T_SHARDS", "2\nguarantee: none"}}));
  EXPECT_FALSE(loaded.problems.ok());
  EXPECT_EQ(loaded.pipeline.guarantee, Delivery::kExactlyOnce);
}

TEST(Overrides, AFlagStandsAboveTheEnvironmentAndThatAboveTheFile) {
  const std::string text = Parts{.top = "shards: 2\ncheckpoint: {keep: 5}\n"}.text();
  const auto shards = [&](const Overlay& options) {
    return value_of(load_text(text, "p.yaml", ".", options), "shards");
  };
  EXPECT_EQ(shards(with({})), "2 # p.yaml:3:9");
  EXPECT_EQ(shards(with({{"SLUICE_SHARDS", "3"}})), "3 # SLUICE_SHARDS");
  EXPECT_EQ(shards(with({{"SLUICE_SHARDS", "3"}}, {"shards=4"})), "4 # --set shards");
  const Loaded loaded =
      load_text(text, "p.yaml", ".", with({{"SLUICE_CHECKPOINT_INTERVAL", "50ms"}}));
  EXPECT_EQ(value_of(loaded, "checkpoint.interval"), "50ms # SLUICE_CHECKPOINT_INTERVAL");
  EXPECT_EQ(value_of(loaded, "checkpoint.keep"), "5 # p.yaml:4:20");
  EXPECT_EQ(value_of(loaded, "checkpoint.timeout"), "10m # default");
  EXPECT_EQ(loaded.pipeline.options.checkpoint.interval, std::chrono::milliseconds(50));
}

TEST(Overrides, ReachIntoMapsListsAndProperties) {
  const Loaded loaded =
      load_text(Parts{}.text(), "p.yaml", ".",
                with({}, {"sources.in.kafka.topics.0=other", "sinks.out.kafka.topic=elsewhere",
                          "connections.main.properties.compression.type=zstd",
                          "sources.in.kafka.start={timestamp: 17}"}));
  EXPECT_TRUE(loaded.problems.ok()) << loaded.problems.sorted().front().text();
  EXPECT_EQ(loaded.pipeline.sinks.front().topic, "elsewhere");
  EXPECT_EQ(loaded.pipeline.connections.front().properties.at("compression.type").value, "zstd");
  EXPECT_EQ(value_of(loaded, "sources.in.kafka.topics"), "[\"other\"] # p.yaml:6:42");
}

TEST(Overrides, ThatAreWrongAreProblemsOfTheFlag) {
  const std::string text = Parts{}.text();
  EXPECT_EQ(problems_of(text, with({}, {"nonsense"})),
            "--set: error E022: one of the values has no \"=\" or no path; write --set "
            "checkpoint.interval=100ms\n");
  EXPECT_EQ(problems_of(text, with({}, {"name.first=x"})),
            "--set name.first: error E022: the path name.first leads through something that is no "
            "map\n");
  EXPECT_EQ(problems_of(text, with({}, {"shards=many"})),
            "--set shards: error E007: shards: \"many\" is not a whole number\n");
  EXPECT_EQ(problems_of(text, with({}, {"sharsd=1"})),
            "--set sharsd: error E006: a pipeline has no key \"sharsd\"; did you mean "
            "\"shards\"?\n");
}

// ---- secrets ----

Parts password(const std::string& value) {
  return {.connection = "{brokers: b:9092, properties: {sasl.password: " + value + "}}"};
}

TEST(Secrets, APasswordInTheFileIsAWarning) {
  EXPECT_EQ(
      problems_of(password("hunter2").text()),
      "p.yaml:4:55: warning W001: the value of sasl.password stands in the file; take it from "
      "a file, {file: PATH}, or from the environment, ${NAME}\n");
  EXPECT_EQ(problems_of(password("\"${T_PASSWORD}\"").text(), with({{"T_PASSWORD", "x"}})), "");
}

TEST(Secrets, AFileIsReadWithoutItsLastLineEndAndNotInterpreted) {
  const TempDirectory directory;
  std::ofstream(directory.path() / "secret") << "S3cr3t ${HOME}\n";
  const Loaded loaded =
      load_text(password("{file: secret}").text(), "p.yaml", directory.path(), {});
  EXPECT_TRUE(loaded.problems.ok());
  EXPECT_EQ(loaded.pipeline.connections.front().properties.at("sasl.password").value,
            "S3cr3t ${HOME}");
}

TEST(Secrets, ThatCannotBeReadAreNamed) {
  const TempDirectory directory;
  std::ofstream(directory.path() / "empty").close();
  const auto problem = [&](const std::string& file) {
    const Loaded loaded =
        load_text(password("{file: " + file + "}").text(), "p.yaml", directory.path(), {});
    return loaded.problems.ok() ? "" : loaded.problems.sorted().front().text();
  };
  EXPECT_EQ(problem("absent"),
            "p.yaml:4:62: error E017: the file \"absent\" for sasl.password does not exist");
  EXPECT_EQ(problem("empty"),
            "p.yaml:4:62: error E017: the file \"empty\" for sasl.password is empty");
  EXPECT_EQ(problem("."), "p.yaml:4:62: error E017: the file \".\" for sasl.password is no file");
}

TEST(Secrets, AreNeverShown) {
  const TempDirectory directory;
  std::ofstream(directory.path() / "secret") << "K3y-77ab";
  Parts parts;
  parts.connection =
      "{brokers: b:9092, properties: {sasl.password: \"${T_PASSWORD}\", ssl.key.password: {file: "
      "secret}, sasl.oauthbearer.client.secret: Cl13nt-55, nonsense: {file: secret}}}";
  parts.more = "nonsense: 1\n";
  const Loaded loaded =
      load_text(parts.text(), "p.yaml", directory.path(), with({{"T_PASSWORD", "S3cr3t-9f2"}}));
  std::string all = plan_text(loaded.pipeline, true) + plan_json(loaded.pipeline, true) +
                    plan_dot(loaded.pipeline);
  for (const Problem& problem : loaded.problems.sorted()) all += problem.text();
  for (const char* secret : {"S3cr3t-9f2", "K3y-77ab", "Cl13nt-55"}) {
    EXPECT_EQ(all.find(secret), std::string::npos) << secret;
  }
  EXPECT_NE(all.find("sasl.password: (secret)"), std::string::npos) << all;
}

}  // namespace
}  // namespace sluice::tools
