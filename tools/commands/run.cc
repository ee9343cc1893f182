#include <sluice/checkpoint/engine.h>
#include <sluice/io/base/log.h>

#include "commands/file_options.h"
#include "commands/interrupt.h"
#include "commands/status_line.h"
#include "commands/units.h"
#include "pipeline_file/builder.h"
#include "pipeline_file/online_checks.h"

#include <condition_variable>
#include <fstream>
#include <mutex>

namespace sluice::tools {

using namespace std::chrono_literals;

namespace {

struct RunOptions {
  FileOptions file;
  Output output;
  std::string from = "decided";
  std::string io = "auto";
  std::vector<int> pin;
  bool reset_decision = false;
  std::chrono::microseconds until_idle{0};
  std::uint64_t max_records = 0;
};

/// What this version cannot do is said before anything else is looked at.
Status check_flags(const RunOptions& options) {
  if (options.from != "decided" && options.from != "none") {
    return Status(Code::kInvalid,
                  fmt::format("--from {}: starting from a savepoint is not supported yet; possible "
                              "is decided or none",
                              options.from))
        .exit(ExitStatus::kUsage);
  }
  if (options.max_records > 0) {
    return Status(Code::kInvalid,
                  "--max-records is not supported yet; give the source a stop: {offsets: …}, or "
                  "use --until-idle")
        .exit(ExitStatus::kUsage);
  }
  return {};
}

void apply_flags(const RunOptions& given, JobOptions& options) {
  options.pin = given.pin;
  options.reset_decision = given.reset_decision || given.from == "none";
  if (given.io == "uring") options.files = io::FileBackend::kUring;
  if (given.io == "threads") options.files = io::FileBackend::kThreads;
}

/// Tells this thread when the job has ended.
class End {
 public:
  void set() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
  }
  bool wait_for(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [this] { return ended_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
};

/// Whether no record has come for so long, once the job runs.
class Idle {
 public:
  explicit Idle(std::chrono::microseconds after) : after_(after) {}
  bool reached(const Running& running, std::uint64_t records) {
    const auto now = std::chrono::steady_clock::now();
    if (after_ == 0us || running.state() != checkpoint::JobState::kRunning || records != records_) {
      records_ = records;
      since_ = now;
      return false;
    }
    return now - since_ >= after_;
  }

 private:
  const std::chrono::microseconds after_;
  std::uint64_t records_ = 0;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

/// Until the job has ended: passes a stop on to it and shows how it goes.
Status watch(Running& running, const Pipeline& pipeline, const RunOptions& options) {
  const auto end = std::make_shared<End>();  // The job may tell it while this function returns.
  running.on_done([end] { end->set(); });
  StatusLine line(options.output, pipeline);
  Idle idle(options.until_idle);
  bool stopping = false;
  while (!end->wait_for(100ms)) {
    const std::uint64_t records = running.metrics().value("sluice_source_records_total");
    const bool asked = Interrupt::asked();
    if (!stopping && (asked || idle.reached(running, records))) {
      stopping = true;
      log().info("job {}: {}: last checkpoint, then the end", pipeline.name,
                 asked ? "stopping" : "nothing comes any more");
      running.stop();
    }
    line.show(running);
  }
  line.clear();
  return running.wait();
}

void write_metrics(const Metrics& metrics) {
  const char* const path = std::getenv("SLUICE_METRICS_FILE");
  if (path == nullptr) return;
  std::ofstream file(path);
  for (const auto& [name, value] : metrics.all()) file << name << ' ' << value << '\n';
}

/// A start that failed says the first thing that is wrong; this says all of it.
ExitStatus explain_failure(const Pipeline& pipeline, const Status& ended, Running& running) {
  Problems problems;
  const bool before = running.metrics().value("sluice_source_records_total") == 0;
  const bool about_settings = ended.code() == Code::kInvalid &&
                              ended.exit_status() != ExitStatus::kCannotCreate &&
                              ended.exit_status() != ExitStatus::kUnavailable;
  if (before && about_settings) {
    check_online(pipeline, problems);
  }
  print_problems(stderr, problems);
  fmt::print(stderr, "sluice run: job {}: {}\n", pipeline.name, ended.message());
  return ended.exit_status();
}

Result<ExitStatus> run(const RunOptions& options) {
  SLUICE_TRY(check_flags(options));
  Result<Loaded> loaded = load(options.file);
  if (!loaded.ok()) return std::move(loaded).status();
  print_problems(stderr, loaded->problems);
  if (!loaded->problems.ok()) {
    fmt::print(stderr, "sluice run: {}: {}; nothing was started\n", options.file.file,
               count_text(loaded->problems));
    return static_cast<ExitStatus>(loaded->problems.exit_status());
  }
  Pipeline& pipeline = loaded->pipeline;
  apply_flags(options, pipeline.options);
  const Interrupt interrupt;  // Before the job's threads are made.
  Result<Running> running = Engine().start(build_job(pipeline));
  if (!running.ok()) return std::move(running).status();
  const Status ended = watch(*running, pipeline, options);
  write_metrics(running->metrics());
  if (!ended.ok()) return explain_failure(pipeline, ended, *running);
  if (!options.output.quiet) print_summary(pipeline.name, running->metrics());
  return ExitStatus::kDone;
}

void add_flags(CLI::App& app, RunOptions& options) {
  app.add_option("--from", options.from,
                 "Where state comes from: decided, the last checkpoint that was committed; or "
                 "none, nothing at all, as with --reset-decision")
      ->type_name("decided|none");
  app.add_flag("--reset-decision", options.reset_decision,
               "Forget what was decided and begin where the file's start: says");
  app.add_option_function<std::string>(
         "--shards",
         [&options](const std::string& text) { options.file.settings.push_back("shards=" + text); },
         "Threads that share the work, in place of the file's")
      ->type_name("N");
  app.add_option("--pin", options.pin, "A cpu for each shard, as 0,1,2")
      ->delimiter(',')
      ->type_name("LIST");
  app.add_option("--io", options.io, "How checkpoints are written: auto, uring or threads")
      ->check(CLI::IsMember({"auto", "uring", "threads"}))
      ->type_name("KIND");
  add_duration(app, "--until-idle", options.until_idle,
               "Drain and end when no record has come for so long, as 2s");
  app.add_option("--max-records", options.max_records, "Not supported yet")->type_name("N");
  app.add_flag("-q,--quiet", options.output.quiet, "Print nothing but failures");
  app.add_flag("--no-progress", options.output.no_progress, "Show no status line on stderr");
}

}  // namespace

Command add_run(CLI::App& root) {
  CLI::App& app = *root.add_subcommand("run", "Run a pipeline");
  const auto options = std::make_shared<RunOptions>();
  add_file_options(app, options->file);
  add_flags(app, *options);
  app.footer(
      R"(SIGTERM and SIGINT drain: the sources stop, a last checkpoint is taken and committed, exit
status 0. A second signal ends the process at once; nothing is lost, the next run recovers.
A status line on a terminal, or one every ten seconds elsewhere, goes to stderr.
"rows out" counts records of open transactions too.

Examples:
  sluice run orders.yaml
  sluice run orders.yaml --set checkpoint.interval=100ms --shards 2
  sluice run orders.yaml --until-idle 2s

Exit status: 0 drained or done, 1 failed, 2 wrong usage, 65 a checkpoint or register is corrupt,
69 the cluster cannot be reached, 73 the state directory cannot be written or is locked, 75 a newer
instance took over (do not restart), 77 the cluster refuses for lack of rights, 78 configuration.)");
  return {&app, [options] { return run(*options); }};
}

}  // namespace sluice::tools
