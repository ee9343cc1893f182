// Goal: the registers say what was written into them, and nothing else is ever taken for it:
// another job's, a reset offset,
//       a changed digit, one register without the other.
// Method: encode, change one thing, decode.
#include <sluice/kafka/registers.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::kafka {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Commits = std::vector<OffsetAndMetadata>;

const RegisterPlace kPlace{"sluice-rides-decisions", "sluice-rides"};
const Uuid kWriter = Uuid::parse("00112233445566778899aabbccddeeff");
const Uuid kClaim = Uuid::parse("ffeeddccbbaa99887766554433221100");
constexpr const char* kDigest = "0123456789abcdef0123456789abcdef";

OffsetAndMetadata none(const TopicPartition& at) { return {at, -1, {}}; }
DecisionRegister decision(std::uint64_t epoch) {
  return {"rides", Epoch(epoch), kWriter, kDigest, {}, false};
}
OwnerRegister owner(std::uint64_t known) { return {"rides", kClaim, Epoch(known)}; }
Commits both(std::uint64_t epoch, std::uint64_t known) {
  return {encode(kPlace, decision(epoch)), encode(kPlace, owner(known))};
}
std::string refusal(const Commits& commits, std::string_view job = "rides") {
  const Result<Registers> read = decode(kPlace, job, commits);
  if (read.ok()) return "accepted";
  EXPECT_EQ(read.code(), Code::kCorrupt);
  EXPECT_EQ(read.status().exit_status(), ExitStatus::kData);
  return std::string(read.status().message());
}

TEST(Registers, SayWhatWasWritten) {
  const Result<Registers> read = decode(kPlace, "rides", both(7, 7));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->decided.epoch, Epoch(7));
  EXPECT_EQ(read->decided.writer, kWriter);
  EXPECT_EQ(read->decided.digest, kDigest);
  EXPECT_FALSE(read->decided.positions_only);
  EXPECT_EQ(read->owner->claim, kClaim);
}
TEST(Registers, NothingCommittedIsNothingDecided) {
  const Result<Registers> read =
      decode(kPlace, "rides", {none(kPlace.decision()), none(kPlace.owner())});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->decided.epoch, Epoch(0));
  EXPECT_TRUE(read->decided.writer.nil());
}
TEST(Registers, AFirstClaimHasAnOwnerAndNoDecision) {
  const Result<Registers> read =
      decode(kPlace, "rides", {none(kPlace.decision()), encode(kPlace, owner(0))});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->decided.epoch, Epoch(0));
  EXPECT_EQ(read->owner->claim, kClaim);
}
TEST(Registers, DecisionZeroHasAWriterAndMayBeAReset) {
  for (const bool reset : {false, true}) {
    DecisionRegister nothing{"rides", Epoch(0), kWriter, {}, {}, reset};
    const Result<Registers> read =
        decode(kPlace, "rides", {encode(kPlace, nothing), encode(kPlace, owner(0))});
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read->decided.epoch, Epoch(0));
    EXPECT_EQ(read->decided.writer, kWriter);
    EXPECT_EQ(read->decision->reset, reset);
  }
}
TEST(Registers, MetadataIsTextBelow256Bytes) {
  DecisionRegister longest = decision(~std::uint64_t{0} >> 1);
  longest.job_id = std::string(80, 'j');
  longest.positions = ~std::uint32_t{0};
  longest.reset = false;
  const OffsetAndMetadata commit = encode(kPlace, longest);
  EXPECT_LT(commit.metadata.size(), 256u);
  for (const char c : commit.metadata) EXPECT_TRUE(c >= ' ' && c < 127);
  const SplitPosition position{
      std::string(100, 's'), {"t", 2147483647}, Offset(9223372036854775807)};
  EXPECT_TRUE(can_carry(position));
  EXPECT_LT(encode(position, {Epoch(~std::uint64_t{0}), kWriter, position.source}).metadata.size(),
            256u);
}
TEST(Registers, AJobIdThatDoesNotFitIsCarriedAsADigest) {
  const std::string id = "a job with spaces and " + std::string(300, 'x');
  DecisionRegister reg = decision(3);
  reg.job_id = id;
  OwnerRegister own = owner(3);
  own.job_id = id;
  EXPECT_TRUE(decode(kPlace, id, {encode(kPlace, reg), encode(kPlace, own)}).ok());
  EXPECT_THAT(refusal({encode(kPlace, reg), encode(kPlace, own)}, id + "x"),
              HasSubstr("belongs to job"));
}

