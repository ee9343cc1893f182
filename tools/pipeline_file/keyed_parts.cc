#include "pipeline_file/keyed_parts.h"

#include <sluice/engine/operators/deduplicate.h>
#include <sluice/engine/windows/calendar.h>
#include <sluice/engine/windows/windowed_stream.h>

#include "pipeline_file/join_parts.h"
#include "pipeline_file/keyed_fields.h"
#include "pipeline_file/keyed_options.h"
#include "pipeline_file/keyed_results.h"
#include "pipeline_file/values.h"
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <variant>

namespace sluice::tools {
namespace {

using Kind = AggregateSpec::Kind;
using std::chrono::milliseconds;

Result<AggregateSpec> aggregate_of(const Entry& entry) {
  struct Word {
    std::string_view word;
    Kind kind;
  };
  constexpr auto kWords = std::to_array<Word>({{"sum", Kind::kSum},
                                               {"min", Kind::kMin},
                                               {"max", Kind::kMax},
                                               {"average", Kind::kAverage},
                                               {"distinct", Kind::kDistinct}});
  AggregateSpec spec{.name = entry.key};
  for (const std::string_view own : {"key", "window_start", "window_end"}) {
    if (entry.key == own) {
      return Status(
          Code::kInvalid,
          fmt::format(
              "the aggregate \"{}\" has the name of a field that every row has; give it another",
              own));
    }
  }
  std::string pointer;
  for (const Word& word : kWords) {
    const Node* const field = entry.value.find(word.word);
    if (field == nullptr) continue;
    spec.kind = word.kind;
    pointer = text_or(field, "");
  }
  if (const Node* const top = entry.value.find("top")) {
    spec.kind = Kind::kTop;
    spec.n = static_cast<std::size_t>(integer_or(top->find("n"), 1));
    pointer = text_or(top->find("by"), "");
  }
  if (spec.kind == Kind::kCount) return spec;
  Result<JsonPointer> field = JsonPointer::make(pointer);
  if (!field.ok()) return field.status();
  spec.field = *std::move(field);
  return spec;
}

using Assigner = std::variant<Tumbling, Sliding, Session, Calendar>;

Result<Assigner> assigner_of(const Node& options) {
  if (const Node* const size = options.find("tumbling")) {
    SLUICE_TRY(whole_ms(size, "tumbling"));
    return Assigner(tumbling(ms(size)));
  }
  if (const Node* const given = options.find("sliding")) {
    SLUICE_TRY(whole_ms(given->find("size"), "size"));
    SLUICE_TRY(whole_ms(given->find("slide"), "slide"));
    return Assigner(sliding(ms(given->find("size")), ms(given->find("slide"))));
  }
  if (const Node* const given = options.find("session")) {
    SLUICE_TRY(whole_ms(given->find("gap"), "gap"));
    return Assigner(session(ms(given->find("gap"))));
  }
  const Node* const given = options.find("calendar");
  SLUICE_ASSERT(given != nullptr);
  const std::string unit = text_or(given->find("unit"), "day");
  const std::string zone = text_or(given->find("zone"), "UTC");
  if (unit == "week") return Assigner(tumbling(std::chrono::weeks(1), zone));
  if (unit == "month") return Assigner(tumbling(std::chrono::months(1), zone));
  return Assigner(tumbling(std::chrono::days(1), zone));
}

struct WindowPlan {
  KeyedFields::Options fields;
  Assigner assigner;
  milliseconds lateness{0};
  bool late_wanted = false;
};

Result<KeyedFields::Options> fields_of(const Node& options) {
  Result<JsonKey::Options> key = key_of(options.find("key"));
  if (!key.ok()) return key.status();
  KeyedFields::Options fields;
  fields.key = *std::move(key);
  return fields;
}

Result<WindowPlan> window_plan(const OperatorSpec& spec) {
  const Node& options = *spec.options;
  Result<KeyedFields::Options> fields = fields_of(options);
  if (!fields.ok()) return fields.status();
  if (const Node* const aggregates = options.find("aggregate")) {
    for (const Entry& entry : aggregates->entries) {
      Result<AggregateSpec> aggregate = aggregate_of(entry);
      if (!aggregate.ok()) return aggregate.status();
      fields->aggregates.push_back(*std::move(aggregate));
    }
  }
  Result<Assigner> assigner = assigner_of(options);
  if (!assigner.ok()) return assigner.status();
  SLUICE_TRY(std::visit([](const auto& one) { return one.check(); }, *assigner));
  SLUICE_TRY(whole_ms(options.find("allowed_lateness"), "allowed_lateness"));
  WindowPlan plan{*std::move(fields), *std::move(assigner), ms(options.find("allowed_lateness")),
                  !spec.late.name.empty()};
  plan.fields.keep_record = plan.late_wanted;
  return plan;
}

/// State of other keys or aggregates is not taken over; names of rows may change.
std::string contents_of(const KeyedFields::Options& fields) {
  constexpr auto kNames =
      std::to_array<std::string_view>({"count", "sum", "min", "max", "average", "distinct", "top"});
  std::string text;
  for (const AggregateSpec& one : fields.aggregates) {
    text +=
        fmt::format("{}{}", text.empty() ? "" : ", ", kNames[static_cast<std::size_t>(one.kind)]);
    if (one.kind == Kind::kTop) text += fmt::format(" {}", one.n);
    if (one.kind != Kind::kCount) text += fmt::format(" {}", one.field.text());
  }
  return text + " by " + key_contents(fields.key);
}

SplitStream<KeyedRow, Record> with_fields(const OperatorSpec& spec, const Stream<Record>& input,
                                          KeyedFields::Options options, OnError on_error) {
  options.on_error = on_error;
  return input.process<KeyedRow, Record>(
      spec.id + ".fields", [options]() -> std::unique_ptr<SideOperator<Record, KeyedRow, Record>> {
        return std::make_unique<KeyedFields>(options);
      });
}

Stream<Record> as_they_came(const Stream<KeyedRow>& rows, std::string id) {
  return rows.split<Record, Record>(
      std::move(id), [](const KeyedRow& row, Arena&, auto& out, auto&) { out(row.record); });
}

KeyedPart add_window(const OperatorSpec& spec, const Stream<Record>& input, OnError on_error) {
  Result<WindowPlan> plan = window_plan(spec);
  SLUICE_ASSERT(plan.ok());  // check_operators() made it before.
  const auto rows = with_fields(spec, input, plan->fields, on_error);
  const auto by_key = rows.key_by(&KeyedRow::key, spec.id + ".key");
  const auto build = [&](const auto& assigner) -> KeyedPart {
    const auto results = by_key.window(assigner)
                             .allowed_lateness(plan->lateness)
                             .contents(contents_of(plan->fields))
                             .aggregate(JsonAggregates(plan->fields.aggregates), spec.id);
    using Said = Windowed<Bytes, RowText>;
    const auto written = results.template process<Record, Record>(
        spec.id + ".rows", [on_error]() -> std::unique_ptr<SideOperator<Said, Record, Record>> {
          return std::make_unique<KeyedResults>(on_error);
        });
    KeyedPart part{written, {rows.side(), written.side()}, {}};
    if (plan->late_wanted) {
      part.late = as_they_came(results.late(), spec.id + ".late");
    }
    return part;
  };
  return std::visit(build, plan->assigner);
}

KeyedPart add_deduplicate(const OperatorSpec& spec, const Stream<Record>& input, OnError on_error) {
  Result<KeyedFields::Options> fields = fields_of(*spec.options);
  SLUICE_ASSERT(fields.ok());
  fields->keep_record = true;
  const DeduplicateOptions options{.within = ms(spec.options->find("within")),
                                   .contents = "keys by " + key_contents(fields->key)};
  const auto rows = with_fields(spec, input, *std::move(fields), on_error);
  const auto firsts =
      deduplicate(rows.key_by(&KeyedRow::key, spec.id + ".key"), spec.id, options);
  return {as_they_came(firsts, spec.id + ".firsts"), {rows.side()}, {}};
}

}  // namespace

bool keyed(const std::string& kind) {
  return kind == "window" || kind == "deduplicate" || joins(kind);
}

std::vector<std::string> inner_ids(const OperatorSpec& spec) {
  if (joins(spec.kind)) return join_inner_ids(spec);
  if (!keyed(spec.kind)) return {};
  std::vector<std::string> ids{spec.id + ".fields", spec.id + ".key"};
  if (spec.kind == "deduplicate") ids.push_back(spec.id + ".firsts");
  if (spec.kind == "window") ids.push_back(spec.id + ".rows");
  if (!spec.late.name.empty()) ids.push_back(spec.id + ".late");
  return ids;
}

bool needs_time(const OperatorSpec& spec) {
  if (joins(spec.kind)) return join_needs_time(spec);
  if (spec.kind == "deduplicate") return text_or(spec.options->find("within"), "") != "forever";
  return spec.kind == "window";
}

std::string describe_keyed(const OperatorSpec& spec) {
  const Node& options = *spec.options;
  if (joins(spec.kind)) return describe_join(spec);
  if (spec.kind == "deduplicate") {
    return fmt::format("deduplicate by {} within {}", key_text(options.find("key")),
                       text_or(options.find("within"), ""));
  }
  const auto part = [](const Node* map, std::string_view key) {
    return text_or(map->find(key), "");
  };
  std::string shape;
  if (const Node* const size = options.find("tumbling")) shape = "tumbling " + size->text;
  if (const Node* const given = options.find("sliding")) {
    shape = fmt::format("sliding {} every {}", part(given, "size"), part(given, "slide"));
  }
  if (const Node* const given = options.find("session"))
    shape = "session with a gap of " + part(given, "gap");
  if (const Node* const given = options.find("calendar")) {
    const std::string zone = part(given, "zone");
    shape = fmt::format("calendar {} in {}", part(given, "unit"), zone.empty() ? "UTC" : zone);
  }
  return fmt::format("window {} by {}", shape, key_text(options.find("key")));
}

Status check_keyed(const OperatorSpec& spec) {
  if (joins(spec.kind)) return check_join(spec);
  if (spec.kind == "window") return window_plan(spec).status();
  SLUICE_TRY(whole_ms(spec.options->find("within"), "within"));
  return fields_of(*spec.options).status();
}

KeyedPart add_keyed(const OperatorSpec& spec, const Stream<Record>& input, OnError on_error) {
  return spec.kind == "window" ? add_window(spec, input, on_error)
                               : add_deduplicate(spec, input, on_error);
}

}  // namespace sluice::tools
