#include <sluice/io/base/assert.h>
#include <sluice/kafka/registers.h>

#include <xxhash.h>
#include <zlib.h>

#include <algorithm>
#include <charconv>

namespace sluice::kafka {
namespace {

constexpr std::size_t kMetadataBytesMax = 255;
constexpr std::size_t kJobIdBytesMax = 80;
constexpr std::size_t kSourceIdBytesMax = 100;
constexpr std::string_view kRemedy =
    "find out who wrote it; \"--reset-decision\" is the explicit way to start over from a "
    "checkpoint or from the settings";

bool plain(std::string_view text, std::size_t size_max) {
  return !text.empty() && text.size() <= size_max &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 127; });
}

std::uint32_t crc_of(std::string_view text) {
  return static_cast<std::uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size()));
}

/// The checksum covers where the commit stands and its offset too, so that neither can be changed
/// or moved alone.
std::string sealed(const TopicPartition& at, std::int64_t offset, std::string text) {
  const std::uint32_t crc =
      crc_of(fmt::format("{} {} {} {}", at.topic, at.partition, offset, text));
  text += fmt::format(" crc={:08x}", crc);
  return text;
}

OffsetAndMetadata commit_of(TopicPartition at, std::int64_t offset, std::string text) {
  std::string metadata = sealed(at, offset, std::move(text));
  SLUICE_ASSERT(metadata.size() <= kMetadataBytesMax);
  return {std::move(at), offset, std::move(metadata)};
}

/// Takes "name=value" fields off the front, in the order in which they were written.
class Fields {
 public:
  explicit Fields(std::string_view text) : rest_(text) {}
  bool word(std::string_view expected) {
    const bool fits = take() == expected;
    good_ = good_ && fits;
    return fits;
  }
  std::string_view field(std::string_view name) {
    const std::string_view got = take();
    if (got.size() > name.size() && got.starts_with(name) && got[name.size()] == '=')
      return got.substr(name.size() + 1);
    good_ = false;
    return {};
  }
  template <class Number>
  Number number(std::string_view name, int base = 10) {
    const std::string_view digits = field(name);
    Number value{};
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    good_ = good_ && error == std::errc() && end == digits.data() + digits.size();
    return value;
  }
  Uuid uuid(std::string_view name) {
    const Uuid parsed = Uuid::parse(field(name));
    good_ = good_ && !parsed.nil();
    return parsed;
  }
  [[nodiscard]] bool done() const { return good_ && rest_.empty(); }

 private:
  std::string_view take() {
    const std::size_t space = rest_.find(' ');
    const std::string_view word = rest_.substr(0, space);
    rest_ = space == std::string_view::npos ? std::string_view() : rest_.substr(space + 1);
    return word;
  }
  std::string_view rest_;
  bool good_ = true;
};

std::string place_of(const RegisterPlace& place, const TopicPartition& at) {
  return fmt::format("topic {} partition {} in group {}", at.topic, at.partition, place.group);
}

Status damaged(const RegisterPlace& place, const OffsetAndMetadata& commit, std::string_view what) {
  return Status(Code::kCorrupt,
                fmt::format("the register at {} (offset {}, metadata \"{}\") {}; {}",
                            place_of(place, commit.partition), commit.offset, commit.metadata, what,
                            kRemedy));
}

/// The text without its checksum; kCorrupt where that does not fit.
Result<std::string_view> unsealed(const RegisterPlace& place, const OffsetAndMetadata& commit) {
  const std::string_view text = commit.metadata;
  if (text.empty()) {
    return damaged(
        place, commit,
        "has no metadata: the group's offsets were reset or committed by something else");
  }
  const std::size_t crc = text.rfind(" crc=");
  const std::string_view body = text.substr(0, crc == std::string_view::npos ? text.size() : crc);
  const std::string expected = sealed(commit.partition, commit.offset, std::string(body));
  if (expected != text) {
    return damaged(place, commit,
                   "has a checksum that does not fit: the group's offsets were reset, or it was "
                   "written by something else");
  }
  return body;
}

Result<DecisionRegister> decode_decision(const RegisterPlace& place,
                                         const OffsetAndMetadata& commit) {
  const Result<std::string_view> body = unsealed(place, commit);
  if (!body.ok()) return body.status();
  DecisionRegister decision;
  Fields fields(*body);
  decision.reset = body->starts_with("sluice 1 reset ");
  fields.word("sluice");
  if (!fields.word("1")) return damaged(place, commit, "was written by another version of sluice");
  fields.word(decision.reset ? "reset" : "decision");
  decision.job_id = fields.field("job");
  decision.epoch = Epoch(fields.number<std::uint64_t>("epoch"));
  decision.writer = fields.uuid("writer");
  decision.digest = fields.field("digest");
  if (body->ends_with(" positions=-")) {
    fields.word("positions=-");
  } else {
    decision.positions = fields.number<std::uint32_t>("positions");
  }
  if (!fields.done() || (decision.reset && decision.epoch != Epoch(0)) ||
      commit.offset != static_cast<std::int64_t>(decision.epoch.value())) {
    return damaged(place, commit, "is not a decision");
  }
  return decision;
}

