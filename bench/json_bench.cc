// Question  What does json_replace cost a core, in bytes of documents, beside the least that can do
// the same? Sketch    A document of 300 B: stage 1 of simdjson, a walk over about half of its
// fields, one RE2 match, one copy. 200 ns. Baseline  BM_BareLoop, simdjson and RE2 by hand on the
// same documents (padded, so that none is copied to be read), a string a
//           document, in the same run. BM_BareLookup is the same without RE2: what reading and
//           copying cost alone.
#include <sluice/engine/formats/json_filter.h>
#include <sluice/engine/formats/json_replace.h>
#include <sluice/engine/formats/json_select.h>
#include <sluice/engine/formats/json_set.h>
#include <sluice/engine/internal/fused.h>
#include <sluice/engine/internal/step_operator.h>

#include <benchmark/benchmark.h>
#include <re2/re2.h>
#include <simdjson.h>

#include "allocations.h"
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace {

using namespace sluice;

constexpr std::size_t kRecords = 200;  // Of 300 B: a batch of 60 KiB, as sources make them.

/// About 300 B each, one behind the other as in a fetch. The field stands in the middle; three of
/// four texts match.
struct Documents {
  Documents() {
    std::string all;
    std::vector<std::size_t> ends;
    for (std::size_t i = 0; i < kRecords; ++i) {
      all +=
          R"({"eventId":"5f0c2b1e-8a44-4a7e-9d35-)" + std::to_string(100'000'000'000 + i) +
          R"(","timestamp":1700000000)" + std::to_string(100 + i % 900) +
          R"(,"type":"request","identityUri":"user/getById/)" +
          (i % 4 == 0 ? "me" : std::to_string(10'000 + i * 7919 % 90'000)) +
          R"(","status":200,"durationMs":12.75,"tags":["edge","eu-west-1",null],"client":{"ip":"203.0.113.7","agent":)" +
          R"x("Mozilla/5.0 (X11; Linux x86_64)","session":"c0ffee)x" + std::to_string(100'000 + i) +
          R"("}})";
      ends.push_back(all.size());
    }
    bytes = all.size();
    all.append(simdjson::SIMDJSON_PADDING, '\0');
    memory = std::make_shared<const std::string>(std::move(all));
    std::size_t start = 0;
    for (const std::size_t end : ends) {
      Record record;
      record.value = Bytes(memory->data() + start, end - start);
      batch.records().push_back(record);
      start = end;
    }
    batch.own(memory, memory->size());
  }
  std::shared_ptr<const std::string> memory;
  Batch<Record> batch;
  std::size_t bytes = 0;
};

void figures(benchmark::State& state, const Documents& documents,
             std::uint64_t allocations_before) {
  const double records = static_cast<double>(state.iterations()) * kRecords;
  const double each = static_cast<double>(bench::allocations() - allocations_before) / records;
  state.counters["allocations_per_record"] = each;
  state.counters["bytes_per_document"] = static_cast<double>(documents.bytes) / kRecords;
  state.SetItemsProcessed(static_cast<std::int64_t>(records));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(documents.bytes));
  // A handful a batch (its vectors, the arena's blocks), none a record. What cannot be noise is
  // asserted.
  if (each > 24.0 / kRecords) state.SkipWithError("allocates for each record");
}

/// RE2 makes its states, and simdjson its buffers, when they are first used; only what comes then
/// is counted.
constexpr int kWarmUps = 3;

