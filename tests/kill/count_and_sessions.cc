// The job of the keyed kill runs on Kafka: of a shuffled stream, each key's running count and sum and its timers into one topic, its
// sessions into another, exactly once. A line says in which life of the job, on how many shards, it was written.
#include <charconv>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>

#include <boost/describe/class.hpp>
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <sluice/sluice.h>

#include "shuffled_stream.h"

using namespace sluice;
using sluice::testing::ShuffledStream;

namespace {

struct Fields {
  std::int64_t number = 0, amount = 0;
};
/// Of "17 -3"; the stream is our own: what it does not say is 0, and the judge sees that.
Fields fields(const Record& record) {
  Fields fields;
  const std::string_view text = record.value.view();
  const auto number = std::from_chars(text.data(), text.data() + text.size(), fields.number);
  if (number.ptr != text.data() + text.size()) std::from_chars(number.ptr + 1, text.data() + text.size(), fields.amount);
  return fields;
}

struct Tally {
  std::uint64_t count = 0;
  std::int64_t sum = 0;
};
BOOST_DESCRIBE_STRUCT(Tally, (), (count, sum))

/// What a record made of its key's tally; or, where `count` is 0, that a timer fired.
struct Update {
  std::string key;
  std::uint64_t count = 0;
  std::int64_t sum = 0, number = 0;
  EventTime timer{};
  std::uint16_t shard = 0;
};

struct Count : KeyedProcessFunction<std::string, Record, Update> {
  explicit Count(EventDuration timer_after) : timer_after_(timer_after) {}
  void declare(StateSet& states) { states.add("tallies", tallies_); }
  Status open(const Context& context) {
    shard_ = context.shard.value();
    return {};
  }
  void process(const Record& record, Ctx& ctx, Collector<Update>& out) {
    const Fields said = fields(record);
    Tally& tally = ctx.of(tallies_).value();
    ++tally.count;
    tally.sum += said.amount;
    if (ShuffledStream::sets_timer(said.number)) ctx.timers().set_event_time(ctx.time() + timer_after_);
    out.emit({std::string(ctx.key()), tally.count, tally.sum, said.number, {}, shard_});
  }
  void on_timer(EventTime time, Ctx& ctx, Collector<Update>& out) { out.emit({std::string(ctx.key()), 0, 0, 0, time, shard_}); }

  ValueState<std::string, Tally> tallies_;
  EventDuration timer_after_;
  std::uint16_t shard_ = 0;
};

using Sums = std::tuple<std::uint64_t, std::int64_t, std::int64_t, std::int64_t>;  // Records, their sum, the first and last number.

/// Where and when a line was written.
struct Life {
  int number = 0;
  unsigned shards = 1;
};
std::int64_t ms(EventTime time) { return time.time_since_epoch().count(); }

}  // namespace

int main(int argc, char** argv) {
  std::string brokers = "127.0.0.1:9092", name = "count-and-sessions", in = "in", updates = "updates", sessions = "sessions", directory;
  int interval_ms = 50, disorder_ms = 1'000, gap_ms = 2'000;
  Life life;
  bool bounded = false;
  CLI::App app{"Counts a shuffled stream by key and by session, exactly once."};
  app.add_option("--brokers", brokers)->capture_default_str();
  app.add_option("--name", name, "of the job, and of its group")->capture_default_str();
  app.add_option("--in", in, "topic")->capture_default_str();
  app.add_option("--updates", updates, "topic")->capture_default_str();
  app.add_option("--sessions", sessions, "topic")->capture_default_str();
  app.add_option("--directory", directory, "of the checkpoints (default: state/<name>)");
  app.add_option("--interval-ms", interval_ms, "between checkpoints")->capture_default_str();
  app.add_option("--disorder-ms", disorder_ms, "of each partition")->capture_default_str();
  app.add_option("--gap-ms", gap_ms, "that ends a session")->capture_default_str();
  app.add_option("--shards", life.shards)->capture_default_str();
  app.add_option("--life", life.number, "is written into each line")->capture_default_str();
  app.add_flag("--bounded", bounded, "stop at the end as it is at the start");
  CLI11_PARSE(app, argc, argv);

  using std::chrono::milliseconds;
  Job job{name};
  job.checkpoint({.interval = milliseconds(interval_ms), .directory = directory});
  job.shards(static_cast<std::uint16_t>(life.shards));

  const auto sink_options = [&](const std::string& topic) {
    return kafka::SinkOptions{.brokers = brokers, .topic = topic, .partitioner = kafka::hash_murmur2()};
  };
  const auto write_update = [life](const Update& update, Arena& arena, kafka::SinkRecord& out) {
    out.key = Bytes(update.key);
    const std::string text = update.count == 0 ? fmt::format("timer {} {} {} {}", ms(update.timer), life.number, life.shards, update.shard)
                                               : fmt::format("count {} {} {} {} {} {}", update.count, update.sum, update.number,
                                                             life.number, life.shards, update.shard);
    out.value = Bytes(arena.copy(text));
  };
  const auto write_session = [](const Windowed<Bytes, Sums>& said, Arena& arena, kafka::SinkRecord& out) {
    out.key = said.key;
    const auto& [count, sum, first, last] = said.value;
    out.value = Bytes(arena.copy(
        fmt::format("session {} {} {} {} {} {}", ms(said.window.start), ms(said.window.end), count, sum, first, last)));
  };
  const auto write_late = [](const Record& record, Arena& arena, kafka::SinkRecord& out) {
    out.key = record.key;
    out.value = Bytes(arena.copy(fmt::format("late {}", record.value.view())));
  };

  auto records = job.from(kafka::source<Record>({.brokers = brokers, .topics = {in}, .group = name, .start = kafka::earliest(),
                                                 .stop = bounded ? kafka::latest() : kafka::never()}),
                          "in")
                     .watermarks(bounded_out_of_orderness<Record>(milliseconds(disorder_ms)), "time")
                     .key_by(&Record::key, "by-key");
  records.process("count", Count(milliseconds(gap_ms))).to(kafka::sink<Update>(sink_options(updates), write_update), "updates");
  const auto number = [](const Record& record) { return fields(record).number; };
  const auto amount = [](const Record& record) { return fields(record).amount; };
  auto said = records.window(session(milliseconds(gap_ms)))
                  .aggregate(together(count(), sum(amount), min(number), max(number)), "sessions");
  said.to(kafka::sink<Windowed<Bytes, Sums>>(sink_options(sessions), write_session), "sessions-out");
  said.late().to(kafka::sink<Record>(sink_options(sessions), write_late), "late-out");
  return run(std::move(job));
}
