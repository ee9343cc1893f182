#pragma once

#include "../exchange_fixture.h"

#include <string>
#include <utility>

#include <boost/describe/class.hpp>

namespace sluice::joins_test {

using namespace exchange_test;

struct Event {
  std::int64_t key = 0, id = 0, ms = 0;
};
BOOST_DESCRIBE_STRUCT(Event, (), (key, id, ms))

/// A source of given splits whose records name their event time.
template <class T>
Stream<T> timed(Job& job, const std::string& id, typename Splits<T>::Options options, EventDuration disorder,
                typename Splits<T>::Make make) {
  const auto time = [](const T& record) { return EventTime(EventDuration(record.ms)); };
  return job.from(splits<T>(std::move(options), std::move(make)), id).watermarks(bounded_out_of_orderness<T>(disorder, time), id + "-time");
}

}  // namespace sluice::joins_test