/// The least that can do it. `pattern` null: only find and copy.
void bare(benchmark::State& state, const RE2* pattern) {
  const Documents documents;
  simdjson::ondemand::parser parser;
  std::vector<char> output(documents.bytes + 64 * kRecords);
  const auto once = [&] {
    char* out = output.data();
    for (const Record& record : documents.batch) {
      const std::string_view document = record.value.view();
      simdjson::ondemand::document parsed;
      simdjson::ondemand::value value;
      if (parser
              .iterate(document.data(), document.size(),
                       document.size() + simdjson::SIMDJSON_PADDING)
              .get(parsed) ||
          parsed.find_field("identityUri").get(value))
        std::abort();
      const std::string_view token = value.raw_json_token();
      const std::string_view text =
          token.substr(1, token.size() - 2);  // No escapes, no space: known of these documents.
      const auto start = static_cast<std::size_t>(text.data() - document.data());
      re2::StringPiece found;
      if (pattern != nullptr &&
          pattern->Match({text.data(), text.size()}, 0, text.size(), RE2::UNANCHORED, &found, 1)) {
        const std::size_t head = start + static_cast<std::size_t>(found.data() - text.data());
        std::memcpy(out, document.data(), head);
        std::memcpy(out + head, "/{}", 3);
        std::memcpy(out + head + 3, document.data() + head + found.size(),
                    document.size() - head - found.size());
        out += document.size() + 3 - found.size();
      } else {
        std::memcpy(out, document.data(), document.size());
        out += document.size();
      }
    }
  };
  for (int i = 0; i < kWarmUps; ++i) once();
  const std::uint64_t before = bench::allocations();
  for (auto _ : state) {
    once();
    benchmark::DoNotOptimize(output.data());
    benchmark::ClobberMemory();
  }
  figures(state, documents, before);
}
void BM_BareLookup(benchmark::State& state) { bare(state, nullptr); }
BENCHMARK(BM_BareLookup);
void BM_BareLoop(benchmark::State& state) {
  const RE2 pattern("/\\d+$");
  bare(state, &pattern);
}
BENCHMARK(BM_BareLoop);

template <class Op>
void run(benchmark::State& state, Op op) {
  const Documents documents;
  Metrics metrics;
  Context context;
  context.operator_id = "json";
  context.metrics = &metrics;
  if (!op.open(context).ok()) std::abort();
  const auto once = [&] {
    Collector<Record> out(documents.batch);
    if (!op.process(documents.batch, out).ok()) std::abort();
    return out.take();
  };
  for (int i = 0; i < kWarmUps; ++i) (void)once();
  const std::uint64_t before = bench::allocations();
  for (auto _ : state) {
    const auto made = once();
    benchmark::DoNotOptimize(made.data());
    benchmark::ClobberMemory();
  }
  figures(state, documents, before);
}

JsonReplace replace() {
  return JsonReplace({.path = "/identityUri", .rules = {{"/\\d+$", "/{}"}}});
}

void BM_Replace(benchmark::State& state) {
  run(state, internal::StepOperator<JsonReplace>(replace(), OnError::kFail));
}
BENCHMARK(BM_Replace);
void BM_ReplaceFused(benchmark::State& state) {
  using Step = internal::MapStep<JsonReplace>;
  run(state, internal::Fused<Record, Record, Step>(std::make_tuple(Step{replace()})));
}
BENCHMARK(BM_ReplaceFused);
void BM_Locate(benchmark::State& state) {
  // Nothing matches and nothing is copied: what finding a text and looking at it costs.
  run(state, internal::StepOperator<JsonReplace>(
                 JsonReplace({.path = "/identityUri", .rules = {{"^x", ""}}}), OnError::kFail));
}
BENCHMARK(BM_Locate);
void BM_Select(benchmark::State& state) {
  JsonSelect step({.fields = {{"id", "/eventId"}, {"uri", "/identityUri"}, {"ip", "/client/ip"}}});
  run(state, internal::StepOperator<JsonSelect>(step, OnError::kFail));
}
BENCHMARK(BM_Select);
void BM_Set(benchmark::State& state) {
  run(state, internal::StepOperator<JsonSet>(JsonSet({.path = "/status", .value = "404"}),
                                             OnError::kFail));
}
BENCHMARK(BM_Set);
void BM_Filter(benchmark::State& state) {
  using Comparison = JsonCondition::Comparison;
  JsonFilter step(json_and({json_compare("/type", Comparison::kEqual, "request"),
                            json_compare("/status", Comparison::kLess, 500)}));
  run(state, internal::StepOperator<JsonFilter>(step, OnError::kFail));
}
BENCHMARK(BM_Filter);

}  // namespace

BENCHMARK_MAIN();
