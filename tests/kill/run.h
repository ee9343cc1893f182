#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include <support/broker.h>
#include <support/process.h>

namespace sluice::testing {

struct Verdict {
  bool right = false;
  std::string text;  ///< what the reader said
};

/// One copy job with its topics, its state directory and its generator, from the first record to the verdict.
class CopyRun {
 public:
  struct Options {
    std::string name;                      ///< of the job and its topics; made unique
    int partitions = 4;
    int shards = 1;
    int interval_ms = 50;
    bool numbered = true;                  ///< with the stateful operator
    std::string brokers;                   ///< for the job; the generator and the reader use `direct`
    std::string direct;
    std::string program = "numbered_copy";
    std::vector<std::string> arguments = {};    ///< more, for the job
    std::vector<std::string> environment = {};  ///< more, for each start of the job
  };
  explicit CopyRun(Options options);

  /// Writes all the while at `rate` records/s, until finish().
  void start_generator(int rate);
  /// `count` records, at once; returns when they are acknowledged.
  void generate(int count);
  [[nodiscard]] Process start_job(std::vector<std::string> environment, const std::string& directory = {});
  /// Stops the generator, runs the job to the end of its input, and lets the Java reader judge.
  [[nodiscard]] Verdict finish();
  void stop_generator();
  /// Only the reader.
  [[nodiscard]] Verdict verify();
  /// Runs the job until it has copied what is there; how it ended.
  [[nodiscard]] Process::End drain(std::chrono::seconds timeout);

  void add_arguments(const std::vector<std::string>& arguments) {
    options_.arguments.insert(options_.arguments.end(), arguments.begin(), arguments.end());
  }
  [[nodiscard]] const Options& options() const noexcept { return options_; }
  [[nodiscard]] const std::string& job() const noexcept { return job_; }
  [[nodiscard]] const std::string& in() const noexcept { return in_; }
  [[nodiscard]] const std::string& out() const noexcept { return out_; }
  [[nodiscard]] std::filesystem::path state() const { return directory_.path() / "state"; }
  [[nodiscard]] std::filesystem::path log() const { return directory_.path() / "job.log"; }
  [[nodiscard]] std::string log_tail() const;
  /// The last value that a job of this run wrote down for a counter when it ended by itself, over all of its starts the sum.
  [[nodiscard]] long counter(const std::string& name) const;

 private:
  Options options_;
  TempDirectory directory_;
  std::string job_, in_, out_;
  std::vector<Process> generator_;  // None or one.
  int starts_ = 0;
  int generators_ = 0;
};

/// Where the programs of this build are.
[[nodiscard]] std::filesystem::path program(const std::string& name);

/// The newest checkpoint of a state directory that has a manifest, decided or not; empty: none.
[[nodiscard]] std::filesystem::path newest_checkpoint(const std::filesystem::path& state);
/// Whether a restore from it reads what changed behind an earlier one.
[[nodiscard]] bool builds_on_others(const std::filesystem::path& checkpoint);
/// The last lines of a log, about 4,000 bytes.
[[nodiscard]] std::string tail_of(const std::filesystem::path& log);

}  // namespace sluice::testing
