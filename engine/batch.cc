#include <sluice/engine/batch.h>

#include <algorithm>

namespace sluice {

void Arena::grow(std::size_t size) { add(std::max(size, kBlockBytes)); }

void Arena::add(std::size_t block_bytes) {
  blocks_.push_back(std::make_unique_for_overwrite<char[]>(block_bytes));
  next_ = blocks_.back().get();
  left_ = block_bytes;
  bytes_ += block_bytes;
}

}  // namespace sluice
