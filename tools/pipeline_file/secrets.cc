#include "pipeline_file/secrets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <optional>

namespace sluice::tools {
namespace {

constexpr std::size_t kSecretBytesMax = 64u << 10;

std::optional<std::string> read_file(const std::filesystem::path& path, std::string& why) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    why = std::filesystem::exists(path, error) ? "is no file" : "does not exist";
    return {};
  }
  if (std::filesystem::file_size(path, error) > kSecretBytesMax) {
    why = fmt::format("has more than {} bytes", kSecretBytesMax);
    return {};
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    why = "may not be read by this user";
    return {};
  }
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  if (text.empty()) {
    why = "is empty";
    return {};
  }
  return text;
}

void read_one(Entry& property, const std::filesystem::path& directory, Problems& problems) {
  Node& value = property.value;
  const bool secret = is_secret_property(property.key);
  if (value.kind == Node::Kind::kScalar) {
    value.secret = secret;
    if (secret && !value.variable) {
      problems.add(value.place, ProblemCode::kLiteralSecret,
                   fmt::format("the value of {} stands in the file", property.key),
                   "take it from a file, {file: PATH}, or from the environment, ${NAME}");
    }
    return;
  }
  const Node* const path = value.find("file");
  if (path == nullptr || value.entries.size() != 1 || path->kind != Node::Kind::kScalar) return;
  std::string why;
  const auto text = read_file(directory / path->text, why);
  if (!text) {
    problems.add(path->place, ProblemCode::kSecret,
                 fmt::format("the file \"{}\" for {} {}", path->text, property.key, why));
  }
  Node read;
  read.kind = Node::Kind::kScalar;
  read.text = text.value_or("");
  read.quoted = true;
  read.secret = true;
  read.place = value.place;
  value = std::move(read);
}

void read_all(Node* properties, const std::filesystem::path& directory, Problems& problems) {
  if (properties == nullptr) return;
  for (Entry& property : properties->entries) read_one(property, directory, problems);
}

}  // namespace

bool is_secret_property(std::string_view name) {
  constexpr auto kWords = std::to_array<std::string_view>(
      {"password", "secret", "key.pem", "ssl.key", "token", "oauthbearer.config", "jaas"});
  if (name == "ssl.key.location" || name == "sasl.oauthbearer.token.endpoint.url") return false;
  return std::ranges::any_of(
      kWords, [&](std::string_view word) { return name.find(word) != std::string_view::npos; });
}

void read_secrets(Node& root, const std::filesystem::path& directory, Problems& problems) {
  const auto each = [&](std::string_view part, auto&& call) {
    Node* const map = root.find(part);
    if (map == nullptr) return;
    for (Entry& entry : map->entries) call(entry.value);
  };
  each("connections", [&](Node& node) { read_all(node.find("properties"), directory, problems); });
  for (const std::string_view part : {"sources", "sinks"}) {
    each(part, [&](Node& node) {
      Node* const kafka = node.find("kafka");
      if (kafka != nullptr) read_all(kafka->find("properties"), directory, problems);
    });
  }
}

}  // namespace sluice::tools
