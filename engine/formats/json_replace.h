#pragma once

#include <sluice/engine/batch.h>
#include <sluice/engine/formats/json_counts.h>
#include <sluice/engine/function.h>
#include <sluice/engine/record.h>
#include <sluice/io/base/result.h>

#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// Rewrites one text field of JSON documents: the first rule whose pattern is found replaces what
/// it found, once. Only these bytes change; nothing else in the document is written anew.
///
/// Matches    the field's text as it is meant (escapes resolved, RE2 on UTF-8); what is written is
///            escaped again. `with` may use \0 to \9 for what the pattern's groups matched.
/// Passes on  unchanged: null values (tombstones); documents without the field, or where it is no
///            text (both counted); text that no rule finds. Of a field given twice, the first.
/// Refuses    values that are not JSON (JsonReader says what is looked at), governed by on_error.
///
///     .map(JsonReplace({.path = "/identityUri", .rules = {{"/\\d+$", "/{}"}}}))
///     .apply("rewrite", JsonReplace({…}), OnError::kReject)
class JsonReplace {
 public:
  struct Rule {
    std::string pattern;  ///< RE2
    std::string with;     ///< RE2's rewrite syntax
  };
  struct Options {
    std::string path;  ///< RFC 6901
    std::vector<Rule> rules;
  };
  static constexpr std::size_t kRulesMax = 1'000;

  /// Faults are told by check(), and by the job when it is checked.
  explicit JsonReplace(Options options);
  /// kInvalid: what is wrong with which option.
  [[nodiscard]] static Result<JsonReplace> make(Options options);
  JsonReplace(const JsonReplace&);  ///< compiles its own: shards share nothing
  JsonReplace(JsonReplace&&) noexcept;
  JsonReplace& operator=(JsonReplace) noexcept;
  ~JsonReplace();

  [[nodiscard]] Status check() const;
  void open(const Context& context) { counts_.open(context); }
  /// For Stream::map; a value that is refused ends the attempt.
  [[nodiscard]] Result<Record> operator()(const Record& in, Arena& arena);
  /// For Stream::apply.
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
