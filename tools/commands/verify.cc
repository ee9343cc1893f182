#include "commands/expectation.h"
#include "commands/history_check.h"
#include "commands/interrupt.h"
#include "commands/json_output.h"
#include "commands/latencies.h"
#include "commands/progress.h"
#include "commands/topic_reader.h"
#include "commands/units.h"

#include <algorithm>
#include <optional>
#include <set>

namespace sluice::tools {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

struct VerifyOptions {
  Connection connection;
  Output output;
  std::vector<std::string> topics, inputs, expectations;
  std::string format = "auto";
  std::string isolation = "read_committed";
  std::chrono::microseconds timeout{0};
  std::chrono::microseconds idle_timeout = 30s;
  std::chrono::microseconds settle = 10s;
  std::uint64_t follow_until = 0;
  bool latency = false;
  bool numbers = false;
  std::chrono::microseconds p99_max{0};
  std::size_t examples = 5;

  [[nodiscard]] bool tails() const { return follow_until > 0 || latency; }
};

/// What was found, for both ways of printing it.
struct Finding {
  HistoryCheck::Verdict verdict;
  std::deque<TopicReader::Lane> lanes;
  Latencies latencies;
  std::string latency_from;  ///< "received" or "log append time"; empty: not known
  double seconds = 0;
  std::uint64_t input_records = 0;
  std::uint64_t input_unreadable = 0;
  std::string incomplete;  ///< why the end was not reached; empty: it was
};

class Verifier {
 public:
  explicit Verifier(const VerifyOptions& options)
      : options_(options), check_({.numbers = options.numbers, .examples_max = options.examples}) {}

  Result<Finding> run() {
    const auto start = Clock::now();
    std::vector<ExpectedStream> expected;
    for (const std::string& file : options_.expectations)
      SLUICE_TRY(read_expectation(file, expected));
    for (const ExpectedStream& stream : expected) {
      check_.expect(stream.producer, stream.partition, stream.records, stream.topic);
    }
    // The end of the output is taken before the input's: whatever the output holds by then has come
    // from the input.
    TopicReader reader(options_.connection, options_.settle);
    SLUICE_TRY(reader.open(options_.topics));
    for (const std::string& input : options_.inputs) SLUICE_TRY(expect_from(input));
    SLUICE_TRY(read(reader));
    finding_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    finding_.lanes = reader.lanes();
    finding_.verdict = check_.finish();
    return std::move(finding_);
  }

 private:
  bool parse(const rd_kafka_message_t& message, RecordHeader& header) {
    const std::string_view value(static_cast<const char*>(message.payload),
                                 message.payload == nullptr ? 0 : message.len);
    if (options_.format == "text") return parser_.parse_text(value, header);
    if (options_.format == "json") return parser_.parse_json(value, header);
    return parser_.parse(value, header);
  }

  // Reads an input topic and expects in the output what is there. The input itself must be sound.
  Status expect_from(const std::string& topic) {
    TopicReader reader(options_.connection, options_.settle);
    SLUICE_TRY(reader.open({topic}));
    HistoryCheck input({.numbers = false, .examples_max = 3});
    for (const auto& lane : reader.lanes()) input.add_lane(lane.topic, lane.partition);
    Progress progress(options_.output, "input", reader.distance());
    auto last_arrival = Clock::now();
    RecordHeader header;
    const auto on_record = [&](std::size_t lane, const rd_kafka_message_t& message) {
      if (!parse(message, header)) {
        ++finding_.input_unreadable;
      } else if (header.partition != message.partition) {
        input.unreadable(lane, message.offset,
                         fmt::format("says that it is of partition {}", header.partition));
      } else {
        input.record(lane, message.offset, header);
      }
    };
    while (!reader.at_end()) {
      const auto arrived = reader.poll(100ms, on_record);
      if (!arrived.ok()) return arrived.status();
      if (*arrived > 0) last_arrival = Clock::now();
      progress.show(input.records());
      if (Interrupt::asked())
        return Status(Code::kCancelled, "interrupted before the input was read");
      if (Clock::now() - last_arrival > options_.idle_timeout) return silent(reader);
    }
    finding_.input_records += input.records();
    for (const auto& stream : input.streams())
      check_.expect(stream.producer, stream.partition, stream.records, topic);
    const auto verdict = input.finish();
    if (verdict.clean()) return {};
    std::string message = fmt::format(
        "the input topic \"{}\" itself is not sound, so nothing can be said of the output:", topic);
    for (const auto& example : verdict.examples) message += "\n  " + example.to_string();
    return Status(Code::kRecover, message);
  }

