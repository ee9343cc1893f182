#pragma once

#include "nexmark/generator.h"
#include "nexmark/queries/answer.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sluice/engine/source.h>

namespace sluice::nexmark {

/// Which events a split has. One split has all. Of several each has every so many-th stretch of whole milliseconds, so that events of
/// the same time, whose order some queries ask for, are in one split.
class Share {
 public:
  Share(std::uint64_t events, std::int64_t rate_per_second, std::uint16_t splits)
      : events_(events), rate_(static_cast<std::uint64_t>(rate_per_second)), splits_(splits),
        stretch_ms_(std::max<std::uint64_t>(1, kBatchEvents * 1'000 / rate_)) {}
  // A batch costs about a microsecond; the loops, whose batches cost nothing, have fewer events in one.
  static constexpr std::uint64_t kBatchEvents = 1024;

  [[nodiscard]] std::uint16_t splits() const noexcept { return splits_; }
  [[nodiscard]] std::uint64_t first(std::uint16_t split) const noexcept { return splits_ == 1 ? 0 : begin_of(split); }
  /// Events [n, n + count) are the next batch, and `next` is where the one after it begins; a count of 0 is the end.
  struct Piece {
    std::uint64_t count, next;
  };
  [[nodiscard]] Piece piece(std::uint64_t n) const noexcept {
    if (n >= events_) return {0, n};
    std::uint64_t count = std::min(kBatchEvents, events_ - n);
    if (splits_ == 1) return {count, n + count};
    const std::uint64_t stretch = n * 1'000 / rate_ / stretch_ms_, end = begin_of(stretch + 1);
    count = std::min(count, end - n);
    return {count, n + count < end ? n + count : begin_of(stretch + splits_)};
  }

 private:
  /// The first event at or behind the beginning of a stretch.
  [[nodiscard]] std::uint64_t begin_of(std::uint64_t stretch) const noexcept {
    return (stretch * stretch_ms_ * rate_ + 999) / 1'000;
  }
  std::uint64_t events_, rate_;
  std::uint16_t splits_;
  std::uint64_t stretch_ms_;
};

/// The first events of nexmark's stream, made where they are read; a split for each shard. Positions are numbers of events.
class EventReader final : public SourceReader<Event> {
 public:
  EventReader(const Generator& generator, Share share, std::shared_ptr<Answer> answer)
      : generator_(generator), share_(share), answer_(std::move(answer)) {}
  asio::awaitable<Status> open(const Context&, std::vector<SplitPosition> starts, io::Event&) override {
    for (SplitPosition& start : starts) {
      auto split = std::make_shared<const Split>(start.split);
      at_.push_back({std::move(start), std::move(split)});
    }
    co_return Status();
  }
  asio::awaitable<Result<Polled>> poll(SourceOutput<Event>& out) override {
    answer_->begin();
    for (At& at : at_) {
      const auto n = static_cast<std::uint64_t>(at.position.next.value());
      const Share::Piece piece = share_.piece(n);
      if (piece.count == 0) continue;
      Batch<Event>& batch = out.batches.emplace_back();
      batch.set_split(at.split);
      generator_.append(n, piece.count, batch.records());
      at.position.next = Offset(static_cast<std::int64_t>(piece.next));
    }
    co_return out.batches.empty() ? Polled::kEnd : Polled::kData;
  }
  std::vector<SplitPosition> positions() const override {
    std::vector<SplitPosition> all;
    for (const At& at : at_) all.push_back(at.position);
    return all;
  }

 private:
  struct At {
    SplitPosition position;
    std::shared_ptr<const Split> split;
  };
  const Generator generator_;
  const Share share_;
  const std::shared_ptr<Answer> answer_;
  std::vector<At> at_;
};

class EventSource final : public Source<Event> {
 public:
  EventSource(const Generator& generator, Share share, std::shared_ptr<Answer> answer)
      : generator_(generator), share_(share), answer_(std::move(answer)) {}
  std::string describe() const override { return "nexmark's events"; }
  asio::awaitable<Result<std::vector<SplitPosition>>> start(Attempt&, const std::string& id,
                                                            std::optional<std::vector<SplitPosition>> restored) override {
    if (restored) co_return *std::move(restored);
    std::vector<SplitPosition> starts;
    for (std::uint16_t split = 0; split < share_.splits(); ++split) {
      starts.push_back({id, Split{"nexmark", split}, Offset(static_cast<std::int64_t>(share_.first(split)))});
    }
    co_return starts;
  }
  std::unique_ptr<SourceReader<Event>> reader(Attempt&, ShardId) override {
    return std::make_unique<EventReader>(generator_, share_, answer_);
  }

 private:
  const Generator generator_;
  const Share share_;
  const std::shared_ptr<Answer> answer_;
};

}  // namespace sluice::nexmark
