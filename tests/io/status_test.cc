// Goal: a failure keeps what the caller acts on (its code), what a person reads, and how the process exits.
// Method: plain values.
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <sluice/io/base/id.h>
#include <sluice/io/base/random.h>
#include <sluice/io/base/result.h>
#include <sluice/io/base/status.h>

namespace sluice {
namespace {

TEST(Status, SuccessIsOnePointerAndHasNoMessage) {
  static_assert(sizeof(Status) == sizeof(void*));
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), Code::kOk);
  EXPECT_EQ(status.message(), "");
  EXPECT_EQ(status.to_string(), "ok");
  EXPECT_EQ(status.exit_status(), ExitStatus::kDone);
}

TEST(Status, JoinsThePartsOfItsMessage) {
  const Status status(Code::kRecover, "commit of", Epoch(7), std::string("timed out"));
  EXPECT_EQ(status.message(), "commit of 7 timed out");
  EXPECT_EQ(status.to_string(), "recover: commit of 7 timed out");
}

TEST(Status, WithAddsContextToACopy) {
  const Status status(Code::kRetry, "no answer");
  const Status more = status.with("from broker", 3);
  EXPECT_EQ(more.message(), "no answer from broker 3");
  EXPECT_EQ(more.code(), Code::kRetry);
  EXPECT_EQ(status.message(), "no answer");
  EXPECT_TRUE(Status().with("anything").ok()) << "a success has no context";
}

TEST(Status, AsChangesTheNextStepOnly) {
  const Status status = Status(Code::kRetry, "no answer").exit(ExitStatus::kUnavailable).as(Code::kRecover);
  EXPECT_EQ(status.code(), Code::kRecover);
  EXPECT_EQ(status.message(), "no answer");
  EXPECT_EQ(status.exit_status(), ExitStatus::kUnavailable);
}

TEST(Status, TheCodeImpliesTheExitStatusUnlessOneWasSet) {
  EXPECT_EQ(Status(Code::kFenced, "x").exit_status(), ExitStatus::kFenced);
  EXPECT_EQ(Status(Code::kInvalid, "x").exit_status(), ExitStatus::kConfiguration);
  EXPECT_EQ(Status(Code::kCorrupt, "x").exit_status(), ExitStatus::kData);
  EXPECT_EQ(Status(Code::kRecover, "x").exit_status(), ExitStatus::kFailed);
  EXPECT_EQ(Status(Code::kInvalid, "x").exit(ExitStatus::kCannotCreate).exit_status(), ExitStatus::kCannotCreate);
}

TEST(Status, ACopyIsAnotherOne) {
  Status first(Code::kRetry, "one");
  const Status copy = first;
  first = Status(Code::kCorrupt, "two");
  EXPECT_EQ(copy.message(), "one");
  const Status& alias = first;
  first = alias;
  EXPECT_EQ(first.message(), "two");
  const Status moved = std::move(first);
  EXPECT_EQ(moved.code(), Code::kCorrupt);
}

TEST(Status, EveryCodeHasAName) {
  for (const Code code : {Code::kOk, Code::kCancelled, Code::kRetry, Code::kUnknownOutcome, Code::kRecover,
                          Code::kFenced, Code::kExhausted, Code::kInvalid, Code::kCorrupt}) {
    EXPECT_NE(to_string(code), "?");
  }
}

TEST(Result, HoldsAValueOrTheReasonWhyThereIsNone) {
  const auto half_of = [](int number) -> Result<int> {
    if (number % 2 != 0) return Status(Code::kInvalid, number, "is odd");
    return number / 2;
  };
  EXPECT_EQ(*half_of(6), 3);
  EXPECT_TRUE(half_of(6).status().ok());
  EXPECT_EQ(half_of(7).code(), Code::kInvalid);
  EXPECT_EQ(half_of(7).status().message(), "7 is odd");
}

TEST(Result, CarriesWhatCanOnlyMove) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(7);
  const std::unique_ptr<int> out = *std::move(result);
  EXPECT_EQ(*out, 7);
}

TEST(ResultDeathTest, TakingTheValueThatIsNotThereIsOurMistake) {
  const Result<int> result = Status(Code::kRetry, "later");
  EXPECT_DEATH((void)*result, "ok");
  EXPECT_DEATH((void)Result<int>(Status()), "ok");
}

Status chain(Status first, bool* reached) {
  SLUICE_TRY(std::move(first));
  *reached = true;
  return Status();
}
TEST(Status, TryReturnsEarlyWithTheFailure) {
  bool reached = false;
  EXPECT_EQ(chain(Status(Code::kFenced, "x"), &reached).code(), Code::kFenced);
  EXPECT_FALSE(reached);
  EXPECT_TRUE(chain(Status(), &reached).ok());
  EXPECT_TRUE(reached);
}

TEST(Id, CountsAndCompares) {
  Epoch epoch(1);
  EXPECT_EQ(epoch.next(), Epoch(2));
  EXPECT_LT(epoch, epoch.next());
  EXPECT_EQ((++epoch).value(), 2u);
  EXPECT_EQ(fmt::format("{}", Offset(-1)), "-1");
}

TEST(Random, TheSameSeedGivesTheSameNumbers) {
  Random first(7), second(7), other(8);
  const auto number = first.next();
  EXPECT_EQ(number, second.next());
  EXPECT_NE(number, other.next());
  for (int at = 0; at < 1'000; ++at) EXPECT_LT(first.below(10), 10u);
}

TEST(Uuid, ReadsWhatItWrites) {
  const Uuid made = Uuid::make();
  EXPECT_FALSE(made.nil());
  EXPECT_EQ(Uuid::parse(made.to_string()), made);
  EXPECT_NE(Uuid::make(), made);
  for (const char* text : {"", "0123", "0123456789abcdef0123456789abcdeg", "-123456789abcdef0123456789abcdef",
                           "0123456789abcdef0123456789abcdef0"}) {
    EXPECT_TRUE(Uuid::parse(text).nil()) << text;
  }
}

}  // namespace
}  // namespace sluice
