#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sluice/engine/snapshot.h>
#include <sluice/io/base/random.h>
#include <sluice/io/base/result.h>
#include <sluice/io/clock.h>
#include <sluice/io/executor.h>

namespace sluice {

/// "Checkpoint `epoch`, written by claim `writer`, is the job's past."
struct Decision {
  Epoch epoch{0};      ///< 0: nothing decided yet
  Uuid writer;         ///< the claim under which the checkpoint was written; its files carry it in their names
  std::string digest;  ///< of the manifest, or of the positions where these are all there is; 32 hex digits
  bool positions_only = false;
  std::vector<SplitPosition> positions;  ///< with positions_only: carried by the decision itself
};

/// Where "checkpoint N happened" is written down, for good, at one instant. Kafka's registers and a file's rename implement it;
/// the protocol is shared/design/exactly-once.md, the steps below are its steps.
///
/// Shard      the control thread.
/// Errors     kFenced: another instance owns the job now, for certain: stop for good. kRecover: this attempt is over,
///            run the recovery again with a new decider. kRetry never comes out. kCorrupt, kInvalid: stop and tell.
class Decider {
 public:
  virtual ~Decider() = default;
  /// Recovery, step 2: what is decided, before anybody is fenced. Creates what is missing (registers) and checks it. Another
  /// job's id: kCorrupt.
  [[nodiscard]] virtual asio::awaitable<Result<Decision>> read() = 0;
  /// Recovery, steps 2 to 4: fences, claims with a new UUID, reads until the claim is seen. After it, claim_id() is this
  /// instance's name for the files it writes.
  [[nodiscard]] virtual asio::awaitable<Result<Decision>> claim() = 0;
  [[nodiscard]] virtual Uuid claim_id() const noexcept = 0;
  /// Whether a decision can carry these positions without a checkpoint in the store.
  [[nodiscard]] virtual bool carries(const std::vector<SplitPosition>& positions) const = 0;
  /// Step 9: what the sinks hand over from now on belongs to `epoch`.
  [[nodiscard]] virtual asio::awaitable<Status> begin(Epoch epoch) = 0;
  /// Step 4: waits until all that was handed over is acknowledged. May run beside the writing of the checkpoint.
  [[nodiscard]] virtual asio::awaitable<Status> delivered() = 0;
  /// Steps 5 and 6; waits for what delivered() waits for where that was not called. kExhausted: no space to decide, certainly not decided; the epoch may merge into the next. On ok,
  /// `decision` is decided. `positions` also go to where lag tools look.
  [[nodiscard]] virtual asio::awaitable<Status> decide(Decision decision, std::vector<SplitPosition> positions) = 0;
  /// Step 8: where a late request could still arrive, takes a new claim and reads again; claim_id() may have changed.
  /// `decided` is what decide() got last; kRecover where the registers say otherwise.
  [[nodiscard]] virtual asio::awaitable<Status> settle(const Decision& decided) = 0;
  /// When the attempt of this decider failed: who owns the job? kFenced: another instance. ok: still this one.
  [[nodiscard]] virtual asio::awaitable<Status> still_owner() = 0;
  /// Whether this decider's work was refused as an older one's: by another instance, or because its transaction timed out;
  /// the two look alike, still_owner() tells them apart.
  [[nodiscard]] virtual bool fenced() const noexcept = 0;
  /// How long an epoch may stay open before everything in it is in danger (half of the transaction timeout); none: for ever.
  [[nodiscard]] virtual std::optional<std::chrono::nanoseconds> open_max() const noexcept = 0;
  /// Forgets the decision (`--reset-decision`): the next claim() starts from nothing. Explicit, never by itself.
  [[nodiscard]] virtual asio::awaitable<Status> reset() = 0;
  [[nodiscard]] virtual asio::awaitable<Status> close() = 0;
};

}  // namespace sluice