  [[nodiscard]] Status silent(const TopicReader& reader) const {
    const std::string complaint = reader.complaint();
    return Status(Code::kRetry,
                  fmt::format("nothing arrived for {:.0f} s although the end was not reached{}{}",
                              std::chrono::duration<double>(options_.idle_timeout).count(),
                              complaint.empty() ? "" : ": ", complaint))
        .exit(complaint.empty() ? ExitStatus::kFailed : ExitStatus::kUnavailable);
  }

  Status read(TopicReader& reader) {
    for (const auto& lane : reader.lanes()) {
      check_.add_lane(lane.topic, lane.partition);
      live_from_.push_back(lane.end);
    }
    if (options_.tails()) reader.follow();
    bool following = options_.tails();
    const auto start = Clock::now();
    auto last_arrival = start;
    Progress progress(options_.output, "read",
                      options_.follow_until > 0 ? options_.follow_until : reader.distance());
    RecordHeader header;
    const auto on_record = [&](std::size_t lane, const rd_kafka_message_t& message) {
      if (!parse(message, header)) return check_.unreadable(lane, message.offset, parser_.why());
      check_.record(lane, message.offset, header);
      time(lane, message, header, reader.received_us());
    };
    while (following || !reader.at_end()) {
      const auto arrived = reader.poll(100ms, on_record);
      if (!arrived.ok()) return arrived.status();
      const auto now = Clock::now();
      if (*arrived > 0) last_arrival = now;
      progress.show(check_.records());
      const bool enough = options_.follow_until > 0 && check_.records() >= options_.follow_until;
      const bool over = options_.timeout.count() > 0 && now - start > options_.timeout;
      const bool silent_now = now - last_arrival > options_.idle_timeout;
      if (following && (enough || over || silent_now || Interrupt::asked())) {
        if (!enough && options_.follow_until > 0) finding_.incomplete = why_ended(over, silent_now);
        // Once more to the stable end: what came too much must be seen as well.
        following = false;
        SLUICE_TRY(reader.mark_end());
        last_arrival = now;
      } else if (!following && (over || Interrupt::asked()) && finding_.incomplete.empty()) {
        finding_.incomplete = why_ended(over, false);
        if (!options_.tails()) return {};
      } else if (!following && silent_now) {
        return silent(reader);
      }
    }
    return {};
  }

  [[nodiscard]] std::string why_ended(bool over, bool silent_now) const {
    const std::string read = with_commas(check_.records());
    if (over) return fmt::format("--timeout came after {} records", read);
    if (silent_now) return fmt::format("nothing new for --idle-timeout after {} records", read);
    return fmt::format("interrupted after {} records", read);
  }

  void time(std::size_t lane, const rd_kafka_message_t& message, const RecordHeader& header,
            std::int64_t received_us) {
    if (options_.latency) {
      // What was there before we came was not received when it became visible.
      if (message.offset >= live_from_[lane])
        finding_.latencies.record(received_us - header.due_us);
      return;
    }
    rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
    const std::int64_t timestamp_ms = rd_kafka_message_timestamp(&message, &type);
    if (type != RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME) return;
    finding_.latencies.record(timestamp_ms * 1000 - header.due_us);
  }

