#include <sluice/io/base/random.h>

#include "commands/interrupt.h"
#include "commands/json_output.h"
#include "commands/load_producer.h"
#include "commands/progress.h"
#include "commands/units.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <thread>

namespace sluice::tools {

using namespace std::chrono_literals;

namespace {

// Behind its schedule by more than this at p99, a generator has measured itself and not the system.
constexpr std::int64_t kLatenessMax_us = 100'000;

struct GenerateOptions {
  Connection connection;
  Output output;
  LoadOptions load;
  std::string partitions = "all";
  std::string format = "text";
  std::string producer_id;
  std::uint32_t producers = 1;
  bool strict = false;
  std::uint64_t seed = 0;
};

struct Outcome {
  std::vector<std::unique_ptr<LoadProducer>> producers;
  std::int64_t start_us = 0;
  double seconds = 0;
  Latencies lateness;
  std::uint64_t sent = 0, delivered = 0, failed = 0;
  Status status;

  [[nodiscard]] bool kept_up() const {
    return static_cast<std::int64_t>(lateness.percentile_us(0.99)) <= kLatenessMax_us;
  }
};

Result<std::vector<std::int32_t>> source_partitions(const GenerateOptions& options) {
  auto wanted = parse_partitions(options.partitions);
  if (!wanted.ok()) return wanted.status();
  auto consumer = Handle::make(RD_KAFKA_CONSUMER, options.connection, {});
  if (!consumer.ok()) return consumer.status();
  const auto timeout =
      std::chrono::duration_cast<std::chrono::milliseconds>(options.connection.connect_timeout);
  const auto count = partition_count(**consumer, options.load.topic, timeout);
  if (!count.ok()) return count.status();
  if (wanted->empty()) {
    for (std::int32_t partition = 0; partition < *count; ++partition) wanted->push_back(partition);
  }
  if (wanted->back() >= *count) {
    return Status(
        Code::kInvalid,
        fmt::format("topic \"{}\" has {} partitions, so there is no partition {}; correct "
                    "--partitions-used",
                    options.load.topic, *count, wanted->back()));
  }
  return wanted;
}

std::vector<std::unique_ptr<LoadProducer>> make_producers(const GenerateOptions& options,
                                                          const LoadOptions& load) {
  std::vector<std::unique_ptr<LoadProducer>> producers;
  const std::uint32_t count = options.producers;
  for (std::uint32_t at = 0; at < count; ++at) {
    LoadOptions share = load;
    share.rate = load.rate / count;
    share.records =
        load.records == 0 ? 0 : load.records / count + (at < load.records % count ? 1 : 0);
    if (load.records != 0 && share.records == 0) break;  // Fewer records than producers.
    if (load.rate > 0)
      share.offset = std::chrono::microseconds(static_cast<std::int64_t>(at * 1e6 / load.rate));
    share.seed = load.seed + at;
    const std::string id =
        count == 1 ? options.producer_id : fmt::format("{}-{}", options.producer_id, at);
    producers.push_back(std::make_unique<LoadProducer>(id, std::move(share), options.connection));
  }
  return producers;
}

std::uint64_t total_of(const LoadOptions& load) {
  if (load.records > 0) return load.records;
  return static_cast<std::uint64_t>(load.rate *
                                    std::chrono::duration<double>(load.duration).count());
}

// Runs the producers to their end, each on its thread; this one shows the progress.
void run_producers(const GenerateOptions& options, Outcome& outcome) {
  const auto start = std::chrono::steady_clock::now() + 20ms;  // The threads are there by then.
  outcome.start_us = wall_now_us() + 20'000;
  std::vector<Status> statuses(outcome.producers.size());
  std::atomic<std::size_t> running{outcome.producers.size()};
  std::vector<std::thread> threads;
  for (std::size_t at = 0; at < outcome.producers.size(); ++at) {
    threads.emplace_back([&, at] {
      std::this_thread::sleep_until(start);
      statuses[at] = outcome.producers[at]->run(start, outcome.start_us);
      running.fetch_sub(1);
      running.notify_one();
    });
  }
  Progress progress(options.output, "sent", total_of(options.load));
  while (running.load() > 0) {
    std::uint64_t sent = 0;
    for (const auto& producer : outcome.producers) sent += producer->sent();
    progress.show(sent);
    std::this_thread::sleep_for(20ms);
  }
  for (std::thread& thread : threads) thread.join();
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const Status& status : statuses) {
    if (outcome.status.ok()) outcome.status = status;
  }
  for (const auto& producer : outcome.producers) {
    outcome.lateness.merge(producer->lateness());
    for (const auto& count : producer->counts()) {
      outcome.sent += count.sent;
      outcome.delivered += count.delivered;
      outcome.failed += count.failed;
    }
  }
}

void print_json(const GenerateOptions& options, const LoadOptions& load, const Outcome& outcome) {
  JsonOutput out("generate");
  out.field("topic", options.load.topic);
  out.field("format", options.format);
  out.field("size_bytes", static_cast<std::uint64_t>(load.size_bytes));
  out.field("seed", load.seed);
  out.field("start_us", outcome.start_us);
  out.field("sent", outcome.sent);
  out.field("delivered", outcome.delivered);
  out.field("failed", outcome.failed);
  out.field("seconds", outcome.seconds);
  out.field("records_per_second",
            static_cast<double>(outcome.delivered) / std::max(outcome.seconds, 1e-6));
  out.field("rate", load.rate);
  if (load.rate > 0) {
    out.object("late_ms", [&] {
      out.field("p50", static_cast<double>(outcome.lateness.percentile_us(0.5)) / 1e3);
      out.field("p99", static_cast<double>(outcome.lateness.percentile_us(0.99)) / 1e3);
      out.field("max", static_cast<double>(outcome.lateness.max_us()) / 1e3);
    });
    out.field("kept_up", outcome.kept_up());
  } else {
    out.null_field("late_ms");
    out.null_field("kept_up");
  }
  out.field("interrupted", Interrupt::asked());
  out.array("producers", [&] {
    for (const auto& producer : outcome.producers) {
      out.object([&] {
        out.field("producer", producer->id());
        out.array("partitions", [&] {
          for (std::size_t at = 0; at < load.partitions.size(); ++at) {
            out.object([&] {
              out.field("partition", load.partitions[at]);
              out.field("records", producer->counts()[at].delivered);
            });
          }
        });
      });
    }
  });
  out.print();
}

void print_summary(const GenerateOptions& options, const LoadOptions& load,
                   const Outcome& outcome) {
  fmt::print(stderr,
             "generate: {} records delivered to topic \"{}\" in {:.2f} s, {} records/s, {} "
             "partitions, {} producers\n",
             with_commas(outcome.delivered), options.load.topic, outcome.seconds,
             with_commas(static_cast<std::uint64_t>(static_cast<double>(outcome.delivered) /
                                                    std::max(outcome.seconds, 1e-6))),
             load.partitions.size(), outcome.producers.size());
  if (outcome.delivered != outcome.sent) {
    fmt::print(stderr, "generate: {} records were sent and are not known to be delivered\n",
               with_commas(outcome.sent - outcome.delivered));
  }
  if (load.rate > 0) {
    fmt::print(stderr,
               "generate: {} its schedule of {}/s: late by {:.1f} ms at p50, {:.1f} ms at p99, "
               "{:.1f} ms at most\n",
               outcome.kept_up() ? "kept" : "did not keep", load.rate,
               static_cast<double>(outcome.lateness.percentile_us(0.5)) / 1e3,
               static_cast<double>(outcome.lateness.percentile_us(0.99)) / 1e3,
               static_cast<double>(outcome.lateness.max_us()) / 1e3);
  }
}

Result<ExitStatus> generate(const GenerateOptions& given) {
  GenerateOptions options = given;
  const Interrupt interrupt;
  if (options.seed == 0) options.seed = Random::seed_from_system() % 1'000'000'007 + 1;
  if (options.producer_id.empty()) {
    options.producer_id =
        fmt::format("g{:08x}", static_cast<std::uint32_t>(Random::seed_from_system()));
  }
  options.load.format = options.format == "json" ? RecordFormat::kJson : RecordFormat::kText;
  options.load.seed = options.seed;
  auto partitions = source_partitions(options);
  if (!partitions.ok()) return partitions.status();
  LoadOptions load = options.load;
  load.partitions = *std::move(partitions);
  Outcome outcome;
  outcome.producers = make_producers(options, load);
  for (const auto& producer : outcome.producers) SLUICE_TRY(producer->open());
  run_producers(options, outcome);
  if (options.output.json) print_json(options, load, outcome);
  if (!options.output.quiet) print_summary(options, load, outcome);
  if (!outcome.status.ok()) return outcome.status;
  if (options.strict && load.rate > 0 && !outcome.kept_up()) return ExitStatus::kThreshold;
  return ExitStatus::kDone;
}

std::string check_producer_id(const std::string& id) {
  const auto good = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  };
  if (!id.empty() && id.size() <= 64 && std::all_of(id.begin(), id.end(), good)) return {};
  return "takes 1 to 64 letters, digits, dots, dashes and underlines";
}

