// What is kept of a key over the whole stream: deduplicate, top_n, count_distinct.
//   running deduplicate
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>

#include <sluice/sluice.h>

using namespace sluice;
using namespace std::chrono_literals;

struct Bid {
  std::string id, auction, bidder;
  EventTime time;
  std::int64_t price = 0;
};
BOOST_DESCRIBE_STRUCT(Bid, (), (id, auction, bidder, time, price))

Bid bid(std::string id, std::string auction, std::string bidder, std::int64_t second, std::int64_t price) {
  return {std::move(id), std::move(auction), std::move(bidder), EventTime(std::chrono::seconds(second)), price};
}

int main(int argc, char** argv) {
  const std::string kind = argc > 1 ? argv[1] : "deduplicate";
  Job job{"running-" + kind};
  job.shards(1);  // So that lines come in the order of the bids.
  auto bids = job.from(from_values<Bid>({bid("b1", "vase", "Ann", 1, 10), bid("b2", "lamp", "Bob", 2, 30), bid("b1", "vase", "Ann", 3, 10),
                                         bid("b3", "vase", "Bob", 4, 25), bid("b4", "vase", "Ann", 5, 20), bid("b5", "vase", "Ann", 6, 5),
                                         bid("b2", "lamp", "Bob", 90, 30)}))
                  .watermarks(monotonous<Bid>(&Bid::time));
  if (kind == "deduplicate") {
    // A bid that comes again within a minute is a copy.
    deduplicate(bids.key_by(&Bid::id), "once", {.within = 1min}).to(for_each<Bid>([](const Bid& one) {
      std::printf("%s: %ld for the %s\n", one.id.c_str(), static_cast<long>(one.price), one.auction.c_str());
    }));
  } else if (kind == "top_n") {
    using Best = Updated<std::string, std::vector<Bid>>;
    running(bids.key_by(&Bid::auction), top_n(2, &Bid::price), "best").to(for_each<Best>([](const Best& best) {
      std::printf("%s:", best.key.c_str());
      for (const Bid& one : best.value) std::printf(" %s %ld", one.bidder.c_str(), static_cast<long>(one.price));
      std::printf("\n");
    }));
  } else if (kind == "count_distinct") {
    using Bidders = Updated<std::string, std::uint64_t>;
    running(bids.key_by(&Bid::auction), count_distinct(&Bid::bidder), "bidders").to(for_each<Bidders>([](const Bidders& now) {
      std::printf("%s: %lu\n", now.key.c_str(), static_cast<unsigned long>(now.value));
    }));
  } else {
    std::fprintf(stderr, "running: there is no kind \"%s\": deduplicate, top_n, count_distinct\n", kind.c_str());
    return 2;
  }
  return run(std::move(job));
}