TEST(Registers, EveryChangedByteIsFound) {
  const Commits right = both(7, 7);
  for (std::size_t which : {0, 1}) {
    for (std::size_t i = 0; i < right[which].metadata.size(); ++i) {
      Commits changed = right;
      changed[which].metadata[i] = static_cast<char>(changed[which].metadata[i] ^ 1);
      EXPECT_NE(refusal(changed), "accepted") << changed[which].metadata;
    }
    for (std::size_t size = 0; size < right[which].metadata.size(); ++size) {
      Commits cut = right;
      cut[which].metadata.resize(size);
      EXPECT_NE(refusal(cut), "accepted") << cut[which].metadata;
    }
  }
}
TEST(Registers, AnOffsetThatWasSetByHandIsFound) {
  Commits moved = both(7, 7);
  moved[0].offset = 6;
  EXPECT_THAT(refusal(moved),
              AllOf(HasSubstr("topic sluice-rides-decisions partition 0 in group sluice-rides"),
                    HasSubstr("checksum"), HasSubstr("--reset-decision")));
  Commits reset = both(7, 7);
  reset[0] = {kPlace.decision(), 0, {}};
  EXPECT_THAT(refusal(reset), HasSubstr("has no metadata"));
}
TEST(Registers, ARegisterInTheOthersPlaceIsFound) {
  Commits swapped{encode(kPlace, owner(7)), encode(kPlace, decision(7))};
  swapped[0].partition = kPlace.decision();
  swapped[1].partition = kPlace.owner();
  EXPECT_NE(refusal(swapped), "accepted");
}
TEST(Registers, AnotherJobIsRefusedByName) {
  EXPECT_THAT(refusal(both(7, 7), "drives"), AllOf(HasSubstr("\"rides\""), HasSubstr("\"drives\""),
                                                   HasSubstr("nothing was fenced")));
  // Also when it has only claimed.
  EXPECT_THAT(refusal({none(kPlace.decision()), encode(kPlace, owner(0))}, "drives"),
              HasSubstr("belongs to job"));
}
TEST(Registers, ADecisionWithoutAnOwnerWasHalfLost) {
  EXPECT_THAT(refusal({encode(kPlace, decision(7)), none(kPlace.owner())}),
              HasSubstr("has no owner"));
}
TEST(Registers, ADecisionBelowWhatTheOwnerKnewWasLost) {
  EXPECT_THAT(refusal({none(kPlace.decision()), encode(kPlace, owner(7))}),
              HasSubstr("knows of decision 7"));
  EXPECT_THAT(refusal(both(6, 7)), AllOf(HasSubstr("knows of decision 7"), HasSubstr("holds 6")));
  EXPECT_EQ(refusal(both(8, 7)), "accepted");
}

// ---- positions ----

struct Carried {
  std::vector<SplitPosition> positions{{"events", {"in", 0}, Offset(2)},
                                       {"events", {"in", 1}, Offset(1)},
                                       {"other", {"b", 0}, Offset(0)}};
  Commits commits() const {
    DecisionRegister reg = decision(7);
    reg.positions = static_cast<std::uint32_t>(positions.size());
    reg.digest = digest_of(positions);
    Commits all{encode(kPlace, reg), encode(kPlace, owner(7))};
    for (const SplitPosition& position : positions)
      all.push_back(encode(position, {Epoch(7), kWriter, position.source}));
    return all;
  }
};

