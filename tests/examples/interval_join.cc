// Orders and their payments: paid, if a payment comes within three seconds; unpaid only when none can come any more.
//   interval_join
#include <cstdio>
#include <string>

#include <boost/describe/class.hpp>

#include <sluice/sluice.h>

using namespace sluice;
using namespace std::chrono_literals;

struct Order {
  int id = 0;
  EventTime time{};
};
BOOST_DESCRIBE_STRUCT(Order, (), (id, time))
struct Payment {
  int order = 0;
  int cents = 0;
  EventTime time{};
};
BOOST_DESCRIBE_STRUCT(Payment, (), (order, cents, time))

int main() {
  const auto at = [](int seconds) { return EventTime(std::chrono::seconds(seconds)); };
  Job job{"interval-join"};
  auto orders = job.from(from_values<Order>({{1, at(0)}, {2, at(1)}, {3, at(9)}}), "orders")
                    .watermarks(monotonous<Order>(&Order::time), "order-time");
  auto payments = job.from(from_values<Payment>({{1, 250, at(2)}, {1, 750, at(3)}, {2, 990, at(5)}, {3, 100, at(9)}}), "payments")
                      .watermarks(monotonous<Payment>(&Payment::time), "payment-time");
  orders.key_by(&Order::id)
      .join(payments.key_by(&Payment::order))
      .between(0s, 3s)
      .left("paid", [](const Order& order, const Payment* payment) {
        const std::string id = "order " + std::to_string(order.id);
        return payment == nullptr ? id + " is unpaid" : id + " was paid " + std::to_string(payment->cents);
      })
      .to(for_each<std::string>([](const std::string& line) { std::printf("%s\n", line.c_str()); }));
  return run(std::move(job));
}
