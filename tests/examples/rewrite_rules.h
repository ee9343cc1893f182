#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <re2/re2.h>
#include <simdjson.h>

#include <sluice/engine/batch.h>
#include <sluice/engine/record.h>

/// Rewrites one text field of JSON documents: the first rule whose pattern is found replaces what it found. Only these bytes
/// change; everything else in the document stays as it was, digit for digit.
class RewriteRules {
 public:
  struct Rule {
    std::string pattern;
    std::string with;
  };
  RewriteRules(std::string field, const std::vector<Rule>& rules) : field_(std::move(field)) {
    for (const Rule& rule : rules) rules_.push_back({std::make_shared<RE2>(rule.pattern), rule.with});
  }
  // Each shard has a copy of its own, with its own parser.
  RewriteRules(const RewriteRules& other) : field_(other.field_), rules_(other.rules_) {}

  sluice::Record operator()(const sluice::Record& in, sluice::Arena& arena) {
    sluice::Record out = in;
    if (in.value.null()) return out;
    const std::string_view document = in.value.view();
    // The parser reads a little past the end, so it works on a copy with room behind it.
    if (buffer_.size() < document.size() + simdjson::SIMDJSON_PADDING) {
      buffer_.resize(2 * (document.size() + simdjson::SIMDJSON_PADDING));
    }
    document.copy(buffer_.data(), document.size());
    simdjson::ondemand::document parsed;
    if (parser_.iterate(buffer_.data(), document.size(), buffer_.size()).get(parsed) != simdjson::SUCCESS) return out;
    simdjson::ondemand::value field;
    if (parsed.find_field_unordered(field_).get(field) != simdjson::SUCCESS) return out;
    simdjson::ondemand::raw_json_string text;
    if (field.get_raw_json_string().get(text) != simdjson::SUCCESS) return out;
    const std::size_t start = static_cast<std::size_t>(text.raw() - buffer_.data());
    std::size_t end = start;
    while (buffer_[end] != '"') end += buffer_[end] == '\\' ? 2 : 1;
    const std::string_view old = document.substr(start, end - start);
    for (const Compiled& rule : rules_) {
      rewritten_.assign(old);
      if (!RE2::Replace(&rewritten_, *rule.pattern, rule.with)) continue;
      char* const bytes = arena.allocate(document.size() - old.size() + rewritten_.size());
      char* at = bytes;
      at += document.substr(0, start).copy(at, start);
      at += rewritten_.copy(at, rewritten_.size());
      at += document.substr(end).copy(at, document.size() - end);
      out.value = sluice::Bytes(bytes, static_cast<std::size_t>(at - bytes));
      break;
    }
    return out;
  }

 private:
  struct Compiled {
    std::shared_ptr<RE2> pattern;
    std::string with;
  };
  std::string field_;
  std::vector<Compiled> rules_;
  simdjson::ondemand::parser parser_;
  std::string buffer_;
  std::string rewritten_;
};
