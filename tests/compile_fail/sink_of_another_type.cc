// A sink takes what the stream carries, not what looks like it.
// Expect: no matching|no viable conversion|cannot convert|could not convert
#include <sluice/engine/collection.h>
#include <sluice/engine/job.h>

void build(sluice::Job& job) {
  const auto numbers = job.from(sluice::from_values(std::vector<int>{1, 2, 3}));
#ifdef MISUSE
  numbers.to(sluice::for_each<std::string>([](const std::string&) {}));
#else
  numbers.to(sluice::for_each<int>([](const int&) {}));
#endif
}
