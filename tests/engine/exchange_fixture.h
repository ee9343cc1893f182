#pragma once

#include "../support/jobs.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::exchange_test {

using jobs_test::Collected;
using jobs_test::Directory;
using jobs_test::run_to_end;

/// `splits` splits of `count` records each; `make(split, n, arena)` makes the n-th, from 1.
template <class T>
class Splits final : public Source<T> {
 public:
  using Make = std::function<T(int split, int n, Arena& arena)>;
  struct Options {
    int splits = 1, count = 0, batch = 1000;
    std::shared_ptr<std::atomic<std::int64_t>> polled = std::make_shared<std::atomic<std::int64_t>>(0);
    std::vector<int> counts = {};  ///< of each split, where they differ
    bool uneven = false;           ///< the first split is read fastest
    bool ends = true;              ///< otherwise the splits fall silent
    std::shared_ptr<std::atomic<int>> pauses = std::make_shared<std::atomic<int>>(0);
  };
  Splits(Options options, Make make) : options_(std::move(options)), make_(std::move(make)) {}
  std::string describe() const override { return "splits"; }
  asio::awaitable<Result<std::vector<SplitPosition>>> start(Attempt&, const std::string& id,
                                                            std::optional<std::vector<SplitPosition>> restored) override {
    if (restored) co_return *std::move(restored);
    std::vector<SplitPosition> starts;
    for (int i = 0; i < options_.splits; ++i) starts.push_back({id, Split{"s", i}, Offset{1}});
    co_return starts;
  }
  std::unique_ptr<SourceReader<T>> reader(Attempt&, ShardId) override { return std::make_unique<Reader>(options_, make_); }

 private:
  class Reader final : public SourceReader<T> {
   public:
    Reader(Options options, Make make) : options_(std::move(options)), make_(std::move(make)) {}
    asio::awaitable<Status> open(const Context&, std::vector<SplitPosition> starts, io::Event&) override {
      at_ = std::move(starts);
      co_return Status();
    }
    asio::awaitable<Result<Polled>> poll(SourceOutput<T>& out) override {
      bool any = false, all = options_.ends;
      for (SplitPosition& at : at_) {
        const auto part = static_cast<std::size_t>(at.split.partition);
        const auto last = static_cast<std::int64_t>(options_.counts.empty() ? options_.count : options_.counts[part]);
        if (at.next.value() > last) continue;
        all = false;
        if (paused_.contains(at.split)) continue;
        any = true;
        const std::size_t most = static_cast<std::size_t>(options_.batch) / (options_.uneven ? part + 1 : 1);
        Batch<T> batch;
        batch.set_split(std::make_shared<const Split>(at.split));
        auto arena = std::make_shared<Arena>();
        while (at.next.value() <= last && batch.size() < most) {
          batch.records().push_back(make_(at.split.partition, static_cast<int>(at.next.value()), *arena));
          ++at.next;
        }
        batch.own(arena, arena->bytes());
        *options_.polled += static_cast<std::int64_t>(batch.size());
        out.batches.push_back(std::move(batch));
      }
      co_return any ? Polled::kData : all ? Polled::kEnd : Polled::kNothing;
    }
    std::vector<SplitPosition> positions() const override { return at_; }
    bool pause(const Split& split, bool on) override {
      on ? void(paused_.insert(split)) : void(paused_.erase(split));
      *options_.pauses += on ? 1 : 0;
      return true;
    }

   private:
    const Options options_;
    const Make make_;
    std::vector<SplitPosition> at_;
    std::set<Split> paused_;
  };

  const Options options_;
  const Make make_;
};

template <class T>
std::shared_ptr<Source<T>> splits(typename Splits<T>::Options options, typename Splits<T>::Make make) {
  return std::make_shared<Splits<T>>(std::move(options), std::move(make));
}

/// A count for each key; belongs to the key's group, and goes where that goes.
class Counts final : public State {
 public:
  std::uint64_t& operator[](std::int64_t key) { return values_[key]; }
  std::string type() const override { return "counts"; }
  void save(std::string& out) const override {
    for (const auto& [key, value] : values_) {
      Codec<std::int64_t>::write(key, out);
      Codec<std::uint64_t>::write(value, out);
    }
  }
  Status restore(std::string_view bytes, const Context& context) override {
    while (!bytes.empty()) {
      std::int64_t key = 0;
      std::uint64_t value = 0;
      if (!Codec<std::int64_t>::read(bytes, key) || !Codec<std::uint64_t>::read(bytes, value)) {
        return Status(Code::kCorrupt, "counts end in the middle");
      }
      const KeyGroup group = context.key_groups.of<std::int64_t>(key);
      if (context.key_groups.owner(group, context.parallelism) == context.shard) values_[key] += value;
    }
    return {};
  }

 private:
  std::map<std::int64_t, std::uint64_t> values_;
};

using Item = std::pair<int, int>;  // Split and number.
struct Counted {
  std::int64_t key;
  Item item;
  std::uint64_t count;  // The how manieth of its key.
  int shard;
};

class CountByKey final : public Operator<Keyed<std::int64_t, Item>, Counted> {
 public:
  void declare(StateSet& states) override { states.add("counts", counts_); }
  Status open(const Context& context) override {
    context_ = context;
    return {};
  }
  Status process(const Batch<Keyed<std::int64_t, Item>>& batch, Collector<Counted>& out) override {
    for (const auto& record : batch) {
      if (record.group != context_.key_groups.of<std::int64_t>(record.key) ||
          context_.key_groups.owner(record.group, context_.parallelism) != context_.shard) {
        return Status(Code::kInvalid, "a key is on the wrong shard");
      }
      out.emit({record.key, record.value, ++counts_[record.key], context_.shard.value()});
    }
    return {};
  }

 private:
  Context context_;
  Counts counts_;
};

inline std::function<std::unique_ptr<Operator<Keyed<std::int64_t, Item>, Counted>>()> count_by_key() {
  return [] { return std::make_unique<CountByKey>(); };
}

}  // namespace sluice::exchange_test
