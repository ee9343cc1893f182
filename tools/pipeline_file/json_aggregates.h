#pragma once

#include <sluice/engine/formats/json_pointer.h>
#include <sluice/engine/windows/aggregates.h>
#include <sluice/engine/windows/window.h>

#include "pipeline_file/keyed_row.h"
#include <boost/describe/class.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// The aggregates that a file names, as one aggregate of the engine.
namespace sluice::tools {

struct AggregateSpec {
  enum class Kind : std::uint8_t { kCount, kSum, kMin, kMax, kAverage, kDistinct, kTop };
  std::string name;
  Kind kind = Kind::kCount;
  JsonPointer field = {};  ///< of all but kCount
  std::size_t n = 0;       ///< of kTop
};

/// Whole numbers in 128 bits, so that neither the order of records nor a slice decides whether a
/// sum is beyond 64; others as a double beside them.
struct SumCell {
  std::int64_t high = 0;
  std::uint64_t low = 0;
  double real = 0;
  bool whole = true;
  std::uint64_t count = 0;
  BOOST_DESCRIBE_CLASS(SumCell, (), (high, low, real, whole, count), (), ())
};
/// A number and a text that goes with it: of min and max the number itself, of top the document.
struct NumberCell {
  bool whole = true;
  std::int64_t integer = 0;
  double real = 0;
  std::string text;  ///< empty: none yet
  [[nodiscard]] Number number() const noexcept { return {whole, integer, real}; }
  BOOST_DESCRIBE_CLASS(NumberCell, (), (whole, integer, real, text), (), ())
};
struct TextHash {
  using is_avalanching = void;
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const noexcept {
    return KeyHash<std::string_view>::hash(text, sluice::internal::table_seed());
  }
};
using DistinctCell = boost::unordered_flat_set<std::string, TextHash, std::equal_to<>>;
using TopCell = std::vector<NumberCell>;
using Cell = std::variant<std::uint64_t, SumCell, NumberCell, DistinctCell, TopCell>;

/// A row of results as JSON; or why there is none.
struct RowText {
  std::string json;
  std::string error;
  bool operator==(const RowText&) const = default;
};

class JsonAggregates {
 public:
  using Accumulator = std::vector<Cell>;
  explicit JsonAggregates(std::vector<AggregateSpec> specs) : specs_(std::move(specs)) {}

  std::size_t add(Accumulator& into, const KeyedRow& row) const;
  void merge(Accumulator& into, const Accumulator& later) const;
  [[nodiscard]] std::size_t kept(const Accumulator& all) const noexcept;
  [[nodiscard]] RowText result(const Bytes& key, const Window& window,
                               const Accumulator& all) const;

 private:
  void begin(Accumulator& cells) const;
  bool put(TopCell& top, const AggregateSpec& spec, NumberCell entry) const;
  std::vector<AggregateSpec> specs_;
};

}  // namespace sluice::tools
