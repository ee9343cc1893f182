#pragma once

#include "nexmark/events.h"
#include "nexmark/rows.h"

#include <span>
#include <variant>

namespace sluice::nexmark {

/// No query: every event, all of its fields. What a port of the generator is compared by.
template <class Rows>
class AllEvents {
 public:
  explicit AllEvents(Rows& rows) : rows_(rows) {}
  void process(std::span<const Event> events) {
    for (const Event& event : events)
      std::visit([this](const auto& kind) { rows_.emit(kind); }, event);
  }
  void finish() {}

 private:
  Rows& rows_;
};

/// q0: every bid as it is. Measures what everything else pays too.
template <class Rows>
class Q0 {
 public:
  explicit Q0(Rows& rows) : rows_(rows) {}
  void process(std::span<const Event> events) {
    for (const Event& event : events) {
      if (const Bid* bid = std::get_if<Bid>(&event)) {
        rows_.emit(BidRow{bid->auction, bid->bidder, bid->price, bid->time_ms, bid->extra});
      }
    }
  }
  void finish() {}

 private:
  Rows& rows_;
};

/// q1: every bid with its price in euros.
template <class Rows>
class Q1 {
 public:
  explicit Q1(Rows& rows) : rows_(rows) {}
  void process(std::span<const Event> events) {
    for (const Event& event : events) {
      if (const Bid* bid = std::get_if<Bid>(&event)) {
        rows_.emit(BidRow{bid->auction, bid->bidder, bid->price * 908, bid->time_ms, bid->extra});
      }
    }
  }
  void finish() {}

 private:
  Rows& rows_;
};

/// q2: bids on every 123rd auction.
template <class Rows>
class Q2 {
 public:
  explicit Q2(Rows& rows) : rows_(rows) {}
  void process(std::span<const Event> events) {
    for (const Event& event : events) {
      const Bid* bid = std::get_if<Bid>(&event);
      if (bid != nullptr && bid->auction % 123 == 0) rows_.emit(PriceRow{bid->auction, bid->price});
    }
  }
  void finish() {}

 private:
  Rows& rows_;
};

}  // namespace sluice::nexmark
