// Windows of processing time never hear of the watermark: early results that go by it would never come.
// Expect: early\(period\) goes by the watermark, and these windows by the clock
#include <sluice/engine/collection.h>
#include <sluice/engine/job.h>
#include <sluice/engine/windows/windowed_stream.h>

#include <chrono>
#include <cstdint>

#include <boost/describe/class.hpp>

struct Order {
  std::int64_t customer = 0;
};
BOOST_DESCRIBE_STRUCT(Order, (), (customer))

void pipeline(sluice::Job& job) {
  using namespace std::chrono_literals;
  auto windows =
      job.from(sluice::from_values<Order>({}), "orders").key_by(&Order::customer).window(sluice::processing_time(sluice::tumbling(10s)));
#ifdef MISUSE
  (void)windows.trigger(sluice::early(1s)).aggregate(sluice::count(), "orders-now");
#else
  (void)windows.trigger(sluice::processing_time(sluice::early(1s))).aggregate(sluice::count(), "orders-now");
#endif
}