  const VerifyOptions& options_;
  HistoryCheck check_;
  RecordParser parser_;
  Finding finding_;
  std::vector<std::int64_t> live_from_;
};

void print_json(const VerifyOptions& options, const Finding& finding, bool good) {
  JsonOutput out("verify");
  const auto& verdict = finding.verdict;
  out.array("topics", [&] {
    for (const std::string& topic : options.topics) out.value(topic);
  });
  out.field("ok", good);
  out.field("records", verdict.records);
  if (verdict.knows_expected)
    out.field("expected", verdict.expected);
  else
    out.null_field("expected");
  out.field("streams", verdict.streams);
  for (std::size_t kind = 0; kind < HistoryCheck::kKinds; ++kind) {
    out.field(HistoryCheck::name_of(static_cast<HistoryCheck::Kind>(kind)), verdict.counts[kind]);
  }
  out.field("seconds", finding.seconds);
  out.field("input_unreadable", finding.input_unreadable);
  if (finding.incomplete.empty())
    out.null_field("incomplete");
  else
    out.field("incomplete", finding.incomplete);
  if (finding.latencies.count() > 0) {
    out.object("latency_ms", [&] {
      out.field("from", options.latency ? "received" : "log_append_time");
      out.field("records", finding.latencies.count());
      out.field("p50", static_cast<double>(finding.latencies.percentile_us(0.5)) / 1e3);
      out.field("p99", static_cast<double>(finding.latencies.percentile_us(0.99)) / 1e3);
      out.field("p99.9", static_cast<double>(finding.latencies.percentile_us(0.999)) / 1e3);
      out.field("max", static_cast<double>(finding.latencies.max_us()) / 1e3);
    });
  } else {
    out.null_field("latency_ms");
  }
  out.array("partitions", [&] {
    for (const auto& lane : finding.lanes) {
      out.object([&] {
        out.field("topic", lane.topic);
        out.field("partition", lane.partition);
        out.field("begin", lane.begin);
        out.field("last_stable", lane.end);
        out.field("high_watermark", lane.high_watermark);
      });
    }
  });
  out.array("examples", [&] {
    for (const auto& example : verdict.examples) {
      out.object([&] {
        out.field("kind", HistoryCheck::name_of(example.kind));
        out.field("topic", example.topic);
        out.field("partition", example.partition);
        out.field("offset", example.offset);
        out.field("producer", example.producer);
        out.field("source_partition", example.source_partition);
        out.field("sequence", example.sequence);
        out.field("detail", example.detail);
      });
    }
  });
  out.print();
}

void print_text(const VerifyOptions& options, const Finding& finding, bool good) {
  const auto& verdict = finding.verdict;
  fmt::print("{}: {} records in {} partitions, of {} source streams",
             fmt::join(options.topics, ", "), with_commas(verdict.records), finding.lanes.size(),
             verdict.streams);
  if (verdict.knows_expected) fmt::print("; expected {}", with_commas(verdict.expected));
  fmt::print("; {:.1f} s\n", finding.seconds);
  for (std::size_t kind = 0; kind < HistoryCheck::kKinds; ++kind) {
    const auto name = static_cast<HistoryCheck::Kind>(kind);
    if (name == HistoryCheck::Kind::kNumber && !options.numbers) continue;
    fmt::print("  {:<13} {}\n", HistoryCheck::name_of(name), with_commas(verdict.counts[kind]));
  }
  for (const auto& example : verdict.examples) fmt::print("  {}\n", example.to_string());
  if (finding.latencies.count() > 0) {
    const auto ms = [&](double share) {
      return static_cast<double>(finding.latencies.percentile_us(share)) / 1e3;
    };
    fmt::print(
        "latency, due to {}: p50 {:.1f} ms, p99 {:.1f} ms, p99.9 {:.1f} ms, max {:.1f} ms, of {} "
        "records\n",
        options.latency ? "received" : "log append time", ms(0.5), ms(0.99), ms(0.999),
        static_cast<double>(finding.latencies.max_us()) / 1e3,
        with_commas(finding.latencies.count()));
  }
  if (!finding.incomplete.empty()) fmt::print("incomplete: {}\n", finding.incomplete);
  fmt::print("{}\n", good ? "ok: every record once and in order" : "NOT OK");
}

void print_notes(const VerifyOptions& options, const Finding& finding) {
  if (options.output.quiet) return;
  for (const auto& lane : finding.lanes) {
    if (lane.end >= lane.high_watermark) continue;
    fmt::print(
        stderr,
        "verify: {}[{}]: an open transaction held back offsets {} to {}; they were not judged\n",
        lane.topic, lane.partition, lane.end, lane.high_watermark - 1);
  }
  if (!finding.verdict.knows_expected) {
    fmt::print(stderr,
               "verify: without --expect or --input, records missing at the end of a stream cannot "
               "be noticed\n");
  }
  if (finding.input_unreadable > 0) {
    fmt::print(
        stderr,
        "verify: {} records of the input have no header and are not expected in the output\n",
        with_commas(finding.input_unreadable));
  }
  if (options.p99_max.count() > 0 && finding.latencies.count() == 0) {
    fmt::print(stderr,
               "verify: no latency could be measured: use --latency, or a topic with "
               "message.timestamp.type=LogAppendTime\n");
  }
}

Result<ExitStatus> verify(const VerifyOptions& options) {
  const Interrupt interrupt;
  if (options.isolation != "read_committed")
    return Status(Code::kInvalid, "--isolation: only read_committed is judged");
  const auto finding = Verifier(options).run();
  if (!finding.ok()) return finding.status();
  const bool good = finding->verdict.clean() && finding->incomplete.empty();
  if (options.output.json)
    print_json(options, *finding, good);
  else
    print_text(options, *finding, good);
  std::fflush(stdout);
  print_notes(options, *finding);
  if (!good) return ExitStatus::kFailed;
  const bool late =
      options.p99_max.count() > 0 &&
      (finding->latencies.count() == 0 ||
       static_cast<std::int64_t>(finding->latencies.percentile_us(0.99)) > options.p99_max.count());
  return late ? ExitStatus::kThreshold : ExitStatus::kDone;
}

std::string check_unique(const std::vector<std::string>& topics) {
  const std::set<std::string> unique(topics.begin(), topics.end());
  return unique.size() == topics.size() ? std::string() : std::string("names a topic twice");
}

}  // namespace

