#pragma once

#include <sluice/engine/testing/test_driver.h>

#include "pipeline_file/pipeline.h"
#include <gtest/gtest.h>

#include "problems_of.h"
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sluice::tools::testing {

/// The part of a job that a file makes, in virtual time: what the fixtures of single operators have in common.
class PartJob {
 public:
  Status start(std::uint16_t shards, std::optional<CheckpointData> from = {}) {
    driver_.reset();
    auto started = TestDriver::start(job_, {.shards = shards}, std::move(from));
    if (!started.ok()) return started.status();
    driver_ = *std::move(started);
    return driver_->run();
  }
  Result<CheckpointData> checkpoint() { return driver_->checkpoint(); }
  std::vector<std::string> out() { return values(out_); }
  std::vector<std::string> refused() { return values(refused_); }
  std::vector<TestOutput<Record>::Arrived> arrived() { return out_.take_arrived(); }

 protected:
  PartJob(const std::string& file, std::string job) : loaded_(load_text(file, "p.yaml", ".", {})), job_(std::move(job)) {
    for (const Problem& problem : loaded_.problems.sorted()) ADD_FAILURE() << problem.text();
  }
  /// Sorted.
  static std::vector<std::string> values(TestOutput<Record>& output) {
    std::vector<std::string> values;
    for (const Record& record : output.take()) values.emplace_back(record.value.view());
    std::ranges::sort(values);
    return values;
  }
  /// Lines as a source would give them; texts stay.
  Status give(TestInput<Record>& input, const std::vector<std::string>& lines, Bytes key = {}) {
    std::vector<Record> records;
    for (const std::string& line : lines) {
      Record record;
      record.key = key;
      record.value = Bytes(std::string_view(*texts_.insert(line).first));
      records.push_back(record);
    }
    input.give(0, std::move(records));
    return driver_->run();
  }
  Loaded loaded_;
  std::set<std::string> texts_;
  TestOutput<Record> out_, refused_;
  Job job_;
  std::unique_ptr<TestDriver> driver_;
};

}  // namespace sluice::tools::testing
