#pragma once

#include <sluice/engine/batch.h>
#include <sluice/engine/formats/json_counts.h>
#include <sluice/engine/function.h>
#include <sluice/engine/record.h>
#include <sluice/io/base/result.h>

#include <memory>
#include <string>

namespace sluice {

/// Replaces or inserts one value of JSON documents; all other bytes stay as they are.
///
/// Inserts    into an object at its end; into an array only behind its last element ("/list/-", or
///            the index that comes next). "" replaces the whole document.
/// Passes on  null values (tombstones), unchanged.
/// Refuses    values that are not JSON; documents where what is to hold the value is missing, or
///            neither an object nor an array with room at that index. Governed by on_error.
///
///     .map(JsonSet({.path = "/checked", .value = "true"}))
class JsonSet {
 public:
  struct Options {
    std::string path;   ///< RFC 6901
    std::string value;  ///< JSON, written as it stands here: `"text"` with its quotes, 1.50 as 1.50
  };

  explicit JsonSet(Options options);
  /// kInvalid: what is wrong with which option.
  [[nodiscard]] static Result<JsonSet> make(Options options);
  JsonSet(const JsonSet&);
  JsonSet(JsonSet&&) noexcept;
  JsonSet& operator=(JsonSet) noexcept;
  ~JsonSet();

  [[nodiscard]] Status check() const;
  [[nodiscard]] Result<Record> operator()(const Record& in, Arena& arena);
  [[nodiscard]] Outcome apply(const Record& in, Arena& arena, Record& out);
  [[nodiscard]] Status why(const Record& in) const;

 private:
  struct Impl;
  Options options_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
