#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <sluice/io/base/assert.h>

namespace sluice {

/// What the caller does next. A new code needs a new thing to do.
enum class Code : unsigned char {
  kOk,
  kCancelled,       ///< unwinds; we were asked to stop, nothing failed
  kRetry,           ///< waits, then the same call again, under a deadline
  kUnknownOutcome,  ///< finds out what happened before acting again
  kRecover,         ///< restores the last completed checkpoint
  kFenced,          ///< stops for good: a newer instance owns this work
  kExhausted,       ///< sheds load, or a person raises the named limit
  kInvalid,         ///< a person corrects the setting or program named
  kCorrupt,         ///< stops and keeps the bytes for inspection
};
std::string_view to_string(Code code) noexcept;

/// How a process that ends with this failure exits (after sysexits.h); documented in the README.
enum class ExitStatus : unsigned char {
  kDone = 0,
  kFailed = 1,
  kUsage = 2,
  kData = 65,         ///< corrupt or incompatible checkpoint or register
  kUnavailable = 69,  ///< broker unreachable
  kCannotCreate = 73, ///< state directory not writable or locked
  kFenced = 75,       ///< a newer instance runs: do not restart
  kNoPermission = 77, ///< refused by the broker's authorisation
  kConfiguration = 78,
  kThreshold = 99,    ///< a threshold was missed
};

/// A success, or a code and a message that says what was attempted, on what, and what to do next.
/// One pointer wide; success allocates nothing. Errors never travel as exceptions above io/.
class [[nodiscard]] Status {
 public:
  Status() noexcept = default;
  /// Message parts are joined with single spaces; each part is anything fmt can format.
  template <class... Parts>
  explicit Status(Code code, const Parts&... parts) : rep_(std::make_unique<Rep>()) {
    SLUICE_ASSERT(code != Code::kOk);
    rep_->code = code;
    (append(parts), ...);
  }
  static Status ok_status() noexcept { return {}; }
  Status(const Status& other) : rep_(other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr) {}
  Status& operator=(const Status& other) {
    if (this != &other) rep_ = other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr;
    return *this;
  }
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  [[nodiscard]] bool ok() const noexcept { return !rep_; }
  [[nodiscard]] Code code() const noexcept { return rep_ ? rep_->code : Code::kOk; }
  [[nodiscard]] std::string_view message() const noexcept {
    return rep_ ? std::string_view(rep_->message) : std::string_view();
  }
  /// The exit status that was set, or the one that the code implies.
  [[nodiscard]] ExitStatus exit_status() const noexcept;
  /// `status.exit(ExitStatus::kUnavailable)`: the same failure with a more precise exit status.
  [[nodiscard]] Status exit(ExitStatus status) && {
    if (rep_) rep_->exit = status;
    return std::move(*this);
  }
  /// The same failure with context behind its message: `status.with("commit of epoch", epoch)`.
  template <class... Parts>
  [[nodiscard]] Status with(const Parts&... parts) const {
    Status copy = *this;
    if (copy.rep_) (copy.append(parts), ...);
    return copy;
  }
  /// The same failure with another code: the next step differs for our caller.
  [[nodiscard]] Status as(Code code) const {
    Status copy = *this;
    if (copy.rep_) copy.rep_->code = code;
    return copy;
  }
  /// "recover: commit of epoch 7: timed out", for logs.
  [[nodiscard]] std::string to_string() const;

 private:
  struct Rep {
    Code code = Code::kOk;
    ExitStatus exit = ExitStatus::kDone;  // kDone: implied by the code.
    std::string message;
  };
  template <class Part>
  void append(const Part& part) {
    if (!rep_->message.empty()) rep_->message += ' ';
    fmt::format_to(std::back_inserter(rep_->message), "{}", part);
  }
  std::unique_ptr<Rep> rep_;
};

}  // namespace sluice

/// Returns early with the failure: `SLUICE_TRY(write_header());` in a plain function.
#define SLUICE_TRY(...)                                                     \
  do {                                                                      \
    if (::sluice::Status sluice_try_status = (__VA_ARGS__); !sluice_try_status.ok()) \
      return sluice_try_status;                                             \
  } while (false)
