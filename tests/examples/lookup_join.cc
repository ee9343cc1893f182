// Each order gets the name of its customer, whichever of the two comes first.
//   lookup_join
#include <cstdio>
#include <string>

#include <boost/describe/class.hpp>

#include <sluice/sluice.h>

using namespace sluice;

struct Order {
  int id = 0;
  int customer = 0;
  std::string currency;
  int amount = 0;
};
BOOST_DESCRIBE_STRUCT(Order, (), (id, customer, currency, amount))
struct Customer {
  int id = 0;
  std::string name;
};
BOOST_DESCRIBE_STRUCT(Customer, (), (id, name))

int main() {
  Job job{"lookup-join"};
  auto orders = job.from(from_values<Order>({{1, 7, "EUR", 30}, {2, 8, "EUR", 5}, {3, 7, "USD", 12}, {4, 9, "EUR", 1}}), "orders");
  auto customers = job.from(from_values<Customer>({{7, "Ada"}, {8, "Blaise"}}), "customers");
  // Order 4 waits for customer 9 as long as the job runs: its side says nothing, and nothing is made without it.
  orders.key_by(&Order::customer)
      .lookup(customers.key_by(&Customer::id))
      .waiting("named", [](const Order& order, const Customer& customer) { return std::to_string(order.id) + " by " + customer.name; })
      .to(for_each<std::string>([](const std::string& line) { std::printf("%s\n", line.c_str()); }));
  return run(std::move(job));
}
