// A custom source and a custom sink, each in half a page: squares of the numbers 1 to 1,000 into a file.
// The source's position is in every checkpoint. The sink is at least once: after a crash it may repeat the last interval.
//   custom_source_sink [file]
#include <cstdio>
#include <memory>
#include <string>

#include <sluice/sluice.h>

using namespace sluice;

class NumbersReader final : public SourceReader<long> {
 public:
  asio::awaitable<Status> open(const Context&, std::vector<SplitPosition> starts, io::Event&) override {
    if (!starts.empty()) at_ = starts.front();
    co_return Status();
  }
  asio::awaitable<Result<Polled>> poll(SourceOutput<long>& out) override {
    if (at_.source.empty() || at_.next.value() > 1000) co_return Polled::kEnd;
    Batch<long> batch;
    while (batch.size() < 100 && at_.next.value() <= 1000) {
      batch.records().push_back(at_.next.value());
      ++at_.next;
    }
    out.batches.push_back(std::move(batch));
    co_return Polled::kData;
  }
  std::vector<SplitPosition> positions() const override {
    if (at_.source.empty()) return {};  // The split belongs to another shard.
    return {at_};
  }

 private:
  SplitPosition at_;
};

class Numbers final : public Source<long> {
 public:
  std::string describe() const override { return "numbers from 1"; }
  asio::awaitable<Result<std::vector<SplitPosition>>> start(Attempt&, const std::string& id,
                                                            std::optional<std::vector<SplitPosition>> restored) override {
    if (restored) co_return *std::move(restored);
    co_return std::vector{SplitPosition{id, Split{"numbers", 0}, Offset{1}}};
  }
  std::unique_ptr<SourceReader<long>> reader(Attempt&, ShardId) override { return std::make_unique<NumbersReader>(); }
};

class FileWriter final : public SinkWriter<long> {
 public:
  explicit FileWriter(const std::string& path) : file_(std::fopen(path.c_str(), "a"), &std::fclose) {}
  asio::awaitable<Status> write(Batch<long> batch, std::vector<Batch<Record>>&) override {
    for (const long value : batch) std::fprintf(file_.get(), "%ld\n", value);
    co_return Status();
  }
  // At a barrier everything before it must be safe, as the position behind it is about to be.
  asio::awaitable<Status> prepare(Epoch, std::string&) override {
    if (std::fflush(file_.get()) != 0) co_return Status(Code::kRecover, "could not write the numbers: the disk failed");
    co_return Status();
  }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

class NumbersFile final : public Sink<long> {
 public:
  explicit NumbersFile(std::string path) : path_(std::move(path)) {}
  std::string describe() const override { return "numbers to " + path_; }
  asio::awaitable<Status> check(Attempt&, const std::string&) override {
    std::FILE* const file = std::fopen(path_.c_str(), "a");
    if (file == nullptr) co_return Status(Code::kInvalid, "cannot write", path_, ": give another path");
    std::fclose(file);
    co_return Status();
  }
  std::unique_ptr<SinkWriter<long>> writer(Attempt&, ShardId) override { return std::make_unique<FileWriter>(path_); }

 private:
  std::string path_;
};

int main(int argc, char** argv) {
  Job job{"squares"};
  job.checkpoint({.interval = std::chrono::milliseconds(100), .directory = "state/squares"});
  job.from(std::shared_ptr<Source<long>>(std::make_shared<Numbers>()), "numbers")
      .map([](long value) { return value * value; })
      .to(std::make_shared<NumbersFile>(argc > 1 ? argv[1] : "squares.txt"), "file");
  return run(std::move(job));
}
