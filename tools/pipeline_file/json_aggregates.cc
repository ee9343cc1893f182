#include "pipeline_file/json_aggregates.h"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

namespace sluice::tools {
namespace {

using Kind = AggregateSpec::Kind;
__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UnsignedWide;
using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

static_assert(std::numeric_limits<long double>::digits >= 63,
              "compare() needs room for 64-bit integers");

Wide wide(const SumCell& cell) noexcept {
  return static_cast<Wide>(
      (static_cast<UnsignedWide>(static_cast<std::uint64_t>(cell.high)) << 64) | cell.low);
}
void set(SumCell& cell, Wide value) noexcept {
  const auto bits = static_cast<UnsignedWide>(value);
  cell.high = static_cast<std::int64_t>(static_cast<std::uint64_t>(bits >> 64));
  cell.low = static_cast<std::uint64_t>(bits);
}

void add(SumCell& into, const Number& number) noexcept {
  ++into.count;
  if (number.whole) {
    set(into, wide(into) + number.integer);
  } else {
    into.real += number.real;
    into.whole = false;
  }
}
void add(SumCell& into, const SumCell& later) noexcept {
  into.count += later.count;
  into.real += later.real;
  into.whole = into.whole && later.whole;
  set(into, wide(into) + wide(later));
}
double total(const SumCell& cell) noexcept {
  return static_cast<double>(static_cast<long double>(wide(cell)) +
                             static_cast<long double>(cell.real));
}

/// Of numbers that are equal the first one stays.
void take(NumberCell& best, bool least, const Number& number, std::string_view text) {
  if (!best.text.empty()) {
    const int order = compare(number, best.number());
    if (least ? order >= 0 : order <= 0) return;
  }
  best.whole = number.whole;
  best.integer = number.integer;
  best.real = number.real;
  best.text = text;
}

bool write(Writer& writer, double number) { return std::isfinite(number) && writer.Double(number); }
void raw(Writer& writer, std::string_view json) {
  writer.RawValue(json.data(), json.size(), rapidjson::kNumberType);
}

/// False: a number that JSON, or 64 bits, cannot say.
bool write(Writer& writer, Kind kind, const Cell& cell) {
  switch (kind) {
    case Kind::kCount:
      return writer.Uint64(std::get<std::uint64_t>(cell));
    case Kind::kSum: {
      const auto& sum = std::get<SumCell>(cell);
      if (!sum.whole) return write(writer, total(sum));
      const Wide all = wide(sum);
      if (all < std::numeric_limits<std::int64_t>::min() ||
          all > std::numeric_limits<std::int64_t>::max())
        return false;
      return writer.Int64(static_cast<std::int64_t>(all));
    }
    case Kind::kAverage: {
      const auto& sum = std::get<SumCell>(cell);
      return write(writer, static_cast<double>((static_cast<long double>(wide(sum)) +
                                                static_cast<long double>(sum.real)) /
                                               static_cast<long double>(sum.count)));
    }
    case Kind::kMin:
    case Kind::kMax:
      raw(writer, std::get<NumberCell>(cell).text);
      return true;
    case Kind::kDistinct:
      return writer.Uint64(std::get<DistinctCell>(cell).size());
    case Kind::kTop:
      writer.StartArray();
      for (const NumberCell& entry : std::get<TopCell>(cell)) raw(writer, entry.text);
      return writer.EndArray();
  }
  return false;
}

}  // namespace

int compare(const Number& a, const Number& b) noexcept {
  if (a.whole && b.whole) return a.integer < b.integer ? -1 : a.integer > b.integer ? 1 : 0;
  const auto of = [](const Number& n) {
    return n.whole ? static_cast<long double>(n.integer) : static_cast<long double>(n.real);
  };
  return of(a) < of(b) ? -1 : of(a) > of(b) ? 1 : 0;
}

void JsonAggregates::begin(Accumulator& cells) const {
  cells.reserve(specs_.size());
  for (const AggregateSpec& spec : specs_) {
    switch (spec.kind) {
      case Kind::kCount:
        cells.emplace_back(std::uint64_t{0});
        break;
      case Kind::kSum:
      case Kind::kAverage:
        cells.emplace_back(SumCell());
        break;
      case Kind::kMin:
      case Kind::kMax:
        cells.emplace_back(NumberCell());
        break;
      case Kind::kDistinct:
        cells.emplace_back(DistinctCell());
        break;
      case Kind::kTop:
        cells.emplace_back(TopCell());
        break;
    }
  }
}

bool JsonAggregates::put(TopCell& top, const AggregateSpec& spec, NumberCell entry) const {
  const auto greater = [](const NumberCell& a, const NumberCell& b) {
    return compare(a.number(), b.number()) > 0;
  };
  const bool full = top.size() >= spec.n;
  if (full && !greater(entry, top.back())) return false;
  if (full) top.pop_back();
  top.insert(std::upper_bound(top.begin(), top.end(), entry, greater), std::move(entry));
  return !full;
}

std::size_t JsonAggregates::add(Accumulator& into, const KeyedRow& row) const {
  if (into.empty()) begin(into);
  std::size_t more = 0;
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    const Field& field = row.fields[i];
    switch (specs_[i].kind) {
      case Kind::kCount:
        ++std::get<std::uint64_t>(into[i]);
        break;
      case Kind::kSum:
      case Kind::kAverage:
        tools::add(std::get<SumCell>(into[i]), field.number);
        break;
      case Kind::kMin:
      case Kind::kMax:
        take(std::get<NumberCell>(into[i]), specs_[i].kind == Kind::kMin, field.number, field.text);
        break;
      case Kind::kDistinct: {
        auto& seen = std::get<DistinctCell>(into[i]);
        if (seen.contains(field.text)) break;
        seen.insert(std::string(field.text));
        ++more;
        break;
      }
      case Kind::kTop: {
        auto& top = std::get<TopCell>(into[i]);
        // Most records of a long window are none of them: those cost no copy.
        if (top.size() >= specs_[i].n && compare(field.number, top.back().number()) <= 0) break;
        more += put(top, specs_[i],
                    {field.number.whole, field.number.integer, field.number.real,
                     std::string(field.text)})
                    ? 1
                    : 0;
        break;
      }
    }
  }
  return more;
}

