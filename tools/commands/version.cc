#include <sluice/version.h>

#include "commands/command.h"
#include "commands/json_output.h"
#include <boost/version.hpp>
#include <librdkafka/rdkafka.h>

#include <array>

namespace sluice::tools {

namespace {

constexpr std::array<const char*, 5> kCodecs{"none", "gzip", "snappy", "lz4", "zstd"};

// Asked, not assumed: librdkafka refuses a codec that it was built without, here and not at the
// first send.
std::vector<std::string> codecs_built_in() {
  std::vector<std::string> codecs;
  rd_kafka_conf_t* const conf = rd_kafka_conf_new();
  for (const char* const codec : kCodecs) {
    std::array<char, 256> why{};
    if (rd_kafka_conf_set(conf, "compression.codec", codec, why.data(), why.size()) ==
        RD_KAFKA_CONF_OK) {
      codecs.emplace_back(codec);
    }
  }
  rd_kafka_conf_destroy(conf);
  return codecs;
}

std::string features_built_in() {
  std::array<char, 512> features{};
  std::size_t size = features.size();
  rd_kafka_conf_t* const conf = rd_kafka_conf_new();
  rd_kafka_conf_get(conf, "builtin.features", features.data(), &size);
  rd_kafka_conf_destroy(conf);
  return features.data();
}

#if defined(__clang__)
constexpr const char* kCompiler = "clang " __clang_version__;
#else
constexpr const char* kCompiler = "gcc " __VERSION__;
#endif

}  // namespace

Command add_version(CLI::App& root) {
  CLI::App& app =
      *root.add_subcommand("version", "Print the versions of sluice and of what it was built with");
  const auto output = std::make_shared<Output>();
  app.add_flag("--json", output->json, "Print one JSON object");
  app.footer("Exit status: 0, or 2 for wrong usage.");
  return {&app, [output]() -> Result<ExitStatus> {
            const auto codecs = codecs_built_in();
            if (output->json) {
              JsonOutput out("version");
              out.field("sluice", SLUICE_VERSION);
              out.field("librdkafka", rd_kafka_version_str());
              out.array("codecs", [&] {
                for (const std::string& codec : codecs) out.value(codec);
              });
              out.field("librdkafka_features", features_built_in());
              out.field("compiler", kCompiler);
              out.field("build", SLUICE_BUILD_TYPE);
              out.field("boost", BOOST_LIB_VERSION);
              out.print();
            } else {
              fmt::print(
                  "sluice {}\nlibrdkafka {}\ncodecs {}\nlibrdkafka features {}\ncompiler {}, {} "
                  "build\nBoost {}\n",
                  SLUICE_VERSION, rd_kafka_version_str(), fmt::join(codecs, " "),
                  features_built_in(), kCompiler, SLUICE_BUILD_TYPE, BOOST_LIB_VERSION);
            }
            return ExitStatus::kDone;
          }};
}

}  // namespace sluice::tools
