// The JSON job of bench/kafka through sluice: a topic to a topic, identityUri rewritten, exactly
// once.
#include <sluice/sluice.h>

#include <CLI/CLI.hpp>

#include <chrono>
#include <string>

int main(int argc, char** argv) {
  using namespace sluice;
  std::string brokers = "127.0.0.1:9092", name = "rewrite-copy", in = "in", out = "out", directory;
  int interval_ms = 100;
  bool bounded = false;
  CLI::App app{
      "Copies a topic into another and rewrites identityUri of its JSON documents, exactly once."};
  app.add_option("--brokers", brokers)->capture_default_str();
  app.add_option("--name", name, "of the job and its group")->capture_default_str();
  app.add_option("--in", in, "topic")->capture_default_str();
  app.add_option("--out", out, "topic")->capture_default_str();
  app.add_option("--directory", directory, "of the checkpoints (default: state/<name>)");
  app.add_option("--interval-ms", interval_ms, "between checkpoints")->capture_default_str();
  app.add_flag("--bounded", bounded, "stop at the end as it is at the start");
  CLI11_PARSE(app, argc, argv);

  Job job{name};
  job.checkpoint({.interval = std::chrono::milliseconds(interval_ms), .directory = directory});
  job.from(kafka::source<Record>({.brokers = brokers,
                                  .topics = {in},
                                  .group = name,
                                  .start = kafka::earliest(),
                                  .stop = bounded ? kafka::latest() : kafka::never()}),
           "in")
      .map(JsonReplace({.path = "/identityUri",
                        .rules = {{"/\\d+$", "/{}"}, {"/[0-9a-f]{8}-[0-9a-f-]{27}$", "/{uuid}"}}}))
      .to(kafka::sink<Record>({.brokers = brokers, .topic = out, .partitioner = kafka::keep()}),
          "out");
  return run(std::move(job));
}
