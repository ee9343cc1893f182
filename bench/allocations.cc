#include "allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::uint64_t> count{0};
}  // namespace

void* operator new(std::size_t size) {
  count.fetch_add(1, std::memory_order_relaxed);
  if (void* const made = std::malloc(size)) return made;
  throw std::bad_alloc();
}
// Asio takes the frames of coroutines from here.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  count.fetch_add(1, std::memory_order_relaxed);
  void* made = nullptr;
  return posix_memalign(&made, alignment, size) == 0 ? made : nullptr;
}
void operator delete(void* pointer) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::size_t) noexcept { std::free(pointer); }

std::uint64_t sluice::bench::allocations() noexcept { return count.load(std::memory_order_relaxed); }
