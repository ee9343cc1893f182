#include "pipeline_file/check.h"

#include "commands/units.h"
#include "pipeline_file/keys.h"
#include "pipeline_file/spelling.h"
#include "pipeline_file/values.h"
#include <fmt/ranges.h>

#include <algorithm>

namespace sluice::tools {

const Key* Section::find(std::string_view name) const {
  const auto at = std::ranges::find(keys, name, &Key::name);
  return at == keys.end() ? nullptr : &*at;
}

namespace {

std::string below(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

std::string shown(const Node& node) {
  return node.secret ? std::string("(a secret)") : fmt::format("\"{}\"", node.text);
}

// ---- scalars ----

std::string range(const Shape& shape) {
  if (shape.low == shape.high) return fmt::format("{}", shape.low);
  if (shape.scalar == Scalar::kInteger) return fmt::format("{} to {}", shape.low, shape.high);
  return fmt::format("{} to {}", format_duration(std::chrono::microseconds(shape.low)),
                     format_duration(std::chrono::microseconds(shape.high)));
}

void check_number(const Node& node, const Shape& shape, const std::string& path,
                  Problems& problems) {
  const bool duration = shape.scalar == Scalar::kDuration;
  std::optional<std::int64_t> number;
  std::string why;
  if (duration) {
    const auto parsed =
        shape.low < 0 ? parse_signed_duration(node.text) : parse_duration(node.text);
    if (parsed.ok()) number = parsed->count();
    if (!parsed.ok()) why = parsed.status().message();
  } else {
    if (!node.quoted) number = parse_integer(node.text);
    if (!number) why = fmt::format("{} is not a whole number", shown(node));
  }
  if (!number) {
    problems.add(node.place, ProblemCode::kWrongType, fmt::format("{}: {}", path, why),
                 node.quoted && !duration ? "a number stands without quotes" : "");
  } else if (*number < shape.low || *number > shape.high) {
    problems.add(node.place, ProblemCode::kNotAllowed,
                 fmt::format("{} is {}, but {} is possible", path, node.text, range(shape)));
  }
}

void check_word(const Node& node, const Shape& shape, const std::string& path, Problems& problems) {
  if (std::ranges::find(shape.later, node.text) != shape.later.end()) {
    problems.add(node.place, ProblemCode::kNotYet,
                 fmt::format("{}: {} is not supported yet", path, node.text),
                 "possible is " + describe(shape));
    return;
  }
  const std::vector<std::string> words(shape.words.begin(), shape.words.end());
  problems.add(node.place, ProblemCode::kNotAllowed,
               fmt::format("{} is {}, but possible is {}", path, shown(node), describe(shape)),
               did_you_mean(node.text, words));
}

void check_scalar(const Node& node, const Shape& shape, const std::string& path,
                  Problems& problems) {
  if (std::ranges::find(shape.words, node.text) != shape.words.end()) return;
  switch (shape.scalar) {
    case Scalar::kInteger:
    case Scalar::kDuration:
      check_number(node, shape, path, problems);
      return;
    case Scalar::kBoolean:
      if (!node.quoted && parse_boolean(node.text)) return;
      problems.add(node.place, ProblemCode::kWrongType,
                   fmt::format("{} is {}, but must be true or false", path, shown(node)));
      return;
    case Scalar::kText:
      if (shape.check == nullptr) return;
      if (const auto why = shape.check(node.text)) {
        problems.add(node.place, ProblemCode::kExpression,
                     fmt::format("{}: {} {}", path, shown(node), *why));
      }
      return;
    case Scalar::kNone:
      break;
  }
  if (!shape.words.empty()) {
    check_word(node, shape, path, problems);
    return;
  }
  problems.add(node.place, ProblemCode::kWrongType,
               fmt::format("{} is {}, but must be {}", path, shown(node), describe(shape)));
}

// ---- maps ----

std::vector<std::string> names(const Section& section) {
  std::vector<std::string> found;
  for (const Key& key : section.keys) found.emplace_back(key.name);
  return found;
}

/// Where a key that may not stand here was probably meant to stand.
std::string hint_for(const std::string& key, const Section& section) {
  for (const Key& other : section.keys) {
    if (other.shape.section != nullptr && other.shape.section->find(key) != nullptr) {
      return fmt::format("it belongs one level down, below {}:", other.name);
    }
  }
  if (key.find('.') != std::string::npos) {
    const std::string path = nearest(key, fixed_paths());
    if (!path.empty()) {
      const std::size_t dot = path.rfind('.');
      return fmt::format("did you mean {}? It is written {}: {{{}: …}}", path, path.substr(0, dot),
                         path.substr(dot + 1));
    }
  }
  const std::string hint = did_you_mean(key, names(section));
  return hint.empty() ? fmt::format("possible is {}", fmt::join(names(section), ", ")) : hint;
}

void check_needs(const Node& node, const Section& section, const std::string& path,
                 Problems& problems) {
  const std::string where = path.empty() ? "the pipeline" : path;
  std::vector<std::string> choices;
  std::vector<const Entry*> chosen;
  for (const Key& key : section.keys) {
    if (key.need == Need::kRequired && node.entry(key.name) == nullptr) {
      problems.add(node.place, ProblemCode::kMissing,
                   fmt::format("{} has no key \"{}\"", where, key.name),
                   fmt::format("add {}: {}", key.name, key.example.empty() ? "…" : key.example));
    }
    if (key.need == Need::kOneOf && key.not_yet.empty()) choices.emplace_back(key.name);
  }
  for (const Entry& entry : node.entries) {
    const Key* const key = section.find(entry.key);
    if (key != nullptr && key->need == Need::kOneOf) chosen.push_back(&entry);
  }
  if (choices.empty() || chosen.size() == 1) return;
  if (chosen.empty()) {
    problems.add(node.place, ProblemCode::kMissing,
                 choices.size() == 1
                     ? fmt::format("{} has no key \"{}\"", where, choices.front())
                     : fmt::format("{} has none of the keys {}", where, fmt::join(choices, ", ")),
                 choices.size() == 1 ? "" : "exactly one is needed");
    return;
  }
  for (std::size_t i = 1; i < chosen.size(); ++i) {
    problems.add(chosen[i]->place, ProblemCode::kConflict,
                 fmt::format("{} has both {} and {}", where, chosen.front()->key, chosen[i]->key),
                 "exactly one is possible");
  }
}

void check_section(const Node& node, const Section& section, const std::string& path,
                   Problems& problems) {
  for (const Entry& entry : node.entries) {
    const Key* const key = section.find(entry.key);
    if (key == nullptr) {
      problems.add(
          entry.place, ProblemCode::kUnknownKey,
          fmt::format("{} has no key \"{}\"", path.empty() ? "a pipeline" : path, entry.key),
          hint_for(entry.key, section));
    } else if (!key->not_yet.empty()) {
      problems.add(entry.place, ProblemCode::kNotYet,
                   fmt::format("{} is not supported yet", below(path, entry.key)),
                   std::string(key->not_yet));
    } else {
      check(entry.value, key->shape, below(path, entry.key), problems);
    }
  }
  check_needs(node, section, path, problems);
}

}  // namespace

void check(const Node& node, const Shape& shape, const std::string& path, Problems& problems) {
  if (shape.any) return;
  const std::string where = path.empty() ? "the file" : path;
  switch (node.kind) {
    case Node::Kind::kNull:
      problems.add(node.place, ProblemCode::kWrongType, fmt::format("{} has no value", where),
                   fmt::format("give it {}, or remove the key", describe(shape)));
      return;
    case Node::Kind::kScalar:
      check_scalar(node, shape, where, problems);
      return;
    case Node::Kind::kList:
      if (shape.items == nullptr) break;
      if (node.items.size() < shape.items_min) {
        problems.add(node.place, ProblemCode::kNotAllowed, fmt::format("{} is empty", where));
      }
      for (std::size_t i = 0; i < node.items.size(); ++i) {
        check(node.items[i], *shape.items, fmt::format("{}[{}]", path, i), problems);
      }
      return;
    case Node::Kind::kMap:
      if (shape.section != nullptr) {
        check_section(node, *shape.section, path, problems);
        return;
      }
      if (shape.values == nullptr) break;
      if (node.entries.size() < shape.items_min) {
        problems.add(node.place, ProblemCode::kNotAllowed, fmt::format("{} is empty", where));
      }
      for (const Entry& entry : node.entries) {
        if (shape.key_check != nullptr) {
          if (const auto why = shape.key_check(entry.key)) {
            problems.add(
                entry.place, ProblemCode::kNotAllowed,
                fmt::format("{}: the {} \"{}\" {}", where, shape.free_key, entry.key, *why));
          }
        }
        check(entry.value, *shape.values, below(path, entry.key), problems);
      }
      return;
  }
  problems.add(node.place, ProblemCode::kWrongType,
               fmt::format("{} is {}, but must be {}", where, node.kind_name(), describe(shape)));
}

std::string describe(const Shape& shape) {
  if (shape.any) return "any value";
  std::vector<std::string> forms;
  for (const std::string_view word : shape.words) forms.emplace_back(word);
  switch (shape.scalar) {
    case Scalar::kText:
      forms.emplace_back("a text");
      break;
    case Scalar::kBoolean:
      forms.emplace_back("true or false");
      break;
    case Scalar::kInteger:
      forms.push_back("a whole number, " + range(shape));
      break;
    case Scalar::kDuration:
      forms.push_back("a duration, " + range(shape));
      break;
    case Scalar::kNone:
      break;
  }
  if (shape.secret_file) forms.emplace_back("{file: PATH}");
  if (shape.items != nullptr) {
    forms.push_back(shape.items->section != nullptr ? "a list of maps" : "a list");
  }
  if (shape.section != nullptr) {
    forms.push_back(fmt::format("a map of {}", fmt::join(names(*shape.section), ", ")));
  }
  if (shape.values != nullptr) forms.push_back(fmt::format("a map by {}", shape.free_key));
  if (forms.size() < 2) return forms.empty() ? "" : forms.front();
  const std::string last = std::move(forms.back());
  forms.pop_back();
  return fmt::format("{} or {}", fmt::join(forms, ", "), last);
}

namespace {

void add_paths(const Section& section, const std::string& path, std::vector<std::string>& paths) {
  for (const Key& key : section.keys) {
    if (!key.not_yet.empty()) continue;
    const std::string here = below(path, key.name);
    if (key.shape.section != nullptr) add_paths(*key.shape.section, here, paths);
    if (key.shape.scalar != Scalar::kNone || !key.shape.words.empty()) paths.push_back(here);
  }
}

}  // namespace

std::vector<std::string> fixed_paths() {
  std::vector<std::string> paths;
  add_paths(pipeline_section(), {}, paths);
  return paths;
}

}  // namespace sluice::tools