Result<OwnerRegister> decode_claim(const RegisterPlace& place, const OffsetAndMetadata& commit) {
  const Result<std::string_view> body = unsealed(place, commit);
  if (!body.ok()) return body.status();
  OwnerRegister owner;
  Fields fields(*body);
  fields.word("sluice");
  if (!fields.word("1")) return damaged(place, commit, "was written by another version of sluice");
  fields.word("owner");
  owner.job_id = fields.field("job");
  owner.claim = fields.uuid("claim");
  owner.known = Epoch(static_cast<std::uint64_t>(commit.offset));
  if (!fields.done()) return damaged(place, commit, "is not an owner");
  return owner;
}

/// The positions among `committed` that belong to `decision`; others are left over from earlier
/// ones.
Result<std::vector<SplitPosition>> decode_positions(
    const RegisterPlace& place, const DecisionRegister& decision,
    const std::vector<OffsetAndMetadata>& committed) {
  std::vector<SplitPosition> positions;
  for (std::size_t i = RegisterPlace::kPartitions; i < committed.size(); ++i) {
    const OffsetAndMetadata& commit = committed[i];
    if (commit.offset < 0) continue;
    const Result<std::string_view> body = unsealed(place, commit);
    if (!body.ok()) return body.status();
    PositionRegister reg;
    Fields fields(*body);
    fields.word("sluice");
    fields.word("1");
    fields.word("position");
    reg.epoch = Epoch(fields.number<std::uint64_t>("epoch"));
    reg.writer = fields.uuid("writer");
    reg.source = fields.field("source");
    if (!fields.done()) return damaged(place, commit, "is not a position");
    if (reg.epoch != decision.epoch || reg.writer != decision.writer) continue;
    positions.push_back(
        {reg.source, {commit.partition.topic, commit.partition.partition}, Offset(commit.offset)});
  }
  return positions;
}

Status wrong_job(const RegisterPlace& place, const TopicPartition& at, std::string_view theirs,
                 std::string_view ours) {
  return Status(Code::kCorrupt, fmt::format("the register at {} belongs to job \"{}\", this is job "
                                            "\"{}\": nothing was fenced; give this job a "
                                            "name, group and transactional id of its own, or, if "
                                            "the other one is gone for good, \"--reset-decision\"",
                                            place_of(place, at), theirs, ours));
}

}  // namespace

Result<RegisterPlace> register_place(const std::string& job_name, const std::string& group) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  if (job_name.empty() || job_name.size() > 200 ||
      !std::all_of(job_name.begin(), job_name.end(), allowed)) {
    return Status(Code::kInvalid, fmt::format("the name of the job, \"{}\", is part of a topic's "
                                              "name: use 1 to 200 of a-z A-Z 0-9 . _ -",
                                              job_name));
  }
  return RegisterPlace{"sluice-" + job_name + "-decisions",
                       group.empty() ? "sluice-" + job_name : group};
}

std::string register_job_id(std::string_view job_id) {
  if (plain(job_id, kJobIdBytesMax)) return std::string(job_id);
  const XXH128_hash_t hash = XXH3_128bits(job_id.data(), job_id.size());
  return fmt::format("xxh3-{:016x}{:016x}", hash.high64, hash.low64);
}

bool can_carry(const SplitPosition& position) {
  return plain(position.source, kSourceIdBytesMax) && position.next >= Offset(0) &&
         position.split.partition >= 0;
}

