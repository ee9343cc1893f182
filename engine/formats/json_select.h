#pragma once

#include <sluice/engine/batch.h>
#include <sluice/engine/formats/json_counts.h>
#include <sluice/engine/function.h>
#include <sluice/engine/record.h>
#include <sluice/io/base/result.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// Makes a new object of some of a document's values, in the order in which they were asked for:
/// `{"id": "/user/id", "uri": "/identityUri"}` gives `{"id":17,"uri":"user/1"}`.
///
/// Values     are copied byte for byte: numbers keep their digits, text its escapes. Scalars are
///            checked; an array or object is copied as it stands, up to the bracket that closes it.
/// Leaves out fields that are not there (counted); with none at all the result is `{}`.
/// Passes on  null values (tombstones), unchanged.
/// Refuses    values that are not JSON, governed by on_error.
///
///     .map(JsonSelect({.fields = {{"id", "/user/id"}, {"uri", "/identityUri"}}}))
class JsonSelect {
 public:
  struct Options {
    std::vector<std::pair<std::string, std::string>> fields;  ///< name, pointer (RFC 6901)
  };
  static constexpr std::size_t kFieldsMax = 1'000;

  explicit JsonSelect(Options options);
  /// kInvalid: what is wrong with which field.
  [[nodiscard]] static Result<JsonSelect> make(Options options);
  JsonSelect(const JsonSelect&);
  JsonSelect(JsonSelect&&) noexcept;
  JsonSelect& operator=(JsonSelect) noexcept;
  ~JsonSelect();

  [[nodiscard]] Status check() const;
  void open(const Context& context) { counts_.open(context); }
  [[nodiscard]] Result<Record> operator()(const Record& in, Arena& arena);
  [[nodiscard]] Outcome apply(const Record& in, Arena& arena, Record& out);
  [[nodiscard]] Status why(const Record& in) const;
  [[nodiscard]] const JsonCounts& counts() const noexcept { return counts_; }

 private:
  struct Impl;
  Options options_;
  JsonCounts counts_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sluice
