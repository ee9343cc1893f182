#include "nexmark_reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

namespace sluice::nexmark {
namespace {

using RowTexts = std::vector<std::string>;

template <class Kind>
std::vector<Kind> all(const std::vector<Event>& events) {
  std::vector<Kind> kind;
  for (const Event& event : events) {
    if (std::holds_alternative<Kind>(event)) kind.push_back(std::get<Kind>(event));
  }
  return kind;
}

RowTexts bids_at(std::int64_t factor, const std::vector<Event>& events) {
  RowTexts rows;
  for (const Bid& b : all<Bid>(events)) {
    rows.push_back(
        fmt::format("{}|{}|{}|{}|{}", b.auction, b.bidder, b.price * factor, b.time_ms, b.extra));
  }
  return rows;
}

RowTexts q2(const std::vector<Event>& events) {
  RowTexts rows;
  for (const Bid& b : all<Bid>(events)) {
    if (b.auction % 123 == 0) rows.push_back(fmt::format("{}|{}", b.auction, b.price));
  }
  return rows;
}

RowTexts q3(const std::vector<Event>& events) {
  const std::vector<Person> persons = all<Person>(events);
  RowTexts rows;
  for (const Auction& a : all<Auction>(events)) {
    for (const Person& p : persons) {
      if (a.seller != p.id || a.category != 10) continue;
      if (p.state != "OR" && p.state != "ID" && p.state != "CA") continue;
      rows.push_back(fmt::format("{}|{}|{}|{}", p.name, p.city, p.state, a.id));
    }
  }
  return rows;
}

// Each of the windows of ten seconds that begin at even seconds and contain the bid counts it.
RowTexts q5(const std::vector<Event>& events) {
  std::map<std::int64_t, std::map<std::int64_t, std::int64_t>> windows;
  for (const Bid& b : all<Bid>(events)) {
    for (std::int64_t start = b.time_ms - b.time_ms % 2'000; start > b.time_ms - 10'000;
         start -= 2'000) {
      ++windows[start + 10'000][b.auction];
    }
  }
  RowTexts rows;
  for (const auto& [end, counts] : windows) {
    for (const auto& [auction, bids] : counts) {
      const bool most = std::all_of(counts.begin(), counts.end(), [most = bids](const auto& other) {
        return other.second <= most;
      });
      if (most) rows.push_back(fmt::format("{}|{}|{}", end, auction, bids));
    }
  }
  return rows;
}

RowTexts q7(const std::vector<Event>& events) {
  std::map<std::int64_t, std::int64_t> highest;  // By start of the window.
  const std::vector<Bid> bids = all<Bid>(events);
  for (const Bid& b : bids) {
    std::int64_t& price = highest[b.time_ms / 10'000 * 10'000];
    price = std::max(price, b.price);
  }
  RowTexts rows;
  for (const Bid& b : bids) {
    const std::int64_t start = b.time_ms / 10'000 * 10'000;
    if (b.price != highest[start]) continue;
    rows.push_back(fmt::format("{}|{}|{}|{}|{}|{}", start + 10'000, b.auction, b.price, b.bidder,
                               b.time_ms, b.extra));
  }
  return rows;
}

RowTexts q8(const std::vector<Event>& events) {
  std::set<std::pair<std::int64_t, std::int64_t>> sold;  // Window and seller.
  for (const Auction& a : all<Auction>(events)) sold.insert({a.time_ms / 10'000, a.seller});
  RowTexts rows;
  for (const Person& p : all<Person>(events)) {
    const std::int64_t window = p.time_ms / 10'000;
    if (sold.count({window, p.id}) > 0)
      rows.push_back(fmt::format("{}|{}|{}", (window + 1) * 10'000, p.id, p.name));
  }
  return rows;
}

RowTexts q11(const std::vector<Event>& events) {
  std::map<std::int64_t, std::vector<std::int64_t>> bidders;
  for (const Bid& b : all<Bid>(events)) bidders[b.bidder].push_back(b.time_ms);
  RowTexts rows;
  for (const auto& [bidder, times] : bidders) {
    std::size_t begin = 0;
    for (std::size_t at = 1; at <= times.size(); ++at) {
      if (at < times.size() && times[at] - times[at - 1] < 10'000) continue;
      rows.push_back(
          fmt::format("{}|{}|{}|{}", bidder, at - begin, times[begin], times[at - 1] + 10'000));
      begin = at;
    }
  }
  return rows;
}

RowTexts q18(const std::vector<Event>& events) {
  std::map<std::pair<std::int64_t, std::int64_t>, Bid> last;
  for (const Bid& b : all<Bid>(events)) {
    const auto [at, is_new] = last.insert({{b.bidder, b.auction}, b});
    if (!is_new && b.time_ms >= at->second.time_ms) at->second = b;
  }
  RowTexts rows;
  for (const auto& [key, b] : last) {
    rows.push_back(fmt::format("{}|{}|{}|{}|{}|{}|{}", b.auction, b.bidder, b.price, b.channel,
                               b.url, b.time_ms, b.extra));
  }
  return rows;
}

}  // namespace

std::vector<std::string> reference(std::string_view query, const std::vector<Event>& events) {
  if (query == "q0") return bids_at(1, events);
  if (query == "q1") return bids_at(908, events);
  if (query == "q2") return q2(events);
  if (query == "q3") return q3(events);
  if (query == "q5") return q5(events);
  if (query == "q7") return q7(events);
  if (query == "q8") return q8(events);
  if (query == "q11") return q11(events);
  if (query == "q18") return q18(events);
  fmt::print(stderr, "there is no reference for query \"{}\"\n", query);
  std::abort();
}

}  // namespace sluice::nexmark
