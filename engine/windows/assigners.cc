#include <sluice/engine/windows/assigners.h>

namespace sluice {
namespace {

constexpr EventDuration kLongest = std::chrono::hours(24 * 366 * 1'000);

Status positive(const char* what, EventDuration length) {
  if (length > EventDuration::zero() && length <= kLongest) return {};
  return Status(Code::kInvalid, fmt::format("{} of {} ms: from 1 ms to 1,000 years", what, length.count()));
}
Status moved(EventDuration offset) {
  if (offset >= -kLongest && offset <= kLongest) return {};
  return Status(Code::kInvalid, fmt::format("an offset of {} ms: 1,000 years at most", offset.count()));
}
std::string with_offset(std::string text, EventDuration offset) {
  return offset == EventDuration::zero() ? text : fmt::format("{} from {} ms", text, offset.count());
}

}  // namespace

Status Tumbling::check() const {
  SLUICE_TRY(positive("a window", size_));
  return moved(offset_);
}
std::string Tumbling::describe() const { return with_offset(fmt::format("tumbling {} ms", size_.count()), offset_); }

Status Sliding::check() const {
  SLUICE_TRY(positive("a window", size_));
  SLUICE_TRY(positive("a slide", slide_));
  if (slide_ > size_) {
    return Status(Code::kInvalid, fmt::format("windows of {} ms every {} ms: records between two windows would be in none; make the "
                                              "slide as long as the window at most, or filter before",
                                              size_.count(), slide_.count()));
  }
  return moved(offset_);
}
std::string Sliding::describe() const {
  return with_offset(fmt::format("sliding {} ms by {} ms", size_.count(), slide_.count()), offset_);
}

Status Session::check() const { return positive("a gap", gap_); }
std::string Session::describe() const { return fmt::format("session {} ms", gap_.count()); }

}  // namespace sluice
