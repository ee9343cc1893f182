// The job of the keyed kill runs: counts a shuffled stream by key, and writes what it counts to files, exactly once, without Kafka.
// The decision is the manifest's rename (checkpoint/local_decider.h).
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <sluice/checkpoint/engine.h>

#include "keyed_input.h"

using namespace sluice;
using sluice::testing::KeyedInput;

namespace {

struct Item {
  int split;
  std::int64_t number;
  std::uint64_t key;
};
/// "count 17 32", and "total 17 40" at the end.
struct Told {
  const char* what;
  std::uint64_t key, count;
};

class Items final : public Source<Item> {
 public:
  explicit Items(KeyedInput input) : input_(input) {}
  std::string describe() const override { return "numbered records"; }
  asio::awaitable<Result<std::vector<SplitPosition>>> start(Attempt&, const std::string& id,
                                                            std::optional<std::vector<SplitPosition>> restored) override {
    if (restored) co_return *std::move(restored);
    std::vector<SplitPosition> starts;
    for (int i = 0; i < input_.splits; ++i) starts.push_back({id, Split{"s", i}, Offset{1}});
    co_return starts;
  }
  std::unique_ptr<SourceReader<Item>> reader(Attempt&, ShardId) override { return std::make_unique<Reader>(input_); }

 private:
  class Reader final : public SourceReader<Item> {
   public:
    explicit Reader(KeyedInput input) : input_(input) {}
    asio::awaitable<Status> open(const Context&, std::vector<SplitPosition> starts, io::Event&) override {
      at_ = std::move(starts);
      co_return Status();
    }
    asio::awaitable<Result<Polled>> poll(SourceOutput<Item>& out) override {
      bool any = false;
      for (SplitPosition& at : at_) {
        Batch<Item> batch;
        batch.set_split(std::make_shared<const Split>(at.split));
        for (; at.next.value() <= input_.records && batch.size() < 1'000; ++at.next) {
          const std::int64_t number = at.next.value();
          batch.records().push_back({at.split.partition, number, input_.key(at.split.partition, number)});
        }
        if (batch.empty()) continue;
        any = true;
        out.batches.push_back(std::move(batch));
      }
      co_return any ? Polled::kData : Polled::kEnd;
    }
    std::vector<SplitPosition> positions() const override { return at_; }

   private:
    const KeyedInput input_;
    std::vector<SplitPosition> at_;
  };
  const KeyedInput input_;
};

/// Every epoch's lines of a shard in a file, that has its name once the epoch is decided.
class Files final : public Sink<Told> {
 public:
  explicit Files(std::filesystem::path directory) : directory_(std::move(directory)) {}
  std::string describe() const override { return "files in " + directory_.string(); }
  asio::awaitable<Status> check(Attempt&, const std::string&) override {
    std::filesystem::create_directories(directory_);
    co_return Status();
  }
  std::unique_ptr<SinkWriter<Told>> writer(Attempt&, ShardId shard) override { return std::make_unique<Writer>(directory_, shard); }
  asio::awaitable<Status> commit(Epoch, std::vector<PreparedOutput> prepared) override {
    for (const PreparedOutput& one : prepared) {
      std::error_code error;
      const std::filesystem::path file = directory_ / one.bytes;
      if (std::filesystem::exists(file)) continue;
      std::filesystem::rename(file.string() + ".tmp", file, error);
      if (error) co_return Status(Code::kCorrupt, "could not finish", file.string(), error.message());
    }
    co_return Status();
  }

 private:
  class Writer final : public SinkWriter<Told> {
   public:
    Writer(std::filesystem::path directory, ShardId shard) : directory_(std::move(directory)), shard_(shard) {}
    asio::awaitable<Status> write(Batch<Told> batch, std::vector<Batch<Record>>&) override {
      for (const Told& told : batch) fmt::format_to(std::back_inserter(lines_), "{} {} {}\n", told.what, told.key, told.count);
      co_return Status();
    }
    asio::awaitable<Status> prepare(Epoch epoch, std::string& prepared) override {
      if (lines_.empty()) co_return Status();
      prepared = fmt::format("{:08}-{}-{}", epoch.value(), shard_, Uuid::make().to_string());
      std::ofstream file(directory_ / (prepared + ".tmp"), std::ios::binary);
      file << std::exchange(lines_, {});
      file.close();
      if (!file) co_return Status(Code::kExhausted, "could not write to", directory_.string());
      co_return Status();
    }

   private:
    const std::filesystem::path directory_;
    const ShardId shard_;
    std::string lines_;
  };
  const std::filesystem::path directory_;
};

struct Count : KeyedProcessFunction<std::uint64_t, Item, Told> {
  void declare(StateSet& states) { states.add("counts", counts_); }
  void process(const Item&, Ctx& ctx, Collector<Told>& out) {
    const std::uint64_t count = ++ctx.of(counts_).value();
    if (count == 1) ctx.timers().set_event_time(EventTime::max());  // The end of input.
    if (count % testing::kToldEvery == 0) out.emit({"count", ctx.key(), count});
  }
  void on_timer(EventTime, Ctx& ctx, Collector<Told>& out) { out.emit({"total", ctx.key(), *ctx.of(counts_).find()}); }
  ValueState<std::uint64_t, std::uint64_t> counts_;
};

}  // namespace

int main(int argc, char** argv) {
  std::string directory = "state", out = "out";
  unsigned shards = 1;
  int interval_ms = 20;
  KeyedInput input;
  CLI::App app{"Counts a shuffled stream by key, into files, exactly once."};
  app.add_option("--directory", directory, "of the checkpoints")->capture_default_str();
  app.add_option("--out", out, "directory")->capture_default_str();
  app.add_option("--shards", shards)->capture_default_str();
  app.add_option("--interval-ms", interval_ms, "between checkpoints")->capture_default_str();
  app.add_option("--records", input.records, "of each split")->capture_default_str();
  app.add_option("--keys", input.keys)->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  Job job{"keyed-count"};
  job.checkpoint({.interval = std::chrono::milliseconds(interval_ms), .keep = 2, .directory = directory});
  job.shards(static_cast<std::uint16_t>(shards));
  job.from(std::static_pointer_cast<Source<Item>>(std::make_shared<Items>(input)), "in")
      .key_by(&Item::key, "by-key")
      .process("count", Count())
      .to(std::static_pointer_cast<Sink<Told>>(std::make_shared<Files>(out)), "out");
  return run(std::move(job));
}
