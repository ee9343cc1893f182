// What the queries answer, by the hand-written loops: `query rows digest` a line, or with --rows
// the rows themselves. With
// --judge it digests rows that somebody else computed (Flink, say), one a line on standard input.
#include "nexmark/digest.h"
#include "nexmark/loops.h"
#include <CLI/CLI.hpp>

#include <cstdint>
#include <cstdio>
#include <iostream>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace sluice::nexmark;

struct PrintRows {
  template <class Row>
  void emit(const Row& row) {
    write_row(row, buffer);
    buffer.push_back('\n');
    std::fwrite(buffer.data(), 1, buffer.size(), stdout);
  }
  fmt::memory_buffer buffer;
};

int judge() {
  Digest digest;
  std::ios::sync_with_stdio(false);
  for (std::string row; std::getline(std::cin, row);) digest.add(row);
  if (std::cin.bad()) {
    std::fprintf(stderr, "nexmark_answers: could not read rows from standard input\n");
    return 1;
  }
  std::printf("%s\n", digest.text().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> queries(kQueries.begin(), kQueries.end());
  std::set<std::string> known(kQueries.begin(), kQueries.end());
  known.insert("events");
  std::uint64_t events = 1'000'000;
  Generator::Options options;
  bool print = false, judged = false;
  CLI::App app{"What nexmark's queries answer, by hand-written loops: query, rows, digest."};
  app.add_option("--query", queries,
                 "which queries; all when not given; \"events\" is the stream itself")
      ->check(CLI::IsMember(known));
  app.add_option("--events", events, "the first so many of the stream")->capture_default_str();
  app.add_option("--seed", options.seed, "of the stream")->capture_default_str();
  app.add_option("--rate", options.rate_per_second, "events in a second of event time")
      ->check(CLI::Range(1, 1'000'000'000))
      ->capture_default_str();
  CLI::Option* const rows = app.add_flag("--rows", print, "print the rows instead of their digest");
  app.add_flag("--judge", judged, "digest the rows on standard input instead")->excludes(rows);
  CLI11_PARSE(app, argc, argv);

  if (judged) return judge();
  const Generator generator(options);
  for (const std::string& query : queries) {
    if (print) {
      PrintRows out;
      run(query, generator, events, out);
    } else {
      DigestRows out;
      run(query, generator, events, out);
      std::printf("%s %s\n", query.c_str(), out.digest.text().c_str());
    }
  }
  if (std::fflush(stdout) != 0) {
    std::fprintf(stderr,
                 "nexmark_answers: could not write to standard output; is the disk full?\n");
    return 1;
  }
  return 0;
}
