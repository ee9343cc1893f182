#include <sluice/checkpoint/internal/bytes.h>
#include <sluice/checkpoint/internal/digest.h>
#include <sluice/checkpoint/internal/layout.h>
#include <sluice/checkpoint/internal/sealed.h>
#include <sluice/checkpoint/local_decider.h>
#include <sluice/checkpoint/manifest.h>

#include <fmt/format.h>

#include <utility>

namespace sluice::checkpoint {
namespace {

using internal::Path;

constexpr internal::KillPoints kDecisionKills{
    "local.decision_written", {}, "local.decision_renamed"};
constexpr internal::KillPoints kNoKills{};

struct Decided {
  std::string job_id;
  Decision decision;
};

std::string encode(const std::string& job_id, const Decision& decision) {
  internal::ByteWriter payload;
  payload.string(job_id);
  payload.u64(decision.epoch.value());
  payload.uuid(decision.writer);
  if (decision.epoch != Epoch(0)) {
    payload.raw(decision.digest);
    payload.u8(decision.positions_only ? 1 : 0);
    if (decision.positions_only) payload.positions(decision.positions);
  }
  return internal::seal(internal::kDecisionMagic, payload.bytes());
}

Result<Decided> decode(std::string_view bytes) {
  const Result<std::string_view> payload = internal::unseal(internal::kDecisionMagic, bytes);
  if (!payload.ok()) return payload.status();
  internal::ByteReader reader(*payload);
  Decided decided;
  decided.job_id = reader.string();
  decided.decision.epoch = Epoch(reader.u64());
  decided.decision.writer = reader.uuid();
  if (decided.decision.epoch != Epoch(0)) {
    decided.decision.digest = reader.digest();
    const std::uint8_t kind = reader.u8();
    if (kind > 1) reader.fail();
    decided.decision.positions_only = kind == 1;
    if (kind == 1) decided.decision.positions = reader.positions();
    if (kind == 1 && digest_of(decided.decision.positions) != decided.decision.digest)
      reader.fail();
  }
  if (!reader.done())
    return Status(Code::kCorrupt, "has a right checksum, but fields that do not fit its length");
  return decided;
}

Status unreadable(const Path& directory, std::string_view what) {
  return Status(
      Code::kCorrupt,
      fmt::format(
          "could not learn what is decided: {} {}; put back a copy of it, or give the job's "
          "past up with --reset-decision: it then reads its sources from the start",
          (directory / internal::kDecisionName).string(), what));
}

struct Found {
  bool there = false;
  Decided decided;
};

asio::awaitable<Result<Found>> find(io::FileSystem* files, Path directory) {
  Found found;
  const std::string name(internal::kDecisionName);
  const Result<std::vector<std::string>> listed = files->list(directory);
  if (!listed.ok()) co_return listed.status();
  if (!internal::contains(*files, directory, name)) co_return found;
  const Result<std::string> bytes =
      co_await files->read(directory / name, internal::kSmallFileBytesMax);
  if (!bytes.ok()) co_return bytes.status();
  Result<Decided> decided = decode(*bytes);
  if (!decided.ok()) {
    const Status named = unreadable(directory, decided.status().message());
    co_return named.as(decided.code()).exit(ExitStatus::kData);
  }
  found.there = true;
  found.decided = *std::move(decided);
  co_return found;
}

asio::awaitable<Result<Decision>> peek_at(io::FileSystem* files, Path directory) {
  Result<Found> found = co_await find(files, std::move(directory));
  if (!found.ok()) co_return found.status();
  co_return std::move(found->decided.decision);
}

/// Replaces DECIDED. A failure before the rename says what failed; one from the rename on is
/// kRecover.
asio::awaitable<Status> replace(io::FileSystem* files, Path directory, std::string bytes,
                                internal::KillPoints kill) {
  const std::string name(internal::kDecisionName);
  const Status written =
      co_await internal::write_temporary(files, directory, name, std::move(bytes), kill);
  if (!written.ok()) co_return written;
  const Status published = co_await internal::publish(files, directory, name, kill);
  if (!published.ok()) co_return published.as(Code::kRecover);
  co_return Status();
}

}  // namespace

LocalDecider::LocalDecider(io::FileSystem& files, Path directory, std::string job_id)
    : files_(files), directory_(std::move(directory)), job_id_(std::move(job_id)) {}

asio::awaitable<Result<Decision>> LocalDecider::read() {
  Result<Found> found = co_await find(&files_, directory_);
  if (!found.ok()) co_return found.status();
  if (found->there && found->decided.job_id != job_id_) {
    co_return unreadable(
        directory_, fmt::format("is of job \"{}\", not of \"{}\"", found->decided.job_id, job_id_));
  }
  if (!found->there) {
    const Result<bool> any = internal::any_checkpoint(files_, directory_);
    if (!any.ok()) co_return any.status();
    if (*any) co_return unreadable(directory_, "is missing although there are checkpoints");
  }
  co_return std::move(found->decided.decision);
}

asio::awaitable<Result<Decision>> LocalDecider::claim() {
  Result<Decision> decision = co_await read();
  if (!decision.ok()) co_return decision;
  const Uuid claim = Uuid::make();
  if (decision->writer.nil())
    decision->writer = claim;  // The first claim of all decides epoch 0, in its own name.
  const Status renewed =
      co_await replace(&files_, directory_, encode(job_id_, *decision), kNoKills);
  // Nothing was lost, and space may come back: the same recovery again, later.
  if (renewed.code() == Code::kExhausted) co_return renewed.as(Code::kRecover);
  if (!renewed.ok()) co_return renewed;
  claim_ = claim;
  decided_ = decision->epoch;
  co_return decision;
}

asio::awaitable<Status> LocalDecider::begin(Epoch epoch) {
  SLUICE_ASSERT(!claim_.nil());
  SLUICE_ASSERT(epoch > decided_);
  co_return Status();
}

asio::awaitable<Status> LocalDecider::delivered() { co_return Status(); }

asio::awaitable<Status> LocalDecider::decide(Decision decision, std::vector<SplitPosition>) {
  SLUICE_ASSERT(!claim_.nil());
  SLUICE_ASSERT(decision.epoch > decided_);
  if (decision.positions_only) decision.digest = digest_of(decision.positions);
  SLUICE_ASSERT(!decision.writer.nil() && internal::is_digest(decision.digest));
  const Status decided =
      co_await replace(&files_, directory_, encode(job_id_, decision), kDecisionKills);
  if (!decided.ok()) co_return decided.with("(decision of epoch", decision.epoch, "failed)");
  decided_ = decision.epoch;
  co_return Status();
}

asio::awaitable<Status> LocalDecider::settle(const Decision& decided) {
  SLUICE_ASSERT(decided.epoch == decided_);
  return still_owner();
}

asio::awaitable<Status> LocalDecider::still_owner() { co_return Status(); }

asio::awaitable<Status> LocalDecider::reset() {
  // Not a removal: a decision for epoch 0 tells a reset from a loss.
  Decision nothing;
  nothing.writer = Uuid::make();
  co_return co_await replace(&files_, directory_, encode(job_id_, nothing), kNoKills);
}

asio::awaitable<Status> LocalDecider::close() { co_return Status(); }

asio::awaitable<Result<Decision>> LocalDecider::peek(io::FileSystem& files, Path directory) {
  return peek_at(&files, std::move(directory));
}

}  // namespace sluice::checkpoint
