#include <sluice/engine/collection.h>
#include <sluice/engine/job.h>
#include <sluice/engine/operators/number.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice {
namespace {

using testing::HasSubstr;

auto nowhere() {
  return for_each<int>([](const int&) {});
}

TEST(Job, APipelineWithoutASinkIsRefused) {
  Job job{"j"};
  (void)job.from(from_values<int>({1}));
  const Status checked = job.check();
  EXPECT_EQ(checked.code(), Code::kInvalid);
  EXPECT_THAT(std::string(checked.message()), HasSubstr(".to("));
}

TEST(Job, TwoPartsWithOneIdAreRefusedByName) {
  Job job{"j"};
  const auto source = job.from(from_values<int>({1}), "numbers");
  source.to(nowhere(), "out");
  source.to(nowhere(), "out");
  EXPECT_THAT(std::string(job.check().message()), HasSubstr("\"out\""));
}

struct Remembers {
  SplitState<std::uint64_t> seen;
  int operator()(int v) { return v; }
  void declare(StateSet& states) { states.add("seen", seen); }
};

TEST(Job, StateWithoutANameIsRefused) {
  Job job{"j"};
  job.from(from_values<int>({1})).map(Remembers{}).to(nowhere());
  EXPECT_THAT(std::string(job.check().message()), HasSubstr(".name("));
  Job named{"j"};
  named.from(from_values<int>({1})).map(Remembers{}).name("memory").to(nowhere());
  EXPECT_TRUE(named.check().ok());
}

TEST(Job, NamesThatCannotNameATopicAreRefused) {
  for (const std::string name : {"", "a b", "ä", "x/y"}) {
    Job job{name};
    job.from(from_values<int>({1})).to(nowhere());
    EXPECT_EQ(job.check().code(), Code::kInvalid) << name;
  }
}

TEST(Job, ThePlanNamesWhatFeedsWhat) {
  Job job{"j"};
  const auto a = job.from(from_values<int>({1}), "a");
  const auto b = job.from(from_values<int>({2}), "b");
  a.map([](int v) { return v + 1; }).name("plus").union_with(b, "both").to(nowhere(), "out");
  EXPECT_THAT(job.plan(), HasSubstr("plus <- a"));
  EXPECT_THAT(job.plan(), HasSubstr("both <- plus, b"));
  EXPECT_THAT(job.plan(), HasSubstr("out <- both"));
}

TEST(JobOptions, RangesAreNamed) {
  using namespace std::chrono_literals;
  Job job{"j"};
  job.from(from_values<int>({1})).to(nowhere());
  job.checkpoint({.interval = 0ms});
  EXPECT_THAT(std::string(job.check().message()), HasSubstr("checkpoint.interval is 0 ms"));
}

}  // namespace
}  // namespace sluice
