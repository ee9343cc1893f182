// Ids are types of their own: the place of a record is no number of a checkpoint.
// Expect: could not convert|cannot convert|no matching|no viable conversion
#include <sluice/io/base/id.h>

void commit(sluice::Epoch epoch);

void start() {
#ifdef MISUSE
  commit(sluice::Offset{7});
#else
  commit(sluice::Epoch{7});
#endif
}
