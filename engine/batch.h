#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/engine/event_time.h>
#include <sluice/engine/record.h>
#include <sluice/engine/split.h>

namespace sluice {

/// What a batch's records point into; shared by the batches that were made from one another.
using Memory = std::shared_ptr<const void>;

/// Memory for bytes that an operator makes: bump allocation, freed as a whole with the batch that owns it.
/// Shard: one. Not thread-safe; the bytes may be read on another shard once the batch was sent there.
class Arena {
 public:
  Arena() = default;
  /// For exactly so many bytes, or more than that.
  explicit Arena(std::size_t first_bytes) { add(first_bytes); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  /// Uninitialised bytes, not aligned; valid as long as the arena.
  [[nodiscard]] char* allocate(std::size_t size) {
    if (size > left_) [[unlikely]] grow(size);
    char* const start = next_;
    next_ += size;
    left_ -= size;
    return start;
  }
  [[nodiscard]] std::string_view copy(std::string_view text) {
    if (text.empty()) return {"", 0};
    char* const start = allocate(text.size());
    std::memcpy(start, text.data(), text.size());
    return {start, text.size()};
  }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  void grow(std::size_t size);
  void add(std::size_t block_bytes);
  static constexpr std::size_t kBlockBytes = 64u << 10;
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;
  std::size_t left_ = 0;
  std::size_t bytes_ = 0;
};

/// Records that flow together: at most kRecordsMax of them or about kBytesMax bytes. Owns the memory that they point into, so
/// nothing is copied until an operator keeps something.
///
/// Shard      one at a time; moves from shard to shard through a mailbox.
/// Ownership  memory() is shared by count; a batch that is held keeps what it points into.
template <class T>
class Batch {
 public:
  static constexpr std::size_t kRecordsMax = 1024;
  static constexpr std::size_t kBytesMax = 64u << 10;

  Batch() = default;
  Batch(Batch&&) noexcept = default;
  Batch& operator=(Batch&&) noexcept = default;
  Batch(const Batch&) = default;  // Records are copied, memory is shared: for streams with several readers.
  Batch& operator=(const Batch&) = default;

  [[nodiscard]] std::size_t size() const noexcept { return records_.size(); }
  [[nodiscard]] bool empty() const noexcept { return records_.empty(); }
  [[nodiscard]] auto begin() const noexcept { return records_.begin(); }
  [[nodiscard]] auto end() const noexcept { return records_.end(); }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return records_[i]; }
  [[nodiscard]] std::vector<T>& records() noexcept { return records_; }
  [[nodiscard]] const std::vector<T>& records() const noexcept { return records_; }
  /// One event time a record, or empty where the stream has none.
  [[nodiscard]] std::vector<EventTime>& times() noexcept { return times_; }
  [[nodiscard]] const std::vector<EventTime>& times() const noexcept { return times_; }
  /// Where all of these records come from, in its order; null behind an exchange: its state would
  /// lie on another shard.
  [[nodiscard]] const Split* split() const noexcept { return split_.get(); }
  [[nodiscard]] const std::shared_ptr<const Split>& split_ref() const noexcept { return split_; }
  void set_split(std::shared_ptr<const Split> split) noexcept { split_ = std::move(split); }

  void own(Memory memory, std::size_t bytes) {
    if (memory) memory_.push_back(std::move(memory));
    bytes_ += bytes;
  }
  /// Takes over origin and memory of the batch that this one was made from.
  template <class From>
  void inherit(const Batch<From>& from) {
    split_ = from.split_ref();
    memory_.insert(memory_.end(), from.memory().begin(), from.memory().end());
    bytes_ += from.memory_bytes();
  }
  [[nodiscard]] const std::vector<Memory>& memory() const noexcept { return memory_; }
  /// About what the records and what they point into weigh, for budgets.
  [[nodiscard]] std::size_t memory_bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::size_t weight() const noexcept { return bytes_ + records_.capacity() * sizeof(T); }

 private:
  std::vector<T> records_;
  std::vector<EventTime> times_;
  std::shared_ptr<const Split> split_;
  std::vector<Memory> memory_;
  std::size_t bytes_ = 0;
};

}  // namespace sluice
