#include "pipeline_file/run_tests.h"

#include <sluice/engine/internal/step_operator.h>
#include <sluice/engine/operators/number.h>
#include <sluice/engine/testing/test_driver.h>
#include <sluice/io/clock.h>

#include "pipeline_file/join_parts.h"
#include "pipeline_file/keyed_parts.h"
#include "pipeline_file/operators.h"
#include "pipeline_file/source_time.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

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

/// What a line gives: the value, or {key: …, value: …}.
Record record_of(const Node& line, std::size_t number) {
  Record record;
  record.offset = Offset(static_cast<std::int64_t>(number));
  if (line.kind == Node::Kind::kScalar) record.value = Bytes(line.text);
  if (const Node* const key = line.find("key")) record.key = Bytes(key->text);
  if (const Node* const value = line.find("value")) record.value = Bytes(value->text);
  // What Kafka would say of a tombstone; lookups do not look at it.
  if (record.value.null()) record.time = EventTime(EventDuration(0));
  return record;
}

std::vector<Record> records_of(const TestSpec& test) {
  std::vector<Record> records;
  for (const Node* const line : test.input) records.push_back(record_of(*line, records.size()));
  return records;
}

/// All values, as batches of one partition.
std::vector<Batch<Record>> batches_of(const TestSpec& test) {
  const auto split = std::make_shared<const Split>(Split{"test", 0});
  std::vector<Batch<Record>> batches;
  for (const Record& record : records_of(test)) {
    if (batches.empty() || batches.back().size() == Batch<Record>::kRecordsMax)
      batches.emplace_back().set_split(split);
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

/// The lines' times are read as the first source with a time in front of them reads them.
Result<std::optional<Watermarks<Record>>> watermarks_for(const Pipeline& pipeline,
                                                         const OperatorSpec& op,
                                                         const std::vector<Reference>& inputs) {
  std::optional<Watermarks<Record>> none;
  if (!needs_time(op)) return none;
  std::set<std::string> before;
  parts_before(pipeline, inputs, before);
  for (const SourceSpec& source : pipeline.sources) {
    if (!before.contains(source.id) || source.time == nullptr) continue;
    if (source.time->find("field") == nullptr) {
      return Status(Code::kInvalid, fmt::format("the time of source \"{}\" is Kafka's, which the "
                                                "lines of a test have not: they need one "
                                                "in a field, time: {{field: /ts}}",
                                                source.id));
    }
    Result<Watermarks<Record>> made = make_watermarks(*source.time);
    if (!made.ok()) return made.status();
    return std::optional<Watermarks<Record>>(*std::move(made));
  }
  return none;
}

/// An operator with a key runs as a job in virtual time, whose end of input closes what is open.
class KeyedRun {
 public:
  KeyedRun(const Pipeline& pipeline, const OperatorSpec& op, const TestSpec& test)
      : pipeline_(pipeline), op_(op), test_(test) {}

  Ran run() {
    Ran ran;
    ran.status = build();
    if (ran.status.ok()) ran.status = flow();
    if (!ran.status.ok() && timed_rows()) {
      ran.status = ran.status.with(
          "(lines of a test are timed by the field of the source, also where they are rows of a "
          "window, join or lookup: give them that field too)");
    }
    for (const Record& record : out_.take()) ran.values.push_back(value_of(record));
    for (const Record& record : refused_.take()) ran.errors.push_back(error_of(record));
    return ran;
  }

 private:
  /// Whether it needs times and has rows as input, which have none where the source's time lies.
  [[nodiscard]] bool timed_rows() const {
    std::set<std::string> before;
    parts_before(pipeline_, op_.inputs, before);
    parts_before(pipeline_, op_.second, before);
    return needs_time(op_) && std::ranges::any_of(pipeline_.operators, [&](const OperatorSpec& op) {
      return before.contains(op.id) && (op.kind == "window" || joins(op.kind));
    });
  }
  Status build() {
    std::optional<KeyedPart> part;
    if (joins(op_.kind)) {
      Result<Stream<Record>> left = united(op_.inputs);
      if (!left.ok()) return left.status();
      Result<Stream<Record>> right = united(op_.second);
      if (!right.ok()) return right.status();
      part = add_join(op_, *left, *right, OnError::kReject);
    } else {
      Result<Stream<Record>> lines = stream("lines", op_.inputs);
      if (!lines.ok()) return lines.status();
      part = add_keyed(op_, *lines, OnError::kReject);
    }
    part->out.to(out_.sink(), op_.id + ".out");
    for (std::size_t i = 0; i < part->refused.size(); ++i)
      part->refused[i].to(refused_.sink(), fmt::format("{}.refused-{}", op_.id, i));
    if (part->late) part->late->to(TestOutput<Record>().sink(), op_.id + ".to-late");
    return {};
  }
  /// Lines of one name, with the time that records of `inputs` have.
  Result<Stream<Record>> stream(const std::string& name, const std::vector<Reference>& inputs) {
    if (const auto at = streams_.find(name); at != streams_.end()) return at->second;
    Result<std::optional<Watermarks<Record>>> watermarks = watermarks_for(pipeline_, op_, inputs);
    if (!watermarks.ok()) return watermarks.status();
    const std::string id = fmt::format("{}.test-{}", op_.id, name);
    Stream<Record> lines = job_.from(lines_[name].source(), id);
    if (*watermarks) lines = lines.watermarks(**std::move(watermarks), id + ".time");
    streams_.emplace(name, lines);
    return lines;
  }
  Result<Stream<Record>> united(const std::vector<Reference>& inputs) {
    std::optional<Stream<Record>> all;
    for (const Reference& input : inputs) {
      Result<Stream<Record>> one = stream(input.name, {input});
      if (!one.ok()) return one.status();
      all = all ? all->union_with(*one, fmt::format("{}.test-union-{}", op_.id, ++unions_)) : *one;
    }
    SLUICE_ASSERT(all.has_value());
    return *std::move(all);
  }
  /// Lines of two inputs come one after the other, as they stand there.
  Status flow() {
    if (!joins(op_.kind)) lines_["lines"].give(0, records_of(test_));
    Result<std::unique_ptr<TestDriver>> driver =
        TestDriver::start(job_, {.wall = io::system_clock().wall()});
    if (!driver.ok()) return driver.status();
    for (std::size_t i = 0; joins(op_.kind) && i < test_.input.size(); ++i) {
      const Entry& line = test_.input[i]->entries.front();
      lines_[line.key].give(0, {record_of(line.value, i)});
      SLUICE_TRY((*driver)->run());
    }
    for (auto& [name, input] : lines_) input.end();
    return (*driver)->run();
  }

  const Pipeline& pipeline_;
  const OperatorSpec& op_;
  const TestSpec& test_;
  Job job_{"test"};
  std::map<std::string, TestInput<Record>> lines_;
  std::map<std::string, Stream<Record>> streams_;
  TestOutput<Record> out_, refused_;
  std::size_t unions_ = 0;
};

/// `ordered`: values must come in the order in which they are expected.
std::string compare(Ran ran, const TestSpec& test, bool ordered) {
  if (!ran.status.ok()) return std::string(ran.status.message());
  if (static_cast<std::int64_t>(ran.errors.size()) != test.errors) {
    return fmt::format("{} records were refused, expected {}{}", ran.errors.size(), test.errors,
                       ran.errors.empty() ? "" : "; the first one: " + ran.errors.front());
  }
  std::vector<std::string> expected;
  for (const Node* const value : test.expect) expected.push_back(value->text);
  if (!ordered) {
    std::ranges::sort(ran.values);
    std::ranges::sort(expected);
  }
  const std::size_t common = std::min(ran.values.size(), expected.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (ran.values[i] == expected[i]) continue;
    const std::string which = ordered ? fmt::format("value {}", i + 1) : std::string("a value");
    return fmt::format("{} differs\n    expected {}\n    got      {}", which, expected[i],
                       ran.values[i]);
  }
  if (ran.values.size() == expected.size()) return {};
  const bool more = ran.values.size() > common;
  return fmt::format(
      "{} values came out, expected {}\n    {} {}", ran.values.size(), expected.size(),
      more ? "not expected:" : "missing:     ", more ? ran.values[common] : expected[common]);
}

}  // namespace

std::vector<TestOutcome> run_tests(const Pipeline& pipeline) {
  std::vector<TestOutcome> outcomes;
  for (const TestSpec& test : pipeline.tests) {
    const OperatorSpec& op = *pipeline.find_operator(test.target.name);
    if (keyed(op.kind)) {
      outcomes.push_back({&test, compare(KeyedRun(pipeline, op, test).run(), test, false)});
      continue;
    }
    Result<Step> step = make_step(op);
    outcomes.push_back({&test, step.ok() ? compare(run(*std::move(step), test), test, true)
                                         : std::string(step.status().message())});
  }
  return outcomes;
}

}  // namespace sluice::tools
