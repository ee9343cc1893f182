// State by key, one container a word: value, list, map, reducing, aggregating, time_to_live.
//   operators_on_keys value
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

#include <boost/describe/class.hpp>

#include <sluice/sluice.h>

using namespace sluice;
using namespace std::chrono_literals;

struct Order {
  std::string customer, article;
  EventTime time;
  std::int64_t cents = 0;
};
BOOST_DESCRIBE_STRUCT(Order, (), (customer, article, time, cents))

Order order(std::string customer, std::string article, std::int64_t second, std::int64_t cents) {
  return {std::move(customer), std::move(article), EventTime(std::chrono::seconds(second)), cents};
}

using Line = Collector<std::string>;
struct Base : KeyedProcessFunction<std::string, Order, std::string> {
  template <class Value>
  static void say(Ctx& ctx, const Value& value, Line& out) { out.emit(std::string(ctx.key()) + ": " + std::to_string(value)); }
};

struct Count : Base {
  void declare(StateSet& states) { states.add("count", count_); }
  void process(const Order&, Ctx& ctx, Line& out) { say(ctx, ++ctx.of(count_).value(), out); }
  ValueState<std::string, std::int64_t> count_;
};

struct Articles : Base {
  void declare(StateSet& states) { states.add("articles", articles_); }
  void process(const Order& one, Ctx& ctx, Line& out) {
    ctx.of(articles_).add(one.article);
    std::string line = std::string(ctx.key()) + ":";
    for (const std::string& article : *ctx.of(articles_).find()) line += " " + article;
    out.emit(line);
  }
  KeyedListState<std::string, std::string> articles_;
};

struct Spent : Base {
  void declare(StateSet& states) { states.add("spent", spent_); }
  void process(const Order& one, Ctx& ctx, Line& out) {
    ctx.of(spent_).at(one.article) += one.cents;
    std::string line = std::string(ctx.key()) + ":";
    for (const auto& [article, cents] : *ctx.of(spent_).find()) line += " " + article + " " + std::to_string(cents);
    out.emit(line);
  }
  MapState<std::string, std::string, std::int64_t> spent_;
};

struct Dearest : Base {
  struct Max {
    std::int64_t operator()(std::int64_t a, std::int64_t b) const { return std::max(a, b); }
  };
  void declare(StateSet& states) { states.add("dearest", dearest_); }
  void process(const Order& one, Ctx& ctx, Line& out) { say(ctx, ctx.of(dearest_).add(one.cents), out); }
  ReducingState<std::string, std::int64_t, Max> dearest_{Max{}};
};

struct Mean : Base {
  struct Average {  // What is kept is not what is said.
    using Accumulator = std::pair<std::int64_t, std::int64_t>;
    void add(Accumulator& sum, std::int64_t cents) const {
      sum.first += cents;
      ++sum.second;
    }
    std::int64_t result(const Accumulator& sum) const { return sum.first / sum.second; }
  };
  void declare(StateSet& states) { states.add("mean", mean_); }
  void process(const Order& one, Ctx& ctx, Line& out) {
    ctx.of(mean_).add(one.cents);
    say(ctx, *ctx.of(mean_).result(), out);
  }
  AggregatingState<std::string, Average> mean_;
};

/// As Count, but who has not ordered for a minute begins anew. It goes by the orders' own times.
struct Recent : Base {
  void declare(StateSet& states) { states.add("recent", recent_); }
  void process(const Order&, Ctx& ctx, Line& out) { say(ctx, ++ctx.of(recent_).value(), out); }
  ValueState<std::string, std::int64_t> recent_{TimeToLive{.after = 1min}};
};

int main(int argc, char** argv) {
  const std::string kind = argc > 1 ? argv[1] : "value";
  Job job{"operators-on-keys-" + kind};
  job.shards(2);
  auto orders = job.from(from_values<Order>({order("Ann", "vase", 1, 300), order("Bob", "lamp", 2, 1'500), order("Ann", "lamp", 30, 1'200),
                                             order("Bob", "lamp", 150, 900), order("Ann", "vase", 200, 300)}),
                         "orders")
                    .watermarks(monotonous<Order>(&Order::time).every_record())
                    .key_by(&Order::customer);
  const auto with = [&](auto function) {
    orders.process(kind, std::move(function)).to(for_each<std::string>([](const std::string& line) {
      std::printf("%s\n", line.c_str());
    }));
    return run(std::move(job));
  };
  if (kind == "value") return with(Count{});
  if (kind == "list") return with(Articles{});
  if (kind == "map") return with(Spent{});
  if (kind == "reducing") return with(Dearest{});
  if (kind == "aggregating") return with(Mean{});
  if (kind == "time_to_live") return with(Recent{});
  std::fprintf(stderr, "operators_on_keys: there is no kind \"%s\"; the file's first line has them\n", kind.c_str());
  return 2;
}
