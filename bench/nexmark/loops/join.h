#pragma once

#include "nexmark/events.h"
#include "nexmark/loops/windows.h"
#include "nexmark/rows.h"
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

namespace sluice::nexmark {

/// q3: auctions of category 10 with their sellers, if these live in Oregon, Idaho or California.
/// Either may come first, at any distance, so every person is kept.
template <class Rows>
class Q3 {
 public:
  explicit Q3(Rows& rows) : rows_(rows) {}
  void process(std::span<const Event> events) {
    for (const Event& event : events) {
      if (const Auction* auction = std::get_if<Auction>(&event)) {
        if (auction->category == 10) join(*auction);
      } else if (const Person* person = std::get_if<Person>(&event)) {
        join(*person);
      }
    }
  }
  void finish() {}

 private:
  struct Seller {
    std::string_view name, city, state;
    bool here = false;
  };
  void join(const Auction& auction) {
    const auto seller = sellers_.find(auction.seller);
    if (seller == sellers_.end()) {
      waiting_[auction.seller].push_back(auction.id);
    } else if (seller->second.here) {
      emit(seller->second, auction.id);
    }
  }
  void join(const Person& person) {
    const bool here = person.state == "OR" || person.state == "ID" || person.state == "CA";
    const Seller seller{person.name, person.city, person.state, here};
    sellers_.emplace(person.id, seller);
    const auto waiting = waiting_.find(person.id);
    if (waiting == waiting_.end()) return;
    if (here) {
      for (const std::int64_t auction : waiting->second) emit(seller, auction);
    }
    waiting_.erase(waiting);
  }
  void emit(const Seller& seller, std::int64_t auction) {
    rows_.emit(LocalItemRow{seller.name, seller.city, seller.state, auction});
  }

  Rows& rows_;
  boost::unordered_flat_map<std::int64_t, Seller> sellers_;
  boost::unordered_flat_map<std::int64_t, std::vector<std::int64_t>>
      waiting_;  // Auctions by a seller who is to come.
};

/// q8: who joined and opened an auction within the same ten seconds.
template <class Rows>
class Q8 {
 public:
  explicit Q8(Rows& rows) : rows_(rows) {}
  void process(std::span<const Event> events) {
    for (const Event& event : events) {
      if (const Auction* auction = std::get_if<Auction>(&event)) {
        reach(auction->time_ms);
        sellers_.insert(auction->seller);
      } else if (const Person* person = std::get_if<Person>(&event)) {
        reach(person->time_ms);
        persons_.push_back({person->id, person->name});
      }
    }
  }
  void finish() {
    for (const Newcomer& person : persons_) {
      if (sellers_.contains(person.id)) rows_.emit(NewSellerRow{end_ms_, person.id, person.name});
    }
    persons_.clear();
    sellers_.clear();
  }

 private:
  struct Newcomer {
    std::int64_t id;
    std::string_view name;
  };
  void reach(std::int64_t time_ms) {
    if (time_ms < end_ms_) return;
    finish();
    end_ms_ = window_end_ms(time_ms, kWindow_ms);
  }

  Rows& rows_;
  std::int64_t end_ms_ = 0;
  std::vector<Newcomer> persons_;
  boost::unordered_flat_set<std::int64_t> sellers_;
};

}  // namespace sluice::nexmark
