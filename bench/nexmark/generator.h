#pragma once

#include "nexmark/events.h"
#include "nexmark/tables.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::nexmark {

/// Nexmark's stream of persons, auctions and bids, with the distribution of the original. Event n
/// depends on the options and n alone: any part of the stream can be made by anyone, in any order.
///
/// Shard      any; it is immutable once made, so shards may share one.
/// Units      times are milliseconds since the Unix epoch; rate_per_second counts events in event
/// time, not in real time. Errors     a rate outside 1 to 1,000,000,000 is asserted. Nothing fails,
/// nothing is allocated for an event. Ownership  texts are views into Tables, which live until the
/// process ends; events may outlive their generator.
///
///     const Generator generator({.seed = 7});
///     std::vector<Event> batch(256);
///     for (std::uint64_t n = 0; n < events; n += batch.size()) generator.fill(n, batch);
///
/// The draws are specified in generator.cc: with the tables, they are what a port must repeat. The
/// digest of the first 100,000 events (tests/bench/generator_test.cc) says whether it does.
class Generator {
 public:
  struct Options {
    std::uint64_t seed = 1;
    std::int64_t rate_per_second = 100'000;
    std::int64_t base_time_ms =
        1'436'918'400'000;  // 2015-07-15, midnight: every window of the queries starts there.
  };
  explicit Generator(Options options);

  [[nodiscard]] Event at(std::uint64_t n) const;
  /// Events first, first + stride, first + 2 × stride, …: a shard's share of the stream, or with
  /// stride 1 all of it.
  void fill(std::uint64_t first, std::span<Event> out, std::uint64_t stride = 1) const;
  /// Events first, first + 1, … behind those that are there: as fill(), without making them empty first.
  void append(std::uint64_t first, std::size_t count, std::vector<Event>& out) const;
  [[nodiscard]] std::int64_t time_ms(std::uint64_t n) const;

 private:
  class Place;
  [[nodiscard]] std::uint64_t word(std::uint64_t n, std::uint64_t draw) const noexcept;
  /// Calls each(i, event) for `count` events.
  template <class Each>
  void generate(std::uint64_t first, std::size_t count, std::uint64_t stride, Each&& each) const;
  [[nodiscard]] Event make(std::uint64_t n, std::int64_t time_ms) const;
  [[nodiscard]] Person person(std::uint64_t n, const Place& place, std::int64_t time_ms) const;
  [[nodiscard]] Auction auction(std::uint64_t n, const Place& place, std::int64_t time_ms) const;
  [[nodiscard]] Bid bid(std::uint64_t n, const Place& place, std::int64_t time_ms) const;
  [[nodiscard]] std::int64_t price(std::uint64_t random) const noexcept;

  Options options_;
  std::uint64_t key_;
  const Tables& tables_;
};

}  // namespace sluice::nexmark
