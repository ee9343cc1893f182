#pragma once

#include <sluice/io/base/result.h>

#include <string>
#include <vector>

/// What a topic must hold, as `generate --json` printed it.
namespace sluice::tools {

struct ExpectedStream {
  std::string topic;  ///< of the source
  std::string producer;
  std::int32_t partition = 0;
  std::uint64_t records = 0;
};

/// Adds the streams of one file, which may hold several objects, one after the other. kInvalid,
/// with place, when it holds anything else.
Status read_expectation(const std::string& path, std::vector<ExpectedStream>& into);
/// The same from memory; `name` is for messages.
Status parse_expectation(const std::string& content, const std::string& name,
                         std::vector<ExpectedStream>& into);

}  // namespace sluice::tools
