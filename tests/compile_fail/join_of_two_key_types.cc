// Equal keys of two types may hash to two shards: the join would silently find nothing.
// Expect: both sides' keys must be of one type
#include <sluice/engine/collection.h>
#include <sluice/engine/job.h>

#include <cstdint>
#include <string>

#include <boost/describe/class.hpp>

struct Order {
  std::int64_t customer = 0;
  std::string customer_text;
};
BOOST_DESCRIBE_STRUCT(Order, (), (customer, customer_text))

void pipeline(sluice::Job& job) {
  auto orders = job.from(sluice::from_values<Order>({}), "orders").key_by(&Order::customer);
  auto others = job.from(sluice::from_values<Order>({}), "others");
#ifdef MISUSE
  (void)orders.connect(others.key_by(&Order::customer_text));
#else
  (void)orders.connect(others.key_by(&Order::customer));
#endif
}
