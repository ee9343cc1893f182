#include "commands/expectation.h"

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>

#include <fstream>
#include <iterator>

namespace sluice::tools {

namespace {

const rapidjson::Value* member(const rapidjson::Value& object, const char* name) {
  if (!object.IsObject()) return nullptr;
  const auto found = object.FindMember(name);
  return found == object.MemberEnd() ? nullptr : &found->value;
}

bool add_streams(const rapidjson::Value& document, std::vector<ExpectedStream>& into) {
  const auto* const topic = member(document, "topic");
  const auto* const producers = member(document, "producers");
  if (topic == nullptr || !topic->IsString() || producers == nullptr || !producers->IsArray())
    return false;
  for (const auto& producer : producers->GetArray()) {
    const auto* const id = member(producer, "producer");
    const auto* const partitions = member(producer, "partitions");
    if (id == nullptr || !id->IsString() || partitions == nullptr || !partitions->IsArray())
      return false;
    for (const auto& entry : partitions->GetArray()) {
      const auto* const partition = member(entry, "partition");
      const auto* const records = member(entry, "records");
      if (partition == nullptr || !partition->IsInt() || records == nullptr || !records->IsUint64())
        return false;
      into.push_back(
          {topic->GetString(), id->GetString(), partition->GetInt(), records->GetUint64()});
    }
  }
  return true;
}

}  // namespace

Status parse_expectation(const std::string& content, const std::string& name,
                         std::vector<ExpectedStream>& into) {
  rapidjson::MemoryStream stream(content.data(), content.size());
  std::size_t objects = 0;
  for (;;) {
    rapidjson::Document document;
    document.ParseStream<rapidjson::kParseStopWhenDoneFlag | rapidjson::kParseIterativeFlag>(
        stream);
    if (document.GetParseError() == rapidjson::kParseErrorDocumentEmpty && objects > 0) return {};
    if (document.HasParseError()) {
      return Status(Code::kInvalid,
                    fmt::format("--expect {}: byte {}: {}", name, document.GetErrorOffset(),
                                rapidjson::GetParseError_En(document.GetParseError())));
    }
    if (!add_streams(document, into)) {
      return Status(
          Code::kInvalid,
          fmt::format("--expect {}: object {} is not what \"sluice generate --json\" prints", name,
                      objects + 1));
    }
    ++objects;
  }
}

Status read_expectation(const std::string& path, std::vector<ExpectedStream>& into) {
  std::ifstream file(path, std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(file)),
                            std::istreambuf_iterator<char>());
  if (!file.is_open() || file.bad())
    return Status(Code::kInvalid, fmt::format("--expect {}: could not be read", path));
  return parse_expectation(content, path, into);
}

}  // namespace sluice::tools