Command add_verify(CLI::App& root) {
  CLI::App& app = *root.add_subcommand(
      "verify", "Judge a topic: is every generated record there once and in order?");
  const auto options = std::make_shared<VerifyOptions>();
  add_connection_options(app, options->connection);
  app.add_option("--topic", options->topics, "The topics to judge, together")
      ->required()
      ->delimiter(',');
  app.add_option("--input", options->inputs,
                 "Expect what these topics hold, read first and read_committed; also tells which "
                 "source topic a number "
                 "belongs to")
      ->delimiter(',');
  app.add_option("--expect", options->expectations,
                 "Expect what \"sluice generate --json\" printed into these files")
      ->type_name("FILE")
      ->delimiter(',');
  app.add_option("--format", options->format, "auto tells text and JSON by the first byte")
      ->check(CLI::IsMember({"auto", "text", "json"}))
      ->capture_default_str();
  app.add_flag("--numbers", options->numbers,
               "Also judge the counts (c=) that the number operator wrote: 1, 2, 3, … for each "
               "source partition");
  app.add_option("--follow-until", options->follow_until,
                 "Wait until so many records are there, then read to the stable end and judge")
      ->type_name("COUNT");
  app.add_flag("--latency", options->latency,
               "Tail the topics and measure from due to received, of records that come while we "
               "read; ends by "
               "--follow-until, --timeout, --idle-timeout or a signal, then judges");
  add_duration(app, "--p99-max", options->p99_max,
               "Exit with 99 when the latency is above this at p99");
  add_duration(app, "--timeout", options->timeout,
               "Give up after this time in all (default: never)");
  add_duration(
      app, "--settle", options->settle,
      "Wait so long for transactions that are open at the end; what they hold back after it is "
      "not judged (default 10s)");
  add_duration(app, "--idle-timeout", options->idle_timeout,
               "Give up when nothing arrives for so long (default 30s)");
  app.add_option("--isolation", options->isolation,
                 "Only read_committed, which is what a consumer must be promised")
      ->check(CLI::IsMember({"read_committed"}))
      ->capture_default_str();
  app.add_option("--examples", options->examples, "How many of each kind of fault to show")
      ->capture_default_str();
  add_output_options(app, options->output);
  app.final_callback([options] {
    for (const auto* const topics : {&options->topics, &options->inputs}) {
      if (const std::string why = check_unique(*topics); !why.empty())
        throw CLI::ValidationError("--topic or --input", why);
    }
  });
  app.footer(
      R"(Reads from the beginning to the end as it is at the start, as far as it is stable. Judged for each producer and source
partition (stream): lost, duplicate and out-of-order numbers; records that no source has (unexpected); records
without a header or, in JSON, with bytes changed behind "check" (unreadable). Without --latency, latency is that to
the broker's timestamp, where the topic has message.timestamp.type=LogAppendTime.

Examples:
  sluice verify --brokers 127.0.0.1:9092 --topic out --expect expect.json
  sluice verify --brokers 127.0.0.1:9092 --topic out --input events-a,events-b --numbers
  sluice verify --brokers 127.0.0.1:9092 --topic out --latency --follow-until 600000 --p99-max 150ms --json

Exit status: 0 every record once and in order · 1 a fault was found, or the end was not reached · 2 usage ·
69 brokers unreachable · 77 refused by the broker's authorisation · 78 topic, file or property wrong · 99 see --p99-max)");
  return {&app, [options] { return verify(*options); }};
}

}  // namespace sluice::tools
