#include "pipeline_file/join_parts.h"

#include <sluice/engine/joins/joined_streams.h>
#include <sluice/engine/windows/assigners.h>

#include "pipeline_file/join_plan.h"
#include "pipeline_file/join_rows.h"
#include "pipeline_file/keyed_options.h"
#include "pipeline_file/values.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <utility>
#include <variant>
#include <vector>

namespace sluice::tools {
namespace {

template <class Row>
SplitStream<Row, Record> side(const Stream<Record>& input, const std::string& id,
                              const JsonKey::Options& key, OnError on_error) {
  return input.process<Row, Record>(
      id + ".fields", [key, on_error]() -> std::unique_ptr<SideOperator<Record, Row, Record>> {
        return std::make_unique<JoinSide<Row>>(key, on_error);
      });
}

/// `joined`: a range of time, or windows. What is a result was the only thing left to say.
template <class JoinedSides>
Stream<Joined> of_kind(const JoinedSides& joined, const JoinPlan& plan, const std::string& id) {
  if (plan.kind == "left") return joined.left(id, PairDocuments());
  if (plan.kind == "right") return joined.right(id, PairDocuments());
  if (plan.kind == "full") return joined.full(id, PairDocuments());
  return joined.inner(id, PairDocuments());
}

template <class Row>
auto by_key(const SplitStream<Row, Record>& rows, const std::string& id) {
  return rows.key_by([](const Row& row) { return row.key(); }, id + ".key");
}

Stream<Record> written(const Stream<Joined>& joined, const std::string& id,
                       const JoinedRecords::Options& options) {
  return joined.process<Record>(id + ".rows",
                                [options]() -> std::unique_ptr<Operator<Joined, Record>> {
                                  return std::make_unique<JoinedRecords>(options);
                                });
}

KeyedPart add_lookup(const OperatorSpec& spec, const JoinPlan& plan, const Stream<Record>& left,
                     const Stream<Record>& right, OnError on_error) {
  const auto rows = side<JoinRow>(left, spec.id + ".row", plan.left_key, on_error);
  const auto table = side<TableRow>(right, spec.id + ".table", plan.right_key, on_error);
  const auto found =
      by_key(rows, spec.id + ".row").lookup(by_key(table, spec.id + ".table"), plan.table);
  const auto of_kind = [&]() -> Stream<Joined> {
    if (plan.kind == "left") return found.left(spec.id, PairDocuments());
    if (plan.kind == "waiting") return found.waiting(spec.id, PairDocuments());
    return found.inner(spec.id, PairDocuments());
  };
  return {written(of_kind(), spec.id, {plan.left, plan.right, {}, true}),
          {rows.side(), table.side()},
          {}};
}

std::string shape_text(const Node& options) {
  const auto part = [](const Node* map, std::string_view key) {
    return text_or(map->find(key), "");
  };
  if (const Node* const size = options.find("tumbling")) return "tumbling " + size->text;
  if (const Node* const given = options.find("sliding"))
    return fmt::format("sliding {} every {}", part(given, "size"), part(given, "slide"));
  const Node* const given = options.find("between");
  return fmt::format("between {} and {}", part(given, "from"), part(given, "to"));
}

}  // namespace

bool joins(const std::string& kind) { return kind == "join" || kind == "lookup"; }

bool join_needs_time(const OperatorSpec& spec) {
  if (spec.kind == "join") return true;
  return text_or(spec.options->find("time_to_live"), "forever") != "forever";
}

std::vector<std::string> join_inner_ids(const OperatorSpec& spec) {
  const bool table = spec.kind == "lookup";
  std::vector<std::string> ids{spec.id + ".rows"};
  for (const char* const side : {table ? ".row" : ".left", table ? ".table" : ".right"}) {
    ids.push_back(spec.id + side + ".fields");
    ids.push_back(spec.id + side + ".key");
  }
  return ids;
}

std::string describe_join(const OperatorSpec& spec) {
  const Node& options = *spec.options;
  const bool table = spec.kind == "lookup";
  const Node* const key = options.find("key");
  std::string by;
  if (key != nullptr && key->kind == Node::Kind::kMap) {
    by = fmt::format("{} = {}", key_text(key->find(table ? "row" : "left")),
                     key_text(key->find(table ? "table" : "right")));
  } else {
    by = key_text(key);
  }
  std::vector<std::string> second;
  for (const Reference& input : spec.second) second.push_back(input.name);
  const std::string kind = text_or(options.find("kind"), "inner");
  if (table) return fmt::format("lookup {} in {} by {}", kind, fmt::join(second, ", "), by);
  return fmt::format("join {} with {} {} by {}", kind, fmt::join(second, ", "), shape_text(options),
                     by);
}

Status check_join(const OperatorSpec& spec) { return join_plan(spec).status(); }

KeyedPart add_join(const OperatorSpec& spec, const Stream<Record>& left,
                   const Stream<Record>& right, OnError on_error) {
  const Result<JoinPlan> plan = join_plan(spec);
  SLUICE_ASSERT(plan.ok());  // check_operators() made it before.
  if (std::holds_alternative<Table>(plan->what))
    return add_lookup(spec, *plan, left, right, on_error);
  const auto lefts = side<JoinRow>(left, spec.id + ".left", plan->left_key, on_error);
  const auto rights = side<JoinRow>(right, spec.id + ".right", plan->right_key, on_error);
  const auto both = by_key(lefts, spec.id + ".left").join(by_key(rights, spec.id + ".right"));
  JoinedRecords::Options options{plan->left, plan->right};
  const auto joined = [&]() -> Stream<Joined> {
    if (const auto* const interval = std::get_if<Interval>(&plan->what)) {
      return of_kind(both.between(interval->from, interval->to, plan->bounds), *plan, spec.id);
    }
    const auto& window = std::get<JoinWindow>(plan->what);
    options.window = window.size;
    return of_kind(both.window(sliding(window.size, window.slide), plan->bounds), *plan, spec.id);
  };
  const Stream<Joined> made = joined();
  return {written(made, spec.id, options), {lefts.side(), rights.side()}, {}};
}

}  // namespace sluice::tools
