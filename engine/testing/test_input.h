#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <sluice/engine/source.h>

namespace sluice {

/// A source whose records a test gives, split by split, whenever it likes; see TestDriver. What was given stays, so a pipeline that is
/// restored from a checkpoint reads again what came behind it.
///
/// Shard      the test's thread, which is that of all shards.
/// Ownership  a handle; its sources share what was given. A record that is a view (Record) points into memory of the test's.
///
///     TestInput<Order> in({.splits = 2});
///     job.from(in.source(), "orders")…
///     in.give(0, {order_a, order_b});
///     in.end();
template <class T>
class TestInput {
 public:
  struct Options {
    std::string name = "input";
    std::int32_t splits = 1;
    std::size_t batch_max = Batch<T>::kRecordsMax;  ///< records; results should not depend on it
  };
  TestInput() : TestInput(Options{}) {}
  explicit TestInput(Options options) : given_(std::make_shared<Given>()) {
    given_->options = std::move(options);
    given_->parts.resize(static_cast<std::size_t>(given_->options.splits));
  }
  [[nodiscard]] std::shared_ptr<Source<T>> source() const { return std::make_shared<From>(given_); }

  void give(std::int32_t partition, std::vector<T> values) {
    for (T& value : values) part(partition).records.push_back({std::move(value), kNoEventTime});
    given_->ring();
  }
  /// With the times that the source gives them (Kafka's timestamps).
  void give_timed(std::int32_t partition, std::vector<std::pair<EventTime, T>> values) {
    for (auto& [time, value] : values) part(partition).records.push_back({std::move(value), time});
    part(partition).timed = true;
    given_->ring();
  }
  /// One more split, found by the next TestDriver::discover(); its partition.
  std::int32_t add_split() {
    given_->parts.emplace_back();
    return static_cast<std::int32_t>(given_->parts.size()) - 1;
  }
  /// Nothing more comes of one split, or of all: the input ends.
  void end(std::int32_t partition) {
    part(partition).ended = true;
    given_->ring();
  }
  void end() {
    for (Part& part : given_->parts) part.ended = true;
    given_->ended = true;
    given_->ring();
  }
  /// Whether the pipeline holds this split back (max_drift).
  [[nodiscard]] bool paused(std::int32_t partition) const { return given_->parts[static_cast<std::size_t>(partition)].paused; }

 private:
  struct Given {
    struct Record {
      T value;
      EventTime time;
    };
    struct Part {
      std::vector<Record> records;
      bool timed = false, ended = false, paused = false;
    };
    Options options;
    std::vector<Part> parts;
    std::vector<io::Event*> arrivals;  // Of open readers.
    std::size_t known = 0;             // Splits that the pipeline was told of.
    bool ended = false;
    void ring() {
      for (io::Event* arrival : arrivals) arrival->set();
    }
  };
  using Part = typename Given::Part;
  Part& part(std::int32_t partition) { return given_->parts.at(static_cast<std::size_t>(partition)); }

  class Reader final : public SourceReader<T> {
   public:
    explicit Reader(std::shared_ptr<Given> given) : given_(std::move(given)) {}
    asio::awaitable<Status> open(const Context&, std::vector<SplitPosition> starts, io::Event& arrival) override {
      arrival_ = &arrival;
      given_->arrivals.push_back(arrival_);
      for (SplitPosition& start : starts) take(std::move(start));
      co_return Status();
    }
    asio::awaitable<Status> add(SplitPosition start) override {
      take(std::move(start));
      co_return Status();
    }
    asio::awaitable<Result<Polled>> poll(SourceOutput<T>& out) override {
      bool any = false, all = given_->ended;
      for (Place& place : places_) {
        Part& part = given_->parts[static_cast<std::size_t>(place.at.split.partition)];
        const auto from = static_cast<std::size_t>(place.at.next.value());
        const std::size_t to = part.paused ? from : std::min(part.records.size(), from + given_->options.batch_max);
        if (from < to) {
          any = true;
          out.batches.push_back(batch(place, part, from, to));
          place.at.next = Offset(static_cast<std::int64_t>(to));
        }
        const bool read = to == part.records.size() && part.ended;
        if (read && !std::exchange(place.told, true)) out.ended.push_back(place.at.split);
        all = all && read;
      }
      co_return any ? Polled::kData : all ? Polled::kEnd : Polled::kNothing;
    }
    std::vector<SplitPosition> positions() const override {
      std::vector<SplitPosition> positions;
      for (const Place& place : places_) positions.push_back(place.at);
      return positions;
    }
    bool pause(const Split& split, bool on) override {
      given_->parts[static_cast<std::size_t>(split.partition)].paused = on;
      return true;
    }
    asio::awaitable<Status> close() override {
      std::erase(given_->arrivals, arrival_);
      for (const Place& place : places_) given_->parts[static_cast<std::size_t>(place.at.split.partition)].paused = false;
      co_return Status();
    }

   private:
    struct Place {
      SplitPosition at;
      std::shared_ptr<const Split> split;
      bool told = false;  // That it has ended.
    };
    void take(SplitPosition start) {
      auto split = std::make_shared<const Split>(start.split);
      places_.push_back({std::move(start), std::move(split)});
    }
    static Batch<T> batch(const Place& place, const Part& part, std::size_t from, std::size_t to) {
      Batch<T> made;
      made.set_split(place.split);
      for (std::size_t i = from; i < to; ++i) {
        made.records().push_back(part.records[i].value);
        if (part.timed) made.times().push_back(part.records[i].time);
      }
      return made;
    }
    const std::shared_ptr<Given> given_;
    std::vector<Place> places_;
    io::Event* arrival_ = nullptr;
  };

  class From final : public Source<T> {
   public:
    explicit From(std::shared_ptr<Given> given) : given_(std::move(given)) {}
    std::string describe() const override { return "given by a test"; }
    asio::awaitable<Result<std::vector<SplitPosition>>> start(Attempt&, const std::string& id,
                                                              std::optional<std::vector<SplitPosition>> restored) override {
      std::vector<SplitPosition> starts = restored ? *std::move(restored) : std::vector<SplitPosition>{};
      for (std::size_t i = 0; i < given_->parts.size(); ++i) {
        SplitPosition start{id, Split{given_->options.name, static_cast<std::int32_t>(i)}, Offset{0}};
        const bool known = std::ranges::any_of(starts, [&](const SplitPosition& one) { return one.split == start.split; });
        if (!known) starts.push_back(std::move(start));
      }
      given_->known = given_->parts.size();
      co_return starts;
    }
    asio::awaitable<Result<std::vector<SplitPosition>>> discover(Attempt&, const std::string& id) override {
      std::vector<SplitPosition> found;
      for (; given_->known < given_->parts.size(); ++given_->known) {
        found.push_back({id, Split{given_->options.name, static_cast<std::int32_t>(given_->known)}, Offset{0}});
      }
      co_return found;
    }
    std::unique_ptr<SourceReader<T>> reader(Attempt&, ShardId) override { return std::make_unique<Reader>(given_); }

   private:
    const std::shared_ptr<Given> given_;
  };

  std::shared_ptr<Given> given_;
};

}  // namespace sluice
