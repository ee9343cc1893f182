// What records go through, one kind a word: chain, union, split, rebalance, broadcast, connect, timers, operator_state.
//   operators chain
// (operators_on_keys.cc, running.cc, windows.cc and the joins have the rest.)
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/describe/class.hpp>

#include <sluice/sluice.h>

using namespace sluice;
using namespace std::chrono_literals;

struct Order {
  std::string customer;
  EventTime time;
  std::int64_t cents = 0;
};
BOOST_DESCRIBE_STRUCT(Order, (), (customer, time, cents))
using ByCustomer = Keyed<std::string, Order>;

Order order(std::string customer, std::int64_t second, std::int64_t cents) {
  return {std::move(customer), EventTime(std::chrono::seconds(second)), cents};
}

auto print() {
  return for_each<std::string>([](const std::string& line) { std::printf("%s\n", line.c_str()); });
}
std::string text_of(const Order& one) { return one.customer + " " + std::to_string(one.cents); }

/// Orders before their payment wait for it; a CoOperator of a few lines. Each side's state is the other's memory.
struct Match {
  void declare(StateSet& states) {
    states.add("open", open_);
    states.add("paid", paid_);
  }
  void left(const ByCustomer& placed, EventTime, Collector<std::string>& out) {
    if (paid_.erase(placed.key)) {
      out.emit(placed.key + " had paid before");
    } else {
      open_.set(placed.key, placed.value.cents);
    }
  }
  void right(const Keyed<std::string, std::string>& payment, EventTime, Collector<std::string>& out) {
    if (const std::int64_t* cents = open_.find(payment.key)) {
      out.emit(payment.key + " paid " + std::to_string(*cents));
      open_.erase(payment.key);
    } else {
      paid_.set(payment.key, true);
    }
  }
  ValueState<std::string, std::int64_t> open_;
  ValueState<std::string, bool> paid_;
};

/// Says so when a customer has ordered nothing for a minute. Large orders go aside at once.
struct Silent : KeyedProcessFunction<std::string, Order, std::string, std::string> {
  void declare(StateSet& states) { states.add("last", last_); }
  void process(const Order& one, Ctx& ctx, Collector<std::string>&) {
    ctx.of(last_).value() = ctx.time();
    ctx.timers().set_event_time(ctx.time() + 1min);
    if (one.cents >= 1'000) ctx.side().emit("large: " + text_of(one));
  }
  void on_timer(EventTime time, Ctx& ctx, Collector<std::string>& out) {
    if (ctx.of(last_).value() + 1min == time) out.emit(std::string(ctx.key()) + " is silent");
  }
  ValueState<std::string, EventTime> last_;
};

/// Numbers what its shard gets: state of the operator, not of a key. At another number of shards the entries are dealt out.
class Numbering final : public Operator<Order, std::string> {
 public:
  void declare(StateSet& states) override { states.add("count", count_); }
  Status process(const Batch<Order>& batch, Collector<std::string>& out) override {
    if (count_.values().empty()) count_.values().push_back(0);
    for (const Order& one : batch) out.emit(std::to_string(++count_.values().front()) + ": " + text_of(one));
    return {};
  }

 private:
  ListState<std::uint64_t> count_;
};

int main(int argc, char** argv) {
  const std::string kind = argc > 1 ? argv[1] : "chain";
  Job job{"operators-" + kind};
  job.shards(kind == "rebalance" || kind == "broadcast" ? 2 : 1);
  auto orders = job.from(from_values<Order>({order("Ann", 1, 300), order("Bob", 2, 1'500), order("Ann", 30, 200), order("Cyd", 200, 40)}),
                         "orders");
  if (kind == "chain") {
    // One loop over a batch, whatever its length: nothing is called virtually and nothing is allocated for a record.
    orders.filter([](const Order& one) { return one.cents >= 100; })
        .peek([](const Order& one) { std::printf("seen: %s\n", one.customer.c_str()); })
        .flat_map<std::string>([](const Order& one, auto&& emit) {
          for (std::int64_t part = 0; part < one.cents / 500 + 1; ++part) emit(one.customer);
        })
        .map([](const std::string& customer) { return customer + ", part"; })
        .name("parts")
        .to(print());
  } else if (kind == "union") {
    auto more = job.from(from_values<Order>({order("Dee", 3, 10)}), "more");
    orders.union_with(more, "all").map(text_of).to(print());
  } else if (kind == "split") {
    auto parts = orders.split<std::string, std::string>("by-size", [](const Order& one, Arena&, auto& small, auto& large) {
      if (one.cents < 1'000) small(text_of(one));
      else large("large: " + text_of(one));
    });
    parts.to(print(), "small");
    parts.side().to(print(), "large");
  } else if (kind == "rebalance") {
    orders.rebalance("spread").map(text_of).to(print());
  } else if (kind == "broadcast") {
    orders.broadcast("everywhere").map(text_of).to(print());  // Each line twice: once a shard.
  } else if (kind == "connect") {
    auto payments = job.from(from_values<std::string>({"Bob", "Cyd", "Ann"}), "payments");
    orders.key_by(&Order::customer)
        .connect(payments.key_by([](const std::string& customer) { return customer; }))
        .process<std::string>("match", Match{})
        .map([](const std::string& line) { return line.substr(0, 3); })  // Which of the two came first is chance here.
        .to(print());
  } else if (kind == "timers") {
    auto silent = orders.watermarks(monotonous<Order>(&Order::time)).key_by(&Order::customer).process("silent", Silent{});
    silent.to(print(), "silent-ones");
    silent.side().to(print(), "large-ones");
  } else if (kind == "operator_state") {
    orders.process<std::string>("number", [] { return std::make_unique<Numbering>(); }).to(print());
  } else {
    std::fprintf(stderr, "operators: there is no kind \"%s\"; the file's first line has them\n", kind.c_str());
    return 2;
  }
  return run(std::move(job));
}
