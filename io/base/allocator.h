#pragma once

namespace sluice {

/// For the main() of a program that streams: memory that is freed stays with the process, up to 32 MiB a thread, instead of going back
/// to the kernel above 128 KiB and coming again page by page with the next batch (nexmark's q5: 56 against 50 ns an event). For the
/// whole process, so a library must not call it unasked; `sluice` and the benchmarks, those by hand too, do.
///
/// Shard      call it before threads start.
/// Errors     none; does nothing but with glibc's allocator, and leaves alone what GLIBC_TUNABLES or MALLOC_… variables have set.
void keep_freed_memory() noexcept;

}  // namespace sluice
