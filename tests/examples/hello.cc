// Hello: given words through three record operators to the screen. No broker needed.
#include <cstdio>
#include <string>

#include <sluice/sluice.h>

int main() {
  using namespace sluice;
  using namespace std::chrono_literals;
  Job job{"hello"};
  job.checkpoint({.interval = 100ms, .directory = "state/hello"});
  job.options.reset_decision = true;  // Say it again each time; without this line a second run finds nothing left to say.
  job.from(from_values<std::string>({"exactly", "", "once"}))
      .filter([](const std::string& word) { return !word.empty(); })
      .map([](const std::string& word) { return "hello, " + word; })
      .to(for_each<std::string>([](const std::string& line) { std::puts(line.c_str()); }));
  return run(std::move(job));
}
