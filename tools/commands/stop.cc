#include "commands/file_options.h"
#include "commands/job_lock.h"
#include "commands/units.h"

namespace sluice::tools {

using namespace std::chrono_literals;

namespace {

struct StopOptions {
  FileOptions file;
  std::string directory;
  std::chrono::microseconds timeout = 60s;
  bool quiet = false;
};

Result<std::filesystem::path> directory_of(const StopOptions& options) {
  if (!options.directory.empty()) return std::filesystem::path(options.directory);
  const Result<Loaded> loaded = load(options.file);
  if (!loaded.ok()) return loaded.status();
  // A file that is wrong by now may still belong to a job that runs.
  const Pipeline& pipeline = loaded->pipeline;
  if (!pipeline.options.checkpoint.directory.empty()) return pipeline.options.checkpoint.directory;
  if (!pipeline.name.empty()) return std::filesystem::path("state") / pipeline.name;
  print_problems(stderr, loaded->problems);
  return Status(
      Code::kInvalid,
      fmt::format("{} names neither a job nor a directory; use --directory", options.file.file));
}

Result<ExitStatus> stop(const StopOptions& options) {
  const Result<std::filesystem::path> directory = directory_of(options);
  if (!directory.ok()) return directory.status();
  const Result<std::optional<JobProcess>> found = find_job(*directory);
  if (!found.ok()) return found.status();
  if (!*found) {
    return Status(Code::kRecover, fmt::format("no job runs on \"{}\"", directory->string()));
  }
  SLUICE_TRY((*found)->terminate());
  if (!options.quiet) {
    fmt::print(stderr, "sluice stop: process {} drains: it takes a last checkpoint and ends\n",
               (*found)->pid());
  }
  if ((*found)->wait(std::chrono::duration_cast<std::chrono::milliseconds>(options.timeout))) {
    return ExitStatus::kDone;
  }
  return Status(
      Code::kRecover,
      fmt::format("process {} still drains after --timeout; it was asked to stop and goes "
                  "on with that",
                  (*found)->pid()));
}

}  // namespace

Command add_stop(CLI::App& root) {
  CLI::App& app = *root.add_subcommand("stop", "Drain a job that runs on this machine");
  const auto options = std::make_shared<StopOptions>();
  add_file_options(app, options->file);
  app.get_option("FILE")->required(false);
  app.add_option("--directory", options->directory, "The job's state directory, in place of FILE")
      ->excludes("FILE")
      ->type_name("DIR");
  add_duration(app, "--timeout", options->timeout, "How long to wait for its end (default 60s)");
  app.add_flag("-q,--quiet", options->quiet, "Print nothing but failures");
  app.callback([options] {
    if (options->file.file.empty() && options->directory.empty()) {
      throw CLI::RequiredError("FILE or --directory");
    }
  });
  app.footer(
      R"(The job is found by the lock of its state directory, which holds the process id: the kernel
keeps the lock as long as the process lives, so no other process is ever meant. It gets SIGTERM,
and this command waits until it is gone.

Examples:
  sluice stop orders.yaml
  sluice stop --directory state/orders --timeout 5m

Exit status: 0 it has ended, 1 no job runs there or it did not end in time, 2 wrong usage.)");
  return {&app, [options] { return stop(*options); }};
}

}  // namespace sluice::tools
