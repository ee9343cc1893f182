// Scenario S1: JSON events from two topics into one, `identityUri` rewritten from /13782 to /{}, exactly once.
//   identity_rewrite [brokers] [state directory]
#include <chrono>
#include <string>

#include <sluice/sluice.h>

int main(int argc, char** argv) {
  using namespace sluice;
  using namespace std::chrono_literals;
  const std::string brokers = argc > 1 ? argv[1] : "127.0.0.1:9092";
  const std::string directory = argc > 2 ? argv[2] : "state/identity-rewrite";

  Job job{"identity-rewrite"};
  job.checkpoint({.interval = 100ms, .directory = directory});
  // The first rule that matches wins; a document that none matches passes as it is. All other bytes stay, digit for digit.
  const JsonReplace rewrite({.path = "/identityUri",
                             .rules = {{"/\\d+$", "/{}"}, {"/[0-9a-f]{8}-[0-9a-f-]{27}$", "/{uuid}"}}});
  job.from(kafka::source<Record>({.brokers = brokers,
                                  .topics = {"events-a", "events-b"},
                                  .group = "identity-rewrite",
                                  .start = kafka::group_offsets()}),
           "events")
      .map(rewrite)
      .to(kafka::sink<Record>({.brokers = brokers, .topic = "events-clean"}), "clean");
  return run(std::move(job));
}
