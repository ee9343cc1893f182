#pragma once

#include <re2/re2.h>
#include <simdjson.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

/// The rules of tests/examples/identity_rewrite.cc by hand, for the bare loop: simdjson finds the
/// field, RE2 the place in it, and the document is put together in a buffer that is used again.
class BareRewrite {
 public:
  /// The rewritten document, valid until the next call; the document itself when no rule matches.
  std::string_view operator()(std::string_view document) {
    // The parser reads a little past the end, and the library's buffer has no room behind a
    // message.
    if (input_.size() < document.size() + simdjson::SIMDJSON_PADDING) {
      input_.resize(2 * (document.size() + simdjson::SIMDJSON_PADDING));
    }
    document.copy(input_.data(), document.size());
    simdjson::ondemand::document parsed;
    if (parser_.iterate(input_.data(), document.size(), input_.size()).get(parsed) !=
        simdjson::SUCCESS)
      return document;
    simdjson::ondemand::raw_json_string raw;
    if (parsed.find_field_unordered("identityUri").get_raw_json_string().get(raw) !=
        simdjson::SUCCESS)
      return document;
    const auto start = static_cast<std::size_t>(raw.raw() - input_.data());
    std::size_t end = start;
    while (input_[end] != '"') end += input_[end] == '\\' ? 2 : 1;
    const std::string_view text = document.substr(start, end - start);
    for (const Rule& rule : rules_) {
      re2::StringPiece found;
      if (!rule.pattern.Match(text, 0, text.size(), RE2::UNANCHORED, &found, 1)) continue;
      const auto from = static_cast<std::size_t>(found.data() - document.data());
      output_.assign(document.substr(0, from));
      output_.append(rule.with);
      output_.append(document.substr(from + found.size()));
      return output_;
    }
    return document;
  }

 private:
  struct Rule {
    RE2 pattern;
    std::string_view with;
  };
  const std::array<Rule, 2> rules_{
      {{R"(/\d+$)", "/{}"}, {"/[0-9a-f]{8}-[0-9a-f-]{27}$", "/{uuid}"}}};
  simdjson::ondemand::parser parser_;
  std::string input_, output_;
};
