#pragma once

#include <cstdio>
#include <cstdlib>

/// For our own mistakes only, and on in every build. Bytes, brokers, clocks and settings are handled, never asserted.
#define SLUICE_ASSERT(condition)                                                                 \
  do {                                                                                           \
    if (!(condition)) [[unlikely]] {                                                             \
      std::fprintf(stderr, "sluice: %s:%d: assertion failed: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                              \
    }                                                                                            \
  } while (false)
