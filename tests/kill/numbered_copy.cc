// The job of the kill runs and of bench/kafka: topics -> number -> topic, exactly once, everything settable.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <sluice/sluice.h>

using namespace sluice;

namespace {

/// Writes `c=<number>;` in front of the value: behind it stand the fields of the generator.
Record write_number(const Record& in, std::uint64_t number, Arena& arena) {
  Record out = in;
  char text[32];
  const auto size = static_cast<std::size_t>(std::snprintf(text, sizeof text, "c=%llu;", static_cast<unsigned long long>(number)));
  char* const bytes = arena.allocate(size + in.value.size());
  std::memcpy(bytes, text, size);
  if (in.value.size() > 0) std::memcpy(bytes + size, in.value.data(), in.value.size());
  out.value = Bytes(bytes, size + in.value.size());
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  std::string brokers = "127.0.0.1:9092", name = "numbered-copy", out = "out", directory, group = "numbered-copy";
  std::vector<std::string> in{"in"};
  int interval_ms = 100, timeout_ms = 60'000, tolerable = 3, restarts = -1;
  unsigned shards = 1;
  std::size_t hold_bytes = 64u << 20, buffer_bytes = 64u << 20;
  bool numbered = true, bounded = false, reset = false;
  std::vector<std::string> properties;
  std::string partition = "keep";
  CLI::App app{"Copies topics into one, numbered by source partition, exactly once."};
  app.add_option("--brokers", brokers)->capture_default_str();
  app.add_option("--name", name, "of the job")->capture_default_str();
  app.add_option("--in", in, "topics")->capture_default_str();
  app.add_option("--out", out, "topic")->capture_default_str();
  app.add_option("--group", group)->capture_default_str();
  app.add_option("--directory", directory, "of the checkpoints (default: state/<name>)");
  app.add_option("--interval-ms", interval_ms, "between checkpoints")->capture_default_str();
  app.add_option("--transaction-timeout-ms", timeout_ms)->capture_default_str();
  app.add_option("--tolerable-failures", tolerable)->capture_default_str();
  app.add_option("--restarts", restarts, "attempts after a failure, in a row; -1: no limit")->capture_default_str();
  app.add_option("--shards", shards)->capture_default_str();
  app.add_option("--hold-bytes", hold_bytes, "output behind a barrier")->capture_default_str();
  app.add_option("--buffer-bytes", buffer_bytes, "fetched and not yet processed")->capture_default_str();
  app.add_option("--partition", partition, "keep | hash")->capture_default_str();
  app.add_option("-X", properties, "client property key=value");
  app.add_flag("!--no-number", numbered, "without the stateful operator: positions only");
  app.add_flag("--bounded", bounded, "stop at the end as it is at the start");
  app.add_flag("--reset-decision", reset, "forget what is decided");
  CLI11_PARSE(app, argc, argv);

  using std::chrono::milliseconds;
  Job job{name};
  job.checkpoint({.interval = milliseconds(interval_ms), .tolerable_failures = static_cast<std::uint32_t>(tolerable),
                  .directory = directory});
  job.shards(static_cast<std::uint16_t>(shards));
  job.options.hold_bytes_max = hold_bytes;
  job.options.reset_decision = reset;
  if (restarts == 0) job.options.restart.strategy = RestartOptions::Strategy::kNone;
  if (restarts > 0) job.options.restart.attempts_max = static_cast<std::uint32_t>(restarts);
  kafka::Properties given;
  for (const std::string& property : properties) {
    const auto equals = property.find('=');
    given[property.substr(0, equals)] = equals == std::string::npos ? "" : property.substr(equals + 1);
  }
  auto source = kafka::source<Record>({.brokers = brokers, .topics = in, .group = group, .start = kafka::earliest(),
                                       .stop = bounded ? kafka::latest() : kafka::never(),
                                       .discovery_interval = std::chrono::seconds(5),
                                       .buffer_bytes_max = buffer_bytes, .properties = given});
  auto sink = kafka::sink<Record>({.brokers = brokers, .topic = out,
                                   .partitioner = partition == "hash" ? kafka::hash_murmur2() : kafka::keep(),
                                   .transaction_timeout = milliseconds(timeout_ms), .properties = given});
  auto events = job.from(source, "in");
  if (numbered) {
    events.process<Record>("number", number<Record>(write_number)).to(sink, "out");
  } else {
    events.to(sink, "out");
  }
  return run(std::move(job));
}
