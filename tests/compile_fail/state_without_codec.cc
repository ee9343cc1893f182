// What is kept for a key must be written into checkpoints: a type that nobody said how to write is refused.
// Expect: the value needs a Codec: describe it with BOOST_DESCRIBE_STRUCT
#include <boost/describe/class.hpp>

#include <sluice/engine/keyed_state.h>

struct Total {
  int all = 0;
};
#ifndef MISUSE
BOOST_DESCRIBE_STRUCT(Total, (), (all))
#endif

void count(sluice::ValueState<std::string, Total>& totals) { ++totals["user"].all; }
