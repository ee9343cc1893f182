#include <sluice/io/base/status.h>

namespace sluice {

std::string_view to_string(Code code) noexcept {
  switch (code) {
    case Code::kOk: return "ok";
    case Code::kCancelled: return "cancelled";
    case Code::kRetry: return "retry";
    case Code::kUnknownOutcome: return "unknown outcome";
    case Code::kRecover: return "recover";
    case Code::kFenced: return "fenced";
    case Code::kExhausted: return "exhausted";
    case Code::kInvalid: return "invalid";
    case Code::kCorrupt: return "corrupt";
  }
  return "?";
}

ExitStatus Status::exit_status() const noexcept {
  if (!rep_) return ExitStatus::kDone;
  if (rep_->exit != ExitStatus::kDone) return rep_->exit;
  switch (rep_->code) {
    case Code::kFenced: return ExitStatus::kFenced;
    case Code::kInvalid: return ExitStatus::kConfiguration;
    case Code::kCorrupt: return ExitStatus::kData;
    default: return ExitStatus::kFailed;
  }
}

std::string Status::to_string() const {
  if (ok()) return "ok";
  return fmt::format("{}: {}", sluice::to_string(code()), message());
}

}  // namespace sluice
