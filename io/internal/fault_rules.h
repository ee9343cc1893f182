#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sluice/io/base/result.h>

namespace sluice::internal {

/// The parsed specification of make_fault_file_system(): which call fails how, and which of them.
class FaultRules {
 public:
  enum class Call : unsigned char { kCreate, kWrite, kSync, kRename, kSyncDirectory, kRead };
  enum class Fault : unsigned char { kNone, kNoSpace, kError, kShort, kTorn };
  /// What happens to one call: it waits, then it fails (or not).
  struct Verdict {
    Fault fault = Fault::kNone;
    std::chrono::nanoseconds delay{};
  };

  static Result<FaultRules> parse(std::string_view specification);
  /// Counts the call, for every rule that it matches; delays add up, the first fault wins.
  [[nodiscard]] Verdict judge(Call call, std::string_view path);

 private:
  struct Rule {
    Call call{};
    Fault fault = Fault::kNone;
    std::chrono::nanoseconds delay{};
    std::uint64_t every = 0;  // 0: not said.
    std::uint64_t nth = 0;
    std::string path;
    std::uint64_t matched = 0;
  };
  static Result<Rule> parse_rule(std::string_view text);
  static Status parse_fault(std::string_view text, Rule& rule);
  static Status parse_condition(std::string_view text, Rule& rule);

  std::vector<Rule> rules_;
};

}  // namespace sluice::internal