TEST(Positions, AreCarriedByTheDecision) {
  const Carried carried;
  const Result<Registers> read = decode(kPlace, "rides", carried.commits());
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_TRUE(read->decided.positions_only);
  EXPECT_EQ(read->decided.positions, carried.positions);
}
TEST(Positions, LeftOverOnesOfEarlierDecisionsAreNotTaken) {
  const Carried carried;
  Commits commits = carried.commits();
  commits.push_back(encode({"events", {"old", 0}, Offset(9)}, {Epoch(6), kWriter, "events"}));
  commits.push_back(encode({"events", {"old", 1}, Offset(9)},
                           {Epoch(7), kClaim, "events"}));  // Of a life before a reset.
  commits.push_back(none({"new", 0}));
  const Result<Registers> read = decode(kPlace, "rides", commits);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->decided.positions, carried.positions);
}
TEST(Positions, OneThatIsMissingOrWasMovedIsFound) {
  const Carried carried;
  Commits missing = carried.commits();
  missing[3] = none(missing[3].partition);
  EXPECT_THAT(refusal(missing), HasSubstr("carries 3 positions, of which 2 are there"));
  Commits moved = carried.commits();
  moved[2].offset = 0;
  EXPECT_THAT(refusal(moved), AllOf(HasSubstr("topic in partition 0"), HasSubstr("checksum")));
  Commits reset = carried.commits();
  reset[2].metadata.clear();
  EXPECT_THAT(refusal(reset), HasSubstr("has no metadata"));
}
TEST(Positions, WithoutADecisionTheDecisionWasLost) {
  const Carried carried;
  Commits commits = carried.commits();
  commits[0] = none(kPlace.decision());
  commits[1] = encode(kPlace, owner(0));
  EXPECT_THAT(refusal(commits), HasSubstr("without a decision"));
}
TEST(Positions, TheDigestDependsOnEveryPartAndNotOnTheOrder) {
  const std::vector<SplitPosition> a{{"s", {"t", 0}, Offset(1)}, {"s", {"t", 1}, Offset(2)}};
  const std::vector<SplitPosition> b{a[1], a[0]};
  EXPECT_EQ(digest_of(a), digest_of(b));
  EXPECT_EQ(digest_of(a).size(), 32u);
  for (const SplitPosition& other :
       {SplitPosition{"x", {"t", 0}, Offset(1)}, SplitPosition{"s", {"x", 0}, Offset(1)},
        SplitPosition{"s", {"t", 2}, Offset(1)}, SplitPosition{"s", {"t", 0}, Offset(9)}}) {
    EXPECT_NE(digest_of({other, a[1]}), digest_of(a));
  }
  EXPECT_NE(digest_of({{"a", {"bc", 0}, Offset(1)}}), digest_of({{"ab", {"c", 0}, Offset(1)}}));
}
TEST(Positions, ASourceIdWithSpacesCannotBeCarried) {
  EXPECT_FALSE(can_carry({"my events", {"t", 0}, Offset(1)}));
  EXPECT_FALSE(can_carry({std::string(101, 's'), {"t", 0}, Offset(1)}));
}

TEST(RegisterPlace, TheJobsNameMustFitIntoATopics) {
  const Result<RegisterPlace> place = register_place("rides-per-hour");
  ASSERT_TRUE(place.ok());
  EXPECT_EQ(place->topic, "sluice-rides-per-hour-decisions");
  EXPECT_EQ(place->group, "sluice-rides-per-hour");
  EXPECT_EQ(register_place("rides", "mine")->group, "mine");
  for (const std::string& name :
       {std::string(), std::string("a b"), std::string("é"), std::string(201, 'x')}) {
    EXPECT_EQ(register_place(name).code(), Code::kInvalid);
  }
}

}  // namespace
}  // namespace sluice::kafka
