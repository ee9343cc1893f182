// Who looked at what in the same ten seconds in which it was on offer; and offers that nobody looked at.
//   window_join
#include <cstdio>
#include <string>

#include <boost/describe/class.hpp>

#include <sluice/engine/windows/assigners.h>
#include <sluice/sluice.h>

using namespace sluice;
using namespace std::chrono_literals;

struct Offer {
  std::string item;
  int price = 0;
  EventTime time{};
};
BOOST_DESCRIBE_STRUCT(Offer, (), (item, price, time))
struct View {
  std::string item, user;
  EventTime time{};
};
BOOST_DESCRIBE_STRUCT(View, (), (item, user, time))

int main() {
  const auto at = [](int seconds) { return EventTime(std::chrono::seconds(seconds)); };
  Job job{"window-join"};
  auto offers = job.from(from_values<Offer>({{"lamp", 20, at(1)}, {"chair", 50, at(9)}, {"lamp", 18, at(10)}}), "offers")
                    .watermarks(monotonous<Offer>(&Offer::time), "offer-time");
  auto views = job.from(from_values<View>({{"lamp", "ada", at(2)}, {"chair", "ada", at(10)}, {"lamp", "eve", at(19)}}), "views")
                   .watermarks(monotonous<View>(&View::time), "view-time");
  offers.key_by(&Offer::item)
      .join(views.key_by(&View::item))
      .window(tumbling(10s))
      .left("seen", [](const Offer& offer, const View* view) {
        return offer.item + " at " + std::to_string(offer.price) + (view == nullptr ? " was not seen" : " was seen by " + view->user);
      })
      .to(for_each<std::string>([](const std::string& line) { std::printf("%s\n", line.c_str()); }));
  return run(std::move(job));
}
