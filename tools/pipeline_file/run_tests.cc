#include "pipeline_file/run_tests.h"

#include <sluice/engine/internal/step_operator.h>
#include <sluice/engine/operators/number.h>
#include <sluice/io/clock.h>

#include "pipeline_file/operators.h"

#include <algorithm>

namespace sluice::tools {
namespace {

struct Ran {
  std::vector<std::string> values;
  std::vector<std::string> errors;
  Status status;
};

std::string value_of(const Record& record) {
  return record.value.null() ? std::string("(null)") : std::string(record.value.view());
}

std::string error_of(const Record& record) {
  for (const Header& header : record.headers) {
    if (header.name == "sluice.error") return std::string(header.value.view());
  }
  return "refused";
}

/// All values, as batches of one partition.
std::vector<Batch<Record>> batches_of(const TestSpec& test) {
  const auto split = std::make_shared<const Split>(Split{"test", 0});
  std::vector<Batch<Record>> batches;
  for (std::size_t i = 0; i < test.input.size(); ++i) {
    if (i % Batch<Record>::kRecordsMax == 0) batches.emplace_back().set_split(split);
    Record record;
    record.value = Bytes(test.input[i]->text);
    record.offset = Offset(static_cast<std::int64_t>(i));
    batches.back().records().push_back(record);
  }
  return batches;
}

template <class Op>
Ran run(Op& op, const TestSpec& test) {
  Ran ran;
  Metrics metrics;
  Context context;
  context.operator_id = test.target.name;
  context.metrics = &metrics;
  context.clock = &io::system_clock();
  ran.status = op.open(context);
  for (const Batch<Record>& batch : batches_of(test)) {
    if (!ran.status.ok()) break;
    Collector<Record> out(batch);
    if constexpr (requires { op.begin_side(&batch); }) op.begin_side(&batch);
    ran.status = op.process(batch, out);
    for (const Batch<Record>& made : out.take()) {
      for (const Record& record : made) ran.values.push_back(value_of(record));
    }
    if constexpr (requires { op.take_side(); }) {
      for (const Batch<Record>& refused : op.take_side()) {
        for (const Record& record : refused) ran.errors.push_back(error_of(record));
      }
    }
  }
  op.close();
  return ran;
}

Ran run(Step step, const TestSpec& test) {
  const auto one = [&](auto made) {
    using Made = decltype(made);
    if constexpr (std::same_as<Made, NumberWriter>) {
      Number<Record, Record, NumberWriter> op(std::move(made));
      return run(op, test);
    } else if constexpr (std::same_as<Made, PrintStep>) {
      Ran ran;  // It would write between the results; what it passes on is what came.
      for (const Node* const value : test.input) ran.values.push_back(value->text);
      return ran;
    } else {
      internal::StepOperator<Made> op(std::move(made), OnError::kReject);
      return run(op, test);
    }
  };
  return std::visit(one, std::move(step));
}

std::string compare(const Ran& ran, const TestSpec& test) {
  if (!ran.status.ok()) return std::string(ran.status.message());
  if (static_cast<std::int64_t>(ran.errors.size()) != test.errors) {
    return fmt::format("{} records were refused, expected {}{}", ran.errors.size(), test.errors,
                       ran.errors.empty() ? "" : "; the first one: " + ran.errors.front());
  }
  const std::size_t common = std::min(ran.values.size(), test.expect.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (ran.values[i] == test.expect[i]->text) continue;
    return fmt::format("value {} differs\n    expected {}\n    got      {}", i + 1,
                       test.expect[i]->text, ran.values[i]);
  }
  if (ran.values.size() == test.expect.size()) return {};
  const bool more = ran.values.size() > common;
  return fmt::format("{} values came out, expected {}\n    {} {}", ran.values.size(),
                     test.expect.size(), more ? "not expected:" : "missing:     ",
                     more ? ran.values[common] : test.expect[common]->text);
}

}  // namespace

std::vector<TestOutcome> run_tests(const Pipeline& pipeline) {
  std::vector<TestOutcome> outcomes;
  for (const TestSpec& test : pipeline.tests) {
    const OperatorSpec& op = *pipeline.find_operator(test.target.name);
    Result<Step> step = make_step(op);
    outcomes.push_back({&test, step.ok() ? compare(run(*std::move(step), test), test)
                                         : std::string(step.status().message())});
  }
  return outcomes;
}

}  // namespace sluice::tools
