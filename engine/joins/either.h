#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include <sluice/engine/batch.h>

namespace sluice {

/// Two streams in one: its batches are all left or all right, so that no record carries the question of which it is.
template <class L, class R>
struct Either;

/// A batch of one of two streams. As Batch's in all else: Shard, Ownership.
template <class L, class R>
class Batch<Either<L, R>> {
 public:
  Batch() = default;
  [[nodiscard]] static Batch of_left(Batch<L> batch) { return Batch(Variant(std::in_place_index<0>, std::move(batch))); }
  [[nodiscard]] static Batch of_right(Batch<R> batch) { return Batch(Variant(std::in_place_index<1>, std::move(batch))); }

  /// Null: it is the other's.
  [[nodiscard]] const Batch<L>* left() const noexcept { return std::get_if<0>(&batch_); }
  [[nodiscard]] const Batch<R>* right() const noexcept { return std::get_if<1>(&batch_); }

  // What the runtime asks of any batch.
  [[nodiscard]] std::size_t size() const noexcept { return left() ? left()->size() : right()->size(); }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] const std::vector<EventTime>& times() const noexcept { return left() ? left()->times() : right()->times(); }
  [[nodiscard]] const std::shared_ptr<const Split>& split_ref() const noexcept {
    return left() ? left()->split_ref() : right()->split_ref();
  }
  [[nodiscard]] const Split* split() const noexcept { return split_ref().get(); }
  [[nodiscard]] const std::vector<Memory>& memory() const noexcept { return left() ? left()->memory() : right()->memory(); }
  [[nodiscard]] std::size_t memory_bytes() const noexcept { return left() ? left()->memory_bytes() : right()->memory_bytes(); }
  [[nodiscard]] std::size_t weight() const noexcept { return left() ? left()->weight() : right()->weight(); }

 private:
  using Variant = std::variant<Batch<L>, Batch<R>>;
  explicit Batch(Variant batch) noexcept : batch_(std::move(batch)) {}
  Variant batch_;  // Never valueless: moving a batch does not throw, and copies are made before they are moved in.
};

}  // namespace sluice