std::string digest_of(std::vector<SplitPosition> positions) {
  std::sort(positions.begin(), positions.end());
  std::string text;
  for (const SplitPosition& position : positions) {
    // Lengths in front, so that no two lists give the same text.
    text += fmt::format("{}:{} {}:{} {} {}\n", position.source.size(), position.source,
                        position.split.name.size(), position.split.name, position.split.partition,
                        position.next);
  }
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

OffsetAndMetadata encode(const RegisterPlace& place, const DecisionRegister& decision) {
  const auto offset = static_cast<std::int64_t>(decision.epoch.value());
  const std::string positions = decision.positions ? std::to_string(*decision.positions) : "-";
  std::string text = fmt::format(
      "sluice 1 {} job={} epoch={} writer={} digest={} positions={}",
      decision.reset ? "reset" : "decision", register_job_id(decision.job_id), decision.epoch,
      decision.writer.to_string(), decision.digest.empty() ? "-" : decision.digest, positions);
  return commit_of(place.decision(), offset, std::move(text));
}

OffsetAndMetadata encode(const RegisterPlace& place, const OwnerRegister& owner) {
  const auto offset = static_cast<std::int64_t>(owner.known.value());
  std::string text = fmt::format("sluice 1 owner job={} claim={}", register_job_id(owner.job_id),
                                 owner.claim.to_string());
  return commit_of(place.owner(), offset, std::move(text));
}

OffsetAndMetadata encode(const SplitPosition& position, const PositionRegister& reg) {
  TopicPartition at{position.split.name, position.split.partition};
  std::string text = fmt::format("sluice 1 position epoch={} writer={} source={}", reg.epoch,
                                 reg.writer.to_string(), reg.source);
  return commit_of(std::move(at), position.next.value(), std::move(text));
}

Result<std::optional<OwnerRegister>> decode_owner(const RegisterPlace& place,
                                                  std::string_view job_id,
                                                  const OffsetAndMetadata& commit) {
  if (commit.offset < 0) return std::optional<OwnerRegister>();
  Result<OwnerRegister> owner = decode_claim(place, commit);
  if (!owner.ok()) return owner.status();
  const std::string ours = job_id.empty() ? owner->job_id : register_job_id(job_id);
  if (owner->job_id != ours) return wrong_job(place, commit.partition, owner->job_id, ours);
  return std::optional<OwnerRegister>(*std::move(owner));
}

Result<Registers> decode(const RegisterPlace& place, std::string_view job_id,
                         const std::vector<OffsetAndMetadata>& committed) {
  SLUICE_ASSERT(committed.size() >= RegisterPlace::kPartitions);
  Registers read;
  const std::string ours = job_id.empty() ? std::string() : register_job_id(job_id);
  const OffsetAndMetadata& decision_commit = committed[RegisterPlace::kDecisionPartition];
  const OffsetAndMetadata& owner_commit = committed[RegisterPlace::kOwnerPartition];
  Result<std::optional<OwnerRegister>> owner = decode_owner(place, job_id, owner_commit);
  if (!owner.ok()) return owner.status();
  read.owner = *std::move(owner);
  if (decision_commit.offset >= 0) {
    Result<DecisionRegister> decision = decode_decision(place, decision_commit);
    if (!decision.ok()) return decision.status();
    if (!ours.empty() && decision->job_id != ours)
      return wrong_job(place, decision_commit.partition, decision->job_id, ours);
    if (!read.owner)
      return damaged(place, decision_commit, "has no owner register beside it: that one was lost");
    if (decision->job_id != read.owner->job_id)
      return damaged(place, decision_commit, "and the owner register name different jobs");
    read.decision = *std::move(decision);
  }
  const Epoch decided = read.decision ? read.decision->epoch : Epoch(0);
  if (read.owner && decided < read.owner->known) {
    return damaged(
        place, owner_commit,
        fmt::format(
            "knows of decision {}, but the decision register holds {}: that decision was lost",
            read.owner->known, read.decision ? fmt::format("{}", decided) : "nothing"));
  }
  if (!read.decision) {
    const auto position =
        std::find_if(committed.begin() + RegisterPlace::kPartitions, committed.end(),
                     [](const OffsetAndMetadata& commit) { return commit.offset >= 0; });
    if (position != committed.end())
      return damaged(place, *position, "stands without a decision: that one was lost");
  }
  if (decided == Epoch(0)) {
    if (read.decision)
      read.decided.writer = read.decision->writer;  // Decision 0: written before anything was.
    return read;
  }
  read.decided.epoch = decided;
  read.decided.writer = read.decision->writer;
  read.decided.digest = read.decision->digest;
  if (!read.decision->positions) return read;
  read.decided.positions_only = true;
  if (job_id.empty()) return read;  // A tool has no inputs to look up.
  Result<std::vector<SplitPosition>> positions = decode_positions(place, *read.decision, committed);
  if (!positions.ok()) return positions.status();
  if (positions->size() != *read.decision->positions) {
    return damaged(place, decision_commit,
                   fmt::format("carries {} positions, of which {} are there: were topics taken out "
                               "of the job's sources or made anew, or "
                               "the group's offsets deleted?",
                               *read.decision->positions, positions->size()));
  }
  if (digest_of(*positions) != read.decided.digest) {
    return damaged(place, decision_commit,
                   "does not fit the positions in the group: they were changed");
  }
  read.decided.positions = *std::move(positions);
  return read;
}

}  // namespace sluice::kafka
