#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include <sluice/engine/codec.h>
#include <sluice/engine/event_time.h>
#include <sluice/engine/state.h>

namespace sluice::internal {

/// The watermark that an operator has seen: without it a restored one would take for early what was late. All instances have the same
/// at a barrier; should one not, the least counts, which loses nothing.
class WatermarkState final : public State {
 public:
  /// False where time does not move: behind a restore the sources begin with earlier watermarks.
  bool advance(EventTime watermark) noexcept {
    if (watermark <= seen_) return false;
    seen_ = watermark;
    return true;
  }
  [[nodiscard]] EventTime seen() const noexcept { return seen_; }

  [[nodiscard]] std::string type() const override { return "watermark"; }
  void save(std::string& out) const override { Codec<EventTime>::write(seen_, out); }
  [[nodiscard]] Status restore(std::string_view bytes, const Context& context) override {
    EventTime seen;
    if (!Codec<EventTime>::read(bytes, seen) || !bytes.empty()) {
      return Status(Code::kCorrupt, "the watermark of operator", context.operator_id, "is no time");
    }
    seen_ = restored_ ? std::min(seen_, seen) : seen;
    restored_ = true;
    return {};
  }

 private:
  EventTime seen_ = kNoEventTime;
  bool restored_ = false;
};

}  // namespace sluice::internal
