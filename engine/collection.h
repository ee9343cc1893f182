#pragma once

#include <functional>
#include <memory>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <sluice/engine/sink.h>
#include <sluice/engine/source.h>

namespace sluice {

/// A bounded source of given values, in one split; restored in the middle where a checkpoint says so.
template <class T>
[[nodiscard]] std::shared_ptr<Source<T>> from_values(std::vector<T> values);

/// A sink that calls `call(record)` for each record, on the shard that has it. At least once: the calls cannot be taken back.
template <class T>
[[nodiscard]] std::shared_ptr<Sink<T>> for_each(std::function<void(const T&)> call);

// ---- how ----

namespace internal {

template <class T>
class ValuesReader final : public SourceReader<T> {
 public:
  explicit ValuesReader(std::shared_ptr<const std::vector<T>> values) : values_(std::move(values)) {}
  asio::awaitable<Status> open(const Context&, std::vector<SplitPosition> starts, io::Event&) override {
    if (!starts.empty()) start_ = std::move(starts.front());
    split_ = std::make_shared<const Split>(start_.split);
    mine_ = !start_.source.empty();
    co_return Status();
  }
  asio::awaitable<Result<Polled>> poll(SourceOutput<T>& out) override {
    const auto next = static_cast<std::size_t>(start_.next.value());
    if (!mine_ || next >= values_->size()) co_return Polled::kEnd;
    const std::size_t count = std::min(values_->size() - next, Batch<T>::kRecordsMax);
    Batch<T> batch;
    batch.set_split(split_);
    batch.own(values_, 0);
    const auto first = values_->begin() + static_cast<std::ptrdiff_t>(next);
    batch.records().assign(first, first + static_cast<std::ptrdiff_t>(count));
    out.batches.push_back(std::move(batch));
    start_.next = Offset(start_.next.value() + static_cast<std::int64_t>(count));
    co_return Polled::kData;
  }
  std::vector<SplitPosition> positions() const override {
    if (!mine_) return {};
    return {start_};
  }

 private:
  std::shared_ptr<const std::vector<T>> values_;
  SplitPosition start_;
  std::shared_ptr<const Split> split_;
  bool mine_ = false;
};

template <class T>
class ValuesSource final : public Source<T> {
 public:
  explicit ValuesSource(std::vector<T> values) : values_(std::make_shared<const std::vector<T>>(std::move(values))) {}
  std::string describe() const override { return fmt::format("{} given values", values_->size()); }
  asio::awaitable<Result<std::vector<SplitPosition>>> start(Attempt&, const std::string& id,
                                                            std::optional<std::vector<SplitPosition>> restored) override {
    if (restored) co_return *std::move(restored);
    co_return std::vector{SplitPosition{id, Split{"values", 0}, Offset{0}}};
  }
  std::unique_ptr<SourceReader<T>> reader(Attempt&, ShardId) override { return std::make_unique<ValuesReader<T>>(values_); }

 private:
  std::shared_ptr<const std::vector<T>> values_;
};

template <class T>
class ForEachWriter final : public SinkWriter<T> {
 public:
  explicit ForEachWriter(std::function<void(const T&)> call) : call_(std::move(call)) {}
  asio::awaitable<Status> open(const Context& context) override {
    id_ = context.operator_id;
    co_return Status();
  }
  asio::awaitable<Status> write(Batch<T> batch, std::vector<Batch<Record>>&) override {
    try {
      for (const T& record : batch) call_(record);
    } catch (const std::exception& thrown) {
      co_return Status(Code::kRecover, "sink", id_, "threw:", thrown.what());
    }
    co_return Status();
  }

 private:
  std::function<void(const T&)> call_;
  std::string id_;
};

template <class T>
class ForEachSink final : public Sink<T> {
 public:
  explicit ForEachSink(std::function<void(const T&)> call) : call_(std::move(call)) {}
  std::string describe() const override { return "calls a function"; }
  asio::awaitable<Status> check(Attempt&, const std::string&) override { co_return Status(); }
  std::unique_ptr<SinkWriter<T>> writer(Attempt&, ShardId) override { return std::make_unique<ForEachWriter<T>>(call_); }

 private:
  std::function<void(const T&)> call_;
};

}  // namespace internal

template <class T>
std::shared_ptr<Source<T>> from_values(std::vector<T> values) {
  return std::make_shared<internal::ValuesSource<T>>(std::move(values));
}
template <class T>
std::shared_ptr<Sink<T>> for_each(std::function<void(const T&)> call) {
  return std::make_shared<internal::ForEachSink<T>>(std::move(call));
}

}  // namespace sluice
