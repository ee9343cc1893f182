#pragma once

#include <sluice/engine/decider.h>
#include <sluice/io/file.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice::checkpoint {

/// The decision of a job without a Kafka transaction: the file DECIDED in the state directory,
/// replaced by a rename.
///
/// The directory's lock, which the Store holds, stands for fencing: there is no second owner, and
/// nothing can arrive late.
///
/// Shard      the control thread, the one of the FileSystem.
/// Errors     decide: kExhausted: no space, and for certain not decided; the epoch may be merged
/// into the next, as after
///            a failed checkpoint. kRecover: not decided, or unknown; claim() finds out. read,
///            claim: kCorrupt with what differs; a missing DECIDED although there are checkpoints
///            is one. kInvalid: not writable (exit 73).
/// Ownership  the FileSystem outlives it; the Store of the same directory is open as long as this
/// one is used.
class LocalDecider final : public Decider {
 public:
  LocalDecider(io::FileSystem& files, std::filesystem::path directory, std::string job_id);
  LocalDecider(const LocalDecider&) = delete;
  LocalDecider& operator=(const LocalDecider&) = delete;

  [[nodiscard]] asio::awaitable<Result<Decision>> read() override;
  /// Writes what is decided once more: what was read may not have reached the disk, and a claimed
  /// job must not build on it. The first claim decides epoch 0 in its own name, so DECIDED exists
  /// before the first checkpoint does, and its absence is always a loss.
  [[nodiscard]] asio::awaitable<Result<Decision>> claim() override;
  [[nodiscard]] Uuid claim_id() const noexcept override { return claim_; }
  [[nodiscard]] bool carries(const std::vector<SplitPosition>&) const override { return true; }
  [[nodiscard]] asio::awaitable<Status> begin(Epoch epoch) override;
  [[nodiscard]] asio::awaitable<Status> delivered() override;
  /// The rename is the decision. `positions` are the decision's own business here: there are no lag
  /// tools.
  [[nodiscard]] asio::awaitable<Status> decide(Decision decision,
                                               std::vector<SplitPosition> positions) override;
  [[nodiscard]] asio::awaitable<Status> settle(const Decision& decided) override;
  [[nodiscard]] asio::awaitable<Status> still_owner() override;
  [[nodiscard]] bool fenced() const noexcept override { return false; }
  [[nodiscard]] std::optional<std::chrono::nanoseconds> open_max() const noexcept override {
    return std::nullopt;
  }
  [[nodiscard]] asio::awaitable<Status> reset() override;
  [[nodiscard]] asio::awaitable<Status> close() override;

  /// What DECIDED in `directory` says, for tools; needs no lock. Epoch 0 and no writer where there
  /// is none.
  [[nodiscard]] static asio::awaitable<Result<Decision>> peek(io::FileSystem& files,
                                                              std::filesystem::path directory);

 private:
  io::FileSystem& files_;
  const std::filesystem::path directory_;
  const std::string job_id_;
  Uuid claim_;
  Epoch decided_{0};
};

}  // namespace sluice::checkpoint
