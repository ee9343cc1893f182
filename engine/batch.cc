#include <sluice/engine/batch.h>

#include <algorithm>

namespace sluice {

void Arena::grow(std::size_t size) {
  const std::size_t block = std::max(size, kBlockBytes);
  blocks_.push_back(std::make_unique_for_overwrite<char[]>(block));
  next_ = blocks_.back().get();
  left_ = block;
  bytes_ += block;
}

}  // namespace sluice
