#include "pipeline_file/variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace sluice::tools {
namespace {

bool is_name(std::string_view text) {
  const auto letter = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         std::ranges::all_of(text, letter);
}

/// One text, from left to right.
class Filler {
 public:
  Filler(Node& node, const Environment& environment, Problems& problems)
      : node_(node), environment_(environment), problems_(problems) {}

  void fill() {
    const std::string text = std::move(node_.text);
    node_.text.clear();
    std::size_t at = 0;
    for (std::size_t dollar = text.find("${"); dollar != std::string::npos;
         dollar = text.find("${", at)) {
      const bool escaped = dollar > at && text[dollar - 1] == '$';
      node_.text.append(text, at, dollar - at - (escaped ? 1 : 0));
      if (escaped) {
        node_.text += "${";
        at = dollar + 2;
        continue;
      }
      const std::size_t end = text.find('}', dollar);
      if (end == std::string::npos) {
        problems_.add(node_.place, ProblemCode::kVariable, "a ${ has no } behind it",
                      "write $${ for the characters themselves");
        return;
      }
      variable(std::string_view(text).substr(dollar + 2, end - dollar - 2));
      at = end + 1;
    }
    node_.text.append(text, at);
  }

 private:
  void variable(std::string_view inside) {
    node_.variable = true;
    const std::size_t colon = inside.find(":-");
    const std::string name(inside.substr(0, colon));
    if (!is_name(name)) {
      problems_.add(node_.place, ProblemCode::kVariable,
                    fmt::format("${{{}}} names no variable", inside),
                    "write ${NAME} or ${NAME:-default}; $${ for the characters themselves");
      return;
    }
    const auto value = environment_.get(name);
    if (value && (!value->empty() || colon == std::string_view::npos)) {
      node_.text += *value;
    } else if (colon != std::string_view::npos) {
      node_.text += inside.substr(colon + 2);
    } else {
      problems_.add(node_.place, ProblemCode::kVariable,
                    fmt::format("the environment has no variable {}", name),
                    fmt::format("set it, or give a default: ${{{}:-…}}", name));
    }
  }

  Node& node_;
  const Environment& environment_;
  Problems& problems_;
};

}  // namespace

void fill_in_variables(Node& node, const Environment& environment, Problems& problems) {
  if (node.kind == Node::Kind::kScalar && node.text.find("${") != std::string::npos) {
    Filler(node, environment, problems).fill();
  }
  for (Node& item : node.items) fill_in_variables(item, environment, problems);
  for (Entry& entry : node.entries) fill_in_variables(entry.value, environment, problems);
}

}  // namespace sluice::tools
