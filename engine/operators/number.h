#pragma once

#include <cstdint>
#include <utility>

#include <functional>
#include <memory>
#include <string>

#include <sluice/engine/operator.h>

namespace sluice {

/// Numbers records by source partition: 1, 2, 3, … in its order, over the whole life of the job.
/// `write(record, number, arena)` makes the result, with the number in it.
///
/// State      "numbers": one counter for each split of the source; goes where its split goes.
/// Errors     kInvalid for a batch without a split (behind a union or an exchange): there is no order to number.
/// Suspends   never.
template <class In, class Out, class Write>
class Number final : public Operator<In, Out> {
 public:
  explicit Number(Write write) : write_(std::move(write)) {}

  void declare(StateSet& states) override { states.add("numbers", numbers_); }
  Status open(const Context& context) override {
    id_ = context.operator_id;
    return {};
  }
  Status process(const Batch<In>& batch, Collector<Out>& out) override {
    if (batch.split() == nullptr) {
      return Status(Code::kInvalid, "operator", id_, "numbers records by source partition, so it must stand in front of any union");
    }
    std::uint64_t& number = numbers_[*batch.split()];
    Arena& arena = out.arena();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (out.timed()) out.set_time(batch.times()[i]);
      out.emit(write_(batch[i], ++number, arena));
    }
    return {};
  }

 private:
  Write write_;
  std::string id_;
  SplitState<std::uint64_t> numbers_;
};

/// For Stream::process: `.process<Record>("number", number<Record>(write))`.
template <class In, class Out = In, class Write>
[[nodiscard]] std::function<std::unique_ptr<Operator<In, Out>>()> number(Write write) {
  return [write = std::move(write)]() -> std::unique_ptr<Operator<In, Out>> {
    return std::make_unique<Number<In, Out, Write>>(write);
  };
}

}  // namespace sluice
