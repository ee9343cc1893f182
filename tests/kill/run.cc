#include "run.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

namespace sluice::testing {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::filesystem::path program(const std::string& name) {
  return std::filesystem::canonical("/proc/self/exe").parent_path() / name;
}

std::filesystem::path newest_checkpoint(const std::filesystem::path& state) {
  std::filesystem::path newest;
  std::error_code error;  // What is listed may be deleted meanwhile.
  for (const auto& entry : std::filesystem::directory_iterator(state, error)) {
    if (entry.path() > newest && std::filesystem::exists(entry.path() / "MANIFEST", error)) newest = entry.path();
  }
  return newest;
}

bool builds_on_others(const std::filesystem::path& checkpoint) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(checkpoint, error)) {
    if (entry.path().filename().string().size() > std::string("state-00000.snap").size()) return true;
  }
  return false;
}

std::string tail_of(const std::filesystem::path& log) {
  std::ifstream file(log);
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  return all.size() > 4000 ? all.substr(all.size() - 4000) : all;
}

CopyRun::CopyRun(Options options) : options_(std::move(options)), job_(unique_name(options_.name)), in_(job_ + "-in"), out_(job_ + "-out") {
  create_topic(options_.direct, in_, options_.partitions);
  create_topic(options_.direct, out_, options_.partitions);
}

void CopyRun::start_generator(int rate) {
  Process::Options generator;
  generator.arguments = {program("sluice"), "generate", "--brokers", options_.direct, "--topic", in_, "--rate", std::to_string(rate),
                         "--size", "100", "--json", "--quiet", "-X", "linger.ms=10"};  // A request a record would be the load.
  generator.stdout_file = directory_.path() / fmt::format("expect-{}.json", ++generators_);
  generator.stderr_file = directory_.path() / "generator.log";
  generator_.emplace_back(std::move(generator));
}

void CopyRun::generate(int count) {
  Process::Options generator;
  generator.arguments = {program("sluice"), "generate", "--brokers", options_.direct, "--topic", in_, "--records", std::to_string(count),
                         "--size", "100", "--json", "--quiet"};
  generator.stdout_file = directory_.path() / fmt::format("expect-{}.json", ++generators_);
  generator.stderr_file = directory_.path() / "generator.log";
  Process running(std::move(generator));
  const auto end = running.wait(seconds(60));
  if (!end || !end->ok()) throw std::runtime_error("the generator failed, see its log in " + directory_.path().string());
}

Process CopyRun::start_job(std::vector<std::string> environment, const std::string& directory) {
  Process::Options job;
  job.arguments = {program(options_.program), "--brokers", options_.brokers, "--name", job_, "--group", job_ + "-group", "--in", in_,
                   "--out", out_, "--shards", std::to_string(options_.shards), "--interval-ms", std::to_string(options_.interval_ms),
                   "--directory", directory.empty() ? state().string() : directory};
  if (!options_.numbered) job.arguments.push_back("--no-number");
  job.arguments.insert(job.arguments.end(), options_.arguments.begin(), options_.arguments.end());
  job.environment = options_.environment;
  job.environment.insert(job.environment.end(), environment.begin(), environment.end());
  job.environment.push_back("SLUICE_METRICS_FILE=" + (directory_.path() / fmt::format("metrics-{}", ++starts_)).string());
  job.stdout_file = log();
  job.stderr_file = log();
  return Process(std::move(job));
}

void CopyRun::stop_generator() {
  if (generator_.empty()) return;
  generator_.back().terminate();
  const auto end = generator_.back().wait(seconds(30));
  generator_.clear();
  if (!end || !end->ok()) throw std::runtime_error("the generator failed, see its log in " + directory_.path().string());
}

Process::End CopyRun::drain(seconds timeout) {
  options_.arguments.push_back("--bounded");
  Process job = start_job({});
  options_.arguments.pop_back();
  const auto end = job.wait(timeout);
  return end ? *end : job.kill();
}

Verdict CopyRun::verify() {
  Process::Options reader;
  reader.arguments = {source_directory() / "tools" / "read", out_, "--verify", "--brokers", options_.direct};
  if (options_.numbered) reader.arguments.push_back("--numbers");
  for (int i = 1; i <= generators_; ++i) {
    reader.arguments.push_back("--expect-file");
    reader.arguments.push_back(directory_.path() / fmt::format("expect-{}.json", i));
  }
  const auto said = directory_.path() / "verdict";
  std::filesystem::remove(said);
  reader.stdout_file = said;
  reader.stderr_file = said;
  Process running(std::move(reader));
  const auto end = running.wait(seconds(120));
  std::ifstream file(said);
  std::stringstream text;
  text << file.rdbuf();
  return {end && end->ok(), text.str()};
}

Verdict CopyRun::finish() {
  stop_generator();
  const Process::End end = drain(seconds(120));
  Verdict verdict = verify();
  if (!end.ok()) {
    verdict.right = false;
    verdict.text += "the last run of the job ended with " + end.to_string() + "\n" + log_tail();
  }
  return verdict;
}

std::string CopyRun::log_tail() const { return tail_of(log()); }

long CopyRun::counter(const std::string& name) const {
  long sum = 0;
  for (int i = 1; i <= starts_; ++i) {
    std::ifstream file(directory_.path() / fmt::format("metrics-{}", i));
    std::string key;
    long value = 0;
    while (file >> key >> value) {
      if (key == name) sum += value;
    }
  }
  return sum;
}

}  // namespace sluice::testing
