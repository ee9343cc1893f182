#include <sluice/io/base/allocator.h>

#include <cstdlib>
#include <initializer_list>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace sluice {

void keep_freed_memory() noexcept {
#if defined(__GLIBC__)
  constexpr int kKept = 32 << 20, kApart = 8 << 20;  // Bytes: of free memory at the end, and of a piece that is mapped by itself.
  // One who has set one of them has thought about all.
  for (const char* variable : {"GLIBC_TUNABLES", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_"}) {
    if (std::getenv(variable) != nullptr) return;
  }
  mallopt(M_MMAP_THRESHOLD, kApart);
  mallopt(M_TRIM_THRESHOLD, kKept);
  mallopt(M_TOP_PAD, 1 << 20);
#endif
}

}  // namespace sluice