std::string check_key(const std::string& key) {
  if (key == "none" || key == "seq") return {};
  const std::size_t colon = key.rfind(':');
  std::uint64_t count = 0;
  if (colon != std::string::npos && colon > 0) {
    const auto [end, error] =
        std::from_chars(key.data() + colon + 1, key.data() + key.size(), count);
    if (error == std::errc() && end == key.data() + key.size() && count > 0) return {};
  }
  return "takes none, seq or NAME:N with N above 0";
}

}  // namespace

Command add_generate(CLI::App& root) {
  CLI::App& app = *root.add_subcommand(
      "generate", "Write test records to a topic, at a constant rate or flat out");
  const auto options = std::make_shared<GenerateOptions>();
  LoadOptions& load = options->load;
  add_connection_options(app, options->connection);
  app.add_option("--topic", load.topic, "The topic to write to; it must exist")->required();
  app.add_option("--partitions-used", options->partitions,
                 "all, or a list as 0,2,5-7; records go to them in turn")
      ->check([](const std::string& text) {
        const auto partitions = parse_partitions(text);
        return partitions.ok() ? std::string() : std::string(partitions.status().message());
      })
      ->type_name("LIST")
      ->capture_default_str();
  app.add_option("--producers", options->producers,
                 "Clients that write side by side, each with its own numbers from 0")
      ->check(CLI::Range(1, 64).description("1 to 64"))
      ->capture_default_str();
  app.add_option("--producer-id", options->producer_id,
                 "Name in each record (with several producers: NAME-0, NAME-1, …); by default a "
                 "new one for each run, as "
                 "the same name twice in a topic looks like duplicates to verify")
      ->check(check_producer_id)
      ->type_name("NAME");
  app.add_option("--rate", load.rate, "Records a second, all producers together; 0: flat out")
      ->check(CLI::Range(0.0, 1e9).description(""))
      ->capture_default_str();
  auto* const records = app.add_option("--records", load.records,
                                       "Stop after so many records, all producers together")
                            ->check(CLI::PositiveNumber);
  add_duration(app, "--duration", load.duration,
               "Stop after this time; with neither, run until SIGINT or SIGTERM")
      ->excludes(records);
  app.add_option("--size", load.size_bytes,
                 "Bytes of a value; a header that is longer makes the value longer")
      ->check(CLI::Range(0, 64 << 20).description(""))
      ->capture_default_str();
  app.add_option("--format", options->format,
                 "text: header and padding; json: a document with the same fields")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_option("--key", load.key,
                 "none; seq: the record's number; NAME:N: one of N keys NAME-0 … by chance")
      ->check(check_key)
      ->capture_default_str();
  auto* const transactional =
      app.add_flag("--transactional", load.transactional, "Write in transactions");
  add_duration(app, "--transaction-interval", load.transaction_interval,
               "Time between commits (default 100ms)")
      ->needs(transactional);
  app.add_option("--seed", options->seed,
                 "Of padding, keys and JSON content; 0: by chance, printed with --json")
      ->capture_default_str();
  app.add_flag("--strict", options->strict,
               "Exit with 99 when records were more than 100 ms late at p99");
  add_output_options(app, options->output);
  app.footer(
      R"(Each value begins with p=<producer>;n=<partition>;s=<number>;d=<due time, µs since 1970>; where the number
counts from 0 for each producer and partition. The due time is when the record should have been sent: a generator
that is late does not move its schedule, so latency measured from it hides nothing. Idempotent, acks=all.

Examples:
  sluice generate --brokers 127.0.0.1:9092 --topic events --records 1000000 --json > expect.json
  sluice generate --brokers 127.0.0.1:9092 --topic events --rate 20000 --duration 30s --strict
  sluice generate --brokers 127.0.0.1:9092 --topic events-a --format json --size 400 --key user:1000 --rate 500

Exit status: 0 everything sent was delivered, also after SIGINT · 1 a delivery failed · 2 usage · 69 brokers
unreachable · 77 refused by the broker's authorisation · 78 topic or property wrong · 99 see --strict)");
  return {&app, [options] { return generate(*options); }};
}

}  // namespace sluice::tools
