// Windows of event time, one kind a word: tumbling, sliding, session, calendar, global, early, late.
//   windows tumbling
// A line a result: key, start and end of the window in seconds, value. (Keys come in no order: sort them to compare.)
#include <chrono>
#include <cstdio>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>

#include <boost/describe/class.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sluice/sluice.h>

using namespace sluice;
using namespace std::chrono_literals;

struct Ride {
  std::string zone;
  EventTime time;
  std::int64_t cents = 0;
};
BOOST_DESCRIBE_STRUCT(Ride, (), (zone, time, cents))

Ride ride(std::string zone, std::int64_t second, std::int64_t cents) {
  return {std::move(zone), EventTime(std::chrono::seconds(second)), cents};
}

/// Prints a line a result.
template <class R>
std::shared_ptr<Sink<Windowed<std::string, R>>> lines() {
  auto one_at_a_time = std::make_shared<std::mutex>();  // Shards print side by side.
  return for_each<Windowed<std::string, R>>([one_at_a_time](const Windowed<std::string, R>& row) {
    const auto seconds = [](EventTime time) { return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count(); };
    const std::string value = fmt::format("{}", row.value);
    const std::lock_guard lock(*one_at_a_time);
    // The global window has no edges to speak of.
    if (row.window.end >= kWindowTimeMax) {
      std::printf("%s: %s\n", row.key.c_str(), value.c_str());
    } else {
      std::printf("%s [%ld, %ld): %s\n", row.key.c_str(), static_cast<long>(seconds(row.window.start)),
                  static_cast<long>(seconds(row.window.end)), value.c_str());
    }
  });
}

int main(int argc, char** argv) {
  const std::string kind = argc > 1 ? argv[1] : "tumbling";
  Job job{"windows-" + kind};
  auto rides = job.from(from_values<Ride>({ride("Bronx", 0, 700), ride("Queens", 10, 900), ride("Bronx", 65, 300), ride("Bronx", 61, 500),
                                           ride("Queens", 130, 100), ride("Bronx", 20, 50), ride("Bronx", 200, 400)}))
                   // Rides may come five seconds late; the one of second 20 comes later than that.
                   .watermarks(bounded_out_of_orderness<Ride>(5s, &Ride::time))
                   .key_by(&Ride::zone);
  using Count = std::uint64_t;
  if (kind == "tumbling") {
    rides.window(tumbling(1min))
        .aggregate(together(count(), sum(&Ride::cents)), "per-minute")
        .to(lines<std::tuple<Count, std::int64_t>>());
  } else if (kind == "sliding") {
    rides.window(sliding(2min, 1min)).aggregate(max(&Ride::cents), "dearest").to(lines<std::int64_t>());
  } else if (kind == "session") {
    // A zone's rides with less than a minute between them.
    rides.window(session(1min)).aggregate(count(), "busy").to(lines<Count>());
  } else if (kind == "calendar") {
    // 1 January 1970 began at second 18000 in New York: these rides are of New Year's Eve.
    rides.window(tumbling(std::chrono::days(1), "America/New_York")).aggregate(average(&Ride::cents), "per-day").to(lines<double>());
  } else if (kind == "global") {
    // Two rides at a time, whenever they were, and in the end the rest.
    rides.window(global())
        .trigger(every(2).purging())
        .process([](const std::string&, const Window&, const std::vector<Ride>& two) {
          std::vector<std::int64_t> cents;
          for (const Ride& one : two) cents.push_back(one.cents);
          return cents;
        }, "two-by-two")
        .to(lines<std::vector<std::int64_t>>());
  } else if (kind == "early") {
    // What is known so far of a window of four minutes, whenever another minute has passed.
    rides.window(tumbling(4min)).trigger(early(1min)).aggregate(count(), "so-far").to(lines<Count>());
  } else if (kind == "late") {
    auto minutes = rides.window(tumbling(1min)).reduce(
        [](const Ride& a, const Ride& b) { return a.cents >= b.cents ? a : b; }, "dearest-ride");
    minutes.map([](const Windowed<std::string, Ride>& row) {
             return Windowed<std::string, std::int64_t>{row.key, row.window, row.value.cents};
           })
        .to(lines<std::int64_t>());
    minutes.late().to(for_each<Ride>([](const Ride& one) {
      std::printf("late: %s, %ld cents\n", one.zone.c_str(), static_cast<long>(one.cents));
    }));
  } else {
    std::fprintf(stderr, "windows: there is no kind \"%s\": tumbling, sliding, session, calendar, global, early, late\n", kind.c_str());
    return 2;
  }
  return run(std::move(job));
}
