#pragma once

#include "nexmark/events.h"
#include "nexmark/loops/windows.h"
#include "nexmark/rows.h"
#include <boost/unordered/unordered_flat_map.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

namespace sluice::nexmark {

/// q11: bids of a bidder per session, which ends ten seconds after its last bid. A bid exactly then
/// begins the next.
template <class Rows>
class Q11 {
 public:
  explicit Q11(Rows& rows) : rows_(rows) {}
  void process(std::span<const Event> events) {
    for (const Event& event : events) {
      const Bid* bid = std::get_if<Bid>(&event);
      if (bid == nullptr) continue;
      if (bid->time_ms >= next_sweep_ms_) sweep(bid->time_ms);
      Session& session = sessions_[bid->bidder];
      if (session.bids > 0 && bid->time_ms >= session.last_ms + kSessionGap_ms) {
        emit(bid->bidder, session);
        session.bids = 0;
      }
      if (session.bids == 0) session.start_ms = bid->time_ms;
      session.last_ms = bid->time_ms;
      ++session.bids;
    }
  }
  void finish() {
    for (const auto& [bidder, session] : sessions_) emit(bidder, session);
    sessions_.clear();
  }

 private:
  struct Session {
    std::int64_t start_ms = 0, last_ms = 0, bids = 0;
  };
  // Once a gap: everything is looked at twice at most before it is over, and at most two gaps of
  // sessions are kept.
  void sweep(std::int64_t time_ms) {
    for (auto at = sessions_.begin(); at != sessions_.end();) {
      if (time_ms < at->second.last_ms + kSessionGap_ms) {
        ++at;
      } else {
        emit(at->first, at->second);
        sessions_.erase(at++);
      }
    }
    next_sweep_ms_ = time_ms + kSessionGap_ms;
  }
  void emit(std::int64_t bidder, const Session& session) {
    rows_.emit(
        SessionRow{bidder, session.bids, session.start_ms, session.last_ms + kSessionGap_ms});
  }

  Rows& rows_;
  std::int64_t next_sweep_ms_ = 0;
  boost::unordered_flat_map<std::int64_t, Session> sessions_;
};

/// q18: the last bid of every bidder on every auction, when the stream has ended. Of bids at the
/// same millisecond the one that came last.
template <class Rows>
class Q18 {
 public:
  explicit Q18(Rows& rows) : rows_(rows) {}
  void process(std::span<const Event> events) {
    for (const Event& event : events) {
      const Bid* bid = std::get_if<Bid>(&event);
      if (bid == nullptr) continue;
      last_[{bid->bidder, bid->auction}] = {bid->price, bid->time_ms, bid->channel, bid->url,
                                            bid->extra};
    }
  }
  void finish() {
    for (const auto& [key, bid] : last_) {
      rows_.emit(LastBidRow{key.second, key.first, bid.price, bid.channel, bid.url, bid.time_ms,
                            bid.extra});
    }
    last_.clear();
  }

 private:
  struct Last {
    std::int64_t price = 0, time_ms = 0;
    std::string_view channel, url, extra;
  };
  Rows& rows_;
  boost::unordered_flat_map<std::pair<std::int64_t, std::int64_t>, Last>
      last_;  // By bidder and auction.
};

}  // namespace sluice::nexmark
