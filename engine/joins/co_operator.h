#pragma once

#include <sluice/engine/joins/either.h>
#include <sluice/engine/keyed.h>
#include <sluice/engine/operator.h>

namespace sluice {

namespace internal {

/// `Base`: an operator on either side's batches.
template <class Base, class L, class R, class Out>
class TwoInputs : public Base {
 public:
  [[nodiscard]] virtual Status process_left(const Batch<L>& batch, Collector<Out>& out) = 0;
  [[nodiscard]] virtual Status process_right(const Batch<R>& batch, Collector<Out>& out) = 0;
  [[nodiscard]] Status process(const Batch<Either<L, R>>& batch, Collector<Out>& out) final {
    if (const Batch<L>* left = batch.left()) return process_left(*left, out);
    return process_right(*batch.right(), out);
  }
};

}  // namespace internal

/// A step with two inputs that is called once a batch, by either side. One instance a shard; never called while it is in a call.
///
/// Shard      its own, all calls. There is no order between the two sides, but by the watermark.
/// Suspends   never.
/// Errors     a Status that is not ok, or an exception, ends the attempt.
/// State      as Operator's. on_watermark() is told the lower of both sides' watermarks; a side that is idle or has ended is left out.
///
///     class Match final : public CoOperator<std::int64_t, Order, Payment, Paid> {
///       void declare(StateSet& states) override { states.add("open", open_); }
///       Status process_left(const Batch<Keyed<std::int64_t, Order>>& orders, Collector<Paid>& out) override { … }
///       Status process_right(const Batch<Keyed<std::int64_t, Payment>>& payments, Collector<Paid>& out) override { … }
///     };
///     orders.connect(payments).process<Paid>("match", [] { return std::make_unique<Match>(); });
template <class L, class R, class Out>
using TwoInputOperator = internal::TwoInputs<Operator<Either<L, R>, Out>, L, R, Out>;
/// The same with a second way out: what is refused or late. `side().emit(record, time)`.
template <class L, class R, class Out, class Side>
using TwoInputSideOperator = internal::TwoInputs<SideOperator<Either<L, R>, Out, Side>, L, R, Out>;

/// Two keyed streams: the key and its group stand beside each record, and both sides' records of a key come to one instance.
template <class Key, class L, class R, class Out>
using CoOperator = TwoInputOperator<Keyed<Key, L>, Keyed<Key, R>, Out>;
template <class Key, class L, class R, class Out, class Side>
using CoSideOperator = TwoInputSideOperator<Keyed<Key, L>, Keyed<Key, R>, Out, Side>;

}  // namespace sluice
