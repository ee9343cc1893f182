#include <sluice/engine/internal/reject.h>

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <new>

namespace sluice::internal {

Record rejected_record(const Record& original, std::string_view error, const Origin& origin,
                       Arena& arena) {
  static_assert(std::is_trivially_destructible_v<Header>, "nobody destroys what lies in an arena");
  const std::size_t count = original.headers.size() + 5;
  char* raw = arena.allocate(sizeof(Header) * count + alignof(Header) - 1);
  const auto misplaced = reinterpret_cast<std::uintptr_t>(raw) % alignof(Header);
  if (misplaced != 0) raw += alignof(Header) - misplaced;
  auto* const headers = reinterpret_cast<Header*>(raw);
  Header* at = std::uninitialized_copy(original.headers.begin(), original.headers.end(), headers);
  const auto add = [&](std::string_view name, std::string_view text) {
    at = new (at) Header{name, Bytes(arena.copy(text))} + 1;
  };
  add("sluice.error", error);
  if (!origin.topic.empty()) add("sluice.source.topic", origin.topic);
  if (origin.partition >= 0) add("sluice.source.partition", fmt::format("{}", origin.partition));
  if (origin.offset >= Offset(0)) add("sluice.source.offset", fmt::format("{}", origin.offset));
  add("sluice.source.timestamp",
      fmt::format("{}", origin.time == kNoEventTime
                            ? -1
                            : static_cast<std::int64_t>(origin.time.time_since_epoch().count())));
  Record rejected = original;
  rejected.headers = {headers, static_cast<std::size_t>(at - headers)};
  return rejected;
}

}  // namespace sluice::internal