void JsonAggregates::merge(Accumulator& into, const Accumulator& later) const {
  if (later.empty()) return;
  if (into.empty()) {
    into = later;
    return;
  }
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    switch (specs_[i].kind) {
      case Kind::kCount:
        std::get<std::uint64_t>(into[i]) += std::get<std::uint64_t>(later[i]);
        break;
      case Kind::kSum:
      case Kind::kAverage:
        tools::add(std::get<SumCell>(into[i]), std::get<SumCell>(later[i]));
        break;
      case Kind::kMin:
      case Kind::kMax: {
        const auto& other = std::get<NumberCell>(later[i]);
        take(std::get<NumberCell>(into[i]), specs_[i].kind == Kind::kMin, other.number(),
             other.text);
        break;
      }
      case Kind::kDistinct: {
        const auto& other = std::get<DistinctCell>(later[i]);
        std::get<DistinctCell>(into[i]).insert(other.begin(), other.end());
        break;
      }
      case Kind::kTop:
        for (const NumberCell& entry : std::get<TopCell>(later[i]))
          put(std::get<TopCell>(into[i]), specs_[i], entry);
        break;
    }
  }
}

std::size_t JsonAggregates::kept(const Accumulator& all) const noexcept {
  std::size_t kept = 0;
  for (const Cell& cell : all) {
    if (const auto* const seen = std::get_if<DistinctCell>(&cell)) kept += seen->size();
    if (const auto* const top = std::get_if<TopCell>(&cell)) kept += top->size();
  }
  return kept;
}

RowText JsonAggregates::result(const Bytes& key, const Window& window,
                               const Accumulator& all) const {
  RowText row;
  rapidjson::StringBuffer buffer;
  Writer writer(buffer);
  writer.StartObject();
  writer.Key("key");
  raw(writer, key.view());
  writer.Key("window_start");
  writer.Int64(window.start.time_since_epoch().count());
  writer.Key("window_end");
  writer.Int64(window.end.time_since_epoch().count());
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    const AggregateSpec& spec = specs_[i];
    writer.Key(spec.name.data(), static_cast<rapidjson::SizeType>(spec.name.size()));
    if (write(writer, spec.kind, all[i])) continue;
    writer.Null();
    row.error = fmt::format(
        "\"{}\" of {} is not a number that {} can hold, in the window from {} to {} ms of key {}",
        spec.name, spec.field.text(), std::get<SumCell>(all[i]).whole ? "64 bits" : "a double",
        window.start.time_since_epoch().count(), window.end.time_since_epoch().count(), key.view());
  }
  writer.EndObject();
  row.json.assign(buffer.GetString(), buffer.GetSize());
  return row;
}

}  // namespace sluice::tools
