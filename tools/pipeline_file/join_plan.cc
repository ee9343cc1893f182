#include "pipeline_file/join_plan.h"

#include <sluice/engine/joins/window_join.h>
#include <sluice/engine/windows/assigners.h>

#include "pipeline_file/keyed_options.h"
#include "pipeline_file/values.h"
#include <fmt/format.h>

#include <utility>

namespace sluice::tools {
namespace {

/// How the file calls the two sides.
struct Sides {
  std::string_view left, right;
};
Sides sides_of(const OperatorSpec& spec) {
  return spec.kind == "lookup" ? Sides{"row", "table"} : Sides{"left", "right"};
}

Status read_keys(const OperatorSpec& spec, JoinPlan& plan) {
  const auto [left_name, right_name] = sides_of(spec);
  const Node* const key = spec.options->find("key");
  const bool two = key != nullptr && key->kind == Node::Kind::kMap;
  Result<JsonKey::Options> left = key_of(two ? key->find(left_name) : key);
  if (!left.ok()) return left.status();
  Result<JsonKey::Options> right = key_of(two ? key->find(right_name) : key);
  if (!right.ok()) return right.status();
  if (!left->from_record && !right->from_record && left->fields.size() != right->fields.size()) {
    return Status(Code::kInvalid,
                  fmt::format("key: {} has {} fields and {} has {}; keys of different lengths are "
                              "never equal",
                              left_name, left->fields.size(), right_name, right->fields.size()));
  }
  if (left->list != right->list && !left->from_record && !right->from_record) {
    return Status(Code::kInvalid,
                  fmt::format("key: one of {} and {} is a list, which never equals one that is not; "
                              "write both in one way",
                              left_name, right_name));
  }
  plan.left_key = *std::move(left);
  plan.right_key = *std::move(right);
  plan.left_key.as_text = plan.right_key.from_record;
  plan.right_key.as_text = plan.left_key.from_record;
  plan.left_key.nulls = plan.right_key.nulls = true;
  return {};
}

Status read_names(const OperatorSpec& spec, JoinPlan& plan) {
  const auto [left_name, right_name] = sides_of(spec);
  const Node* const as = spec.options->find("as");
  plan.left = text_or(as == nullptr ? nullptr : as->find(left_name), left_name);
  plan.right = text_or(as == nullptr ? nullptr : as->find(right_name), right_name);
  if (plan.left == plan.right) {
    return Status(Code::kInvalid,
                  fmt::format("as: both sides are called \"{}\" in the row; give them two names",
                              plan.left));
  }
  for (const std::string_view own : {"key", "window_start", "window_end"}) {
    if (plan.left != own && plan.right != own) continue;
    return Status(Code::kInvalid,
                  fmt::format("as: \"{}\" is a field of the row itself; give the side another name",
                              own));
  }
  return {};
}

Status read_interval(const Node& between, JoinPlan& plan) {
  SLUICE_TRY(whole_ms(between.find("from"), "from"));
  SLUICE_TRY(whole_ms(between.find("to"), "to"));
  const Interval interval{ms(between.find("from")), ms(between.find("to"))};
  plan.what = interval;
  if (interval.from <= interval.to) return {};
  return Status(Code::kInvalid,
                fmt::format("between: from {} to {} is empty: the earlier bound comes first",
                            text_or(between.find("from"), ""), text_or(between.find("to"), "")));
}

Status read_window(const Node& options, JoinPlan& plan) {
  JoinWindow window;
  if (const Node* const size = options.find("tumbling")) {
    SLUICE_TRY(whole_ms(size, "tumbling"));
    window.size = window.slide = ms(size);
  } else {
    const Node* const given = options.find("sliding");
    SLUICE_ASSERT(given != nullptr);
    SLUICE_TRY(whole_ms(given->find("size"), "size"));
    SLUICE_TRY(whole_ms(given->find("slide"), "slide"));
    window = {ms(given->find("size")), ms(given->find("slide"))};
    SLUICE_TRY(sliding(window.size, window.slide).check());
  }
  plan.what = window;
  return sluice::internal::JoinWindows{window.size, window.slide, {}}.check();
}

/// Whose state it is: of the same keys of the same sources, whatever stands between them and the join.
std::string side_contents(const std::string& source, const JsonKey::Options& key) {
  return source + " by " + key_contents(key);
}

std::uint64_t bound(const Node& options, std::string_view name, std::uint64_t otherwise) {
  return static_cast<std::uint64_t>(
      integer_or(options.find(name), static_cast<std::int64_t>(otherwise)));
}

Status read_table(const Node& options, JoinPlan& plan) {
  plan.what = Table{};
  plan.table.table_rows_max = bound(options, "table_rows_max", plan.table.table_rows_max);
  plan.table.waiting_rows_max = bound(options, "waiting_rows_max", plan.table.waiting_rows_max);
  const bool waits = plan.kind == "waiting";
  if (!waits && options.find("waiting_rows_max") != nullptr) {
    return Status(Code::kInvalid,
                  "waiting_rows_max has no effect without kind: waiting; remove one or add the other");
  }
  const Node* const live = options.find("time_to_live");
  if (live == nullptr || text_or(live, "") == "forever") return {};
  if (waits) {
    return Status(Code::kInvalid,
                  "time_to_live would take away rows that wait; use it with kind: inner or left");
  }
  plan.table.time_to_live.after = ms(live);
  return whole_ms(live, "time_to_live");
}

}  // namespace

Result<JoinPlan> join_plan(const OperatorSpec& spec) {
  const Node& options = *spec.options;
  JoinPlan plan{.what = Table{},
                .kind = text_or(options.find("kind"), "inner"),
                .left_key = {},
                .right_key = {}};
  SLUICE_TRY(read_keys(spec, plan));
  SLUICE_TRY(read_names(spec, plan));
  plan.bounds.buffered_rows_max =
      bound(options, "buffered_rows_max", plan.bounds.buffered_rows_max);
  plan.bounds.results_at_once_max =
      bound(options, "results_at_once_max", kResultsAtOnceMax);
  const std::string left = side_contents(spec.first_source, plan.left_key);
  const std::string right = side_contents(spec.second_source, plan.right_key);
  plan.bounds.contents = left + " with " + right;
  // Rows of a lookup are state where they wait only.
  plan.table.contents = plan.kind == "waiting" ? left + " in " + right : right;
  if (spec.kind == "lookup") {
    SLUICE_TRY(read_table(options, plan));
  } else if (const Node* const between = options.find("between")) {
    SLUICE_TRY(read_interval(*between, plan));
  } else {
    SLUICE_TRY(read_window(options, plan));
  }
  return plan;
}

}  // namespace sluice::tools
