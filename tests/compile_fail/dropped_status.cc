// A failure that nobody looks at.
// Expect: nodiscard
#include <sluice/io/base/status.h>

sluice::Status write_header();

void start() {
#ifdef MISUSE
  write_header();
#else
  if (!write_header().ok()) return;
#endif
}
