// Goal: operators with a key say the same on one shard and on eight, and over a restore in the
// middle; numbers are exact; what is refused and what is late goes where the file says. Method: the
// part of a job that a file makes, in virtual time.
#include <sluice/engine/testing/test_driver.h>

#include "pipeline_file/keyed_parts.h"
#include "pipeline_file/source_time.h"
#include <gmock/gmock.h>

#include "part_job.h"
#include <algorithm>
#include <set>

namespace sluice::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Parts;
using ::testing::UnorderedElementsAre;

/// One operator of a file behind a source, with all that comes out of it.
class Keyed : public testing::PartJob {
 public:
  explicit Keyed(const std::string& op, OnError on_error = OnError::kReject)
      : PartJob(
            Parts{.source = "{kafka: {connection: main, topics: [in], group: g}, time: {field: "
                            "/ts, max_out_of_order: 1s}}",
                  .operators = "operators:\n  op: {input: in, " + op + "}\n",
                  .sink = "{input: op, kafka: {connection: main, topic: out}}",
                  .more = "  late: {input: in, kafka: {connection: main, topic: late}}\n"}
                .text(),
            "keyed") {
    Stream<Record> lines = job_.from(input_.source(), "lines");
    lines = lines.watermarks(*make_watermarks(*loaded_.pipeline.sources.front().time), "time");
    const KeyedPart part = add_keyed(loaded_.pipeline.operators.front(), lines, on_error);
    part.out.to(out_.sink(), "out");
    for (std::size_t i = 0; i < part.refused.size(); ++i) {
      part.refused[i].to(refused_.sink(), fmt::format("refused-{}", i));
    }
    if (part.late) part.late->to(late_.sink(), "late");
  }
  Status give(const std::vector<std::string>& lines) {
    return PartJob::give(input_, lines, Bytes(std::string_view("came-with")));
  }
  Status end() {
    input_.end();
    return driver_->run();
  }
  std::vector<std::string> late() { return values(late_); }

 private:
  TestInput<Record> input_;
  TestOutput<Record> late_;
};

std::vector<std::string> rides(int from, int to) {
  std::vector<std::string> lines;
  for (int i = from; i < to; ++i) {
    lines.push_back(fmt::format(R"({{"user":"u{}","ts":{},"amount":{},"page":"p{}"}})", i % 37,
                                i * 50, (i * 7919) % 1001 - 500, i % 11));
  }
  return lines;
}

/// Every form of window with every aggregate.
std::vector<std::string> operators() {
  const std::string all =
      "aggregate: {n: count, sum: {sum: /amount}, least: {min: /amount}, most: {max: /amount}, "
      "mean: "
      "{average: /amount}, pages: {distinct: /page}, best: {top: {n: 2, by: /ts}}}";
  return {"window: {key: /user, tumbling: 10s, " + all + "}",
          "window: {key: [/user, /page], sliding: {size: 20s, slide: 5s}, " + all + "}",
          "window: {key: /user, session: {gap: 1500ms}, " + all + "}",
          "window: {key: /page, calendar: {unit: day, zone: Europe/Berlin}, " + all + "}",
          "deduplicate: {key: [/user, /page], within: 30s}"};
}

TEST(Keyed, OneShardAndEightSayTheSame) {
  for (const std::string& op : operators()) {
    std::vector<std::vector<std::string>> said;
    for (const std::uint16_t shards : {1, 8}) {
      Keyed keyed(op);
      ASSERT_TRUE(keyed.start(shards).ok());
      ASSERT_TRUE(keyed.give(rides(0, 2000)).ok());
      ASSERT_TRUE(keyed.end().ok());
      EXPECT_THAT(keyed.refused(), IsEmpty()) << op;
      said.push_back(keyed.out());
    }
    EXPECT_GT(said[0].size(), 10u) << op;
    EXPECT_EQ(said[0], said[1]) << op;
  }
}

TEST(Keyed, ARestoreInTheMiddleChangesNothing) {
  for (const std::string& op : operators()) {
    Keyed whole(op);
    ASSERT_TRUE(whole.start(1).ok());
    ASSERT_TRUE(whole.give(rides(0, 2000)).ok());
    ASSERT_TRUE(whole.end().ok());

    Keyed cut(op);
    ASSERT_TRUE(cut.start(3).ok());
    ASSERT_TRUE(cut.give(rides(0, 900)).ok());
    auto checkpoint = cut.checkpoint();
    ASSERT_TRUE(checkpoint.ok());
    std::vector<std::string> rows = cut.out();
    ASSERT_TRUE(cut.start(8, *std::move(checkpoint)).ok());
    ASSERT_TRUE(cut.give(rides(900, 2000)).ok());
    ASSERT_TRUE(cut.end().ok());
    const std::vector<std::string> later = cut.out();
    rows.insert(rows.end(), later.begin(), later.end());
    std::ranges::sort(rows);
    EXPECT_EQ(whole.out(), rows) << op;
  }
}

TEST(Keyed, StateOfAnotherAggregateIsRefused) {
  Keyed sums("window: {key: /user, tumbling: 10s, aggregate: {n: {sum: /amount}}}");
  ASSERT_TRUE(sums.start(1).ok());
  ASSERT_TRUE(sums.give(rides(0, 10)).ok());
  auto checkpoint = sums.checkpoint();
  ASSERT_TRUE(checkpoint.ok());
  Keyed counts("window: {key: /user, tumbling: 10s, aggregate: {n: {sum: /ts}}}");
  const Status started = counts.start(1, *std::move(checkpoint));
  EXPECT_FALSE(started.ok());
  EXPECT_THAT(std::string(started.message()), HasSubstr("sum /amount by /user"));
}

TEST(Keyed, StateOfOtherKeysIsRefused) {
  const std::string window = ", tumbling: 10s, aggregate: {n: count}}";
  struct Case {
    std::string before, after, named;
  };
  const std::vector<Case> cases = {
      {"window: {key: /user" + window, "window: {key: [/user]" + window, "count by /user list"},
      {"deduplicate: {key: /user, within: 1h}", "deduplicate: {key: /page, within: 1h}",
       "keys by /user"},
      {"deduplicate: {key: /user, within: forever}", "deduplicate: {key: [/user], within: forever}",
       "keys by /user list"}};
  for (const auto& [before, after, named] : cases) {
    Keyed first(before);
    ASSERT_TRUE(first.start(1).ok());
    ASSERT_TRUE(first.give(rides(0, 10)).ok());
    auto checkpoint = first.checkpoint();
    ASSERT_TRUE(checkpoint.ok());
    Keyed second(after);
    const Status started = second.start(1, *std::move(checkpoint));
    EXPECT_FALSE(started.ok()) << after;
    EXPECT_THAT(std::string(started.message()), HasSubstr(named));
  }
}

TEST(Keyed, SumsOfWholeNumbersAreExactAndRefusedBeyond64Bits) {
  Keyed sums("window: {key: /u, tumbling: 1s, aggregate: {s: {sum: /a}}}");
  ASSERT_TRUE(sums.start(1).ok());
  ASSERT_TRUE(sums.give({R"({"u":1,"ts":0,"a":9223372036854775807})", R"({"u":1,"ts":0,"a":1})",
                         R"({"u":1,"ts":0,"a":-1})", R"({"u":2,"ts":0,"a":9223372036854775807})",
                         R"({"u":2,"ts":0,"a":1})", R"({"u":3,"ts":0,"a":9223372036854775808})",
                         R"({"u":4,"ts":0,"a":0.5})", R"({"u":4,"ts":0,"a":2})"})
                  .ok());
  ASSERT_TRUE(sums.end().ok());
  EXPECT_THAT(sums.out(),
              ElementsAre(R"({"key":1,"window_start":0,"window_end":1000,"s":9223372036854775807})",
                          R"({"key":4,"window_start":0,"window_end":1000,"s":2.5})"));
  EXPECT_THAT(sums.refused(),
              UnorderedElementsAre(R"({"u":3,"ts":0,"a":9223372036854775808})",
                                   R"({"key":2,"window_start":0,"window_end":1000,"s":null})"));
}

TEST(Keyed, ARecordWithoutItsKeyGoesByOnError) {
  const std::string op = "window: {key: /u, tumbling: 1s, aggregate: {n: count}}";
  Keyed fails(op, OnError::kFail);
  ASSERT_TRUE(fails.start(1).ok());
  const Status failed = fails.give({R"({"ts":0})"});
  EXPECT_THAT(std::string(failed.message()), HasSubstr("the field at \"/u\" is missing"));
  Keyed skips(op, OnError::kSkip);
  ASSERT_TRUE(skips.start(1).ok());
  ASSERT_TRUE(skips.give({R"({"ts":0})", R"({"u":[1],"ts":0})", R"({"u":null,"ts":0})"}).ok());
  ASSERT_TRUE(skips.end().ok());
  EXPECT_THAT(skips.out(), IsEmpty());
}

TEST(Keyed, RowsHaveTheirKeyAndTheLastMillisecondOfTheWindow) {
  Keyed rows("window: {key: /u, tumbling: 1s, aggregate: {n: count}}");
  ASSERT_TRUE(rows.start(1).ok());
  ASSERT_TRUE(rows.give({R"({"u":"a\u0062\"","ts":5})"}).ok());
  ASSERT_TRUE(rows.end().ok());
  const auto arrived = rows.arrived();
  ASSERT_EQ(arrived.size(), 1u);
  EXPECT_EQ(arrived[0].value.key.view(), "ab\"");
  EXPECT_EQ(arrived[0].value.value.view(),
            R"({"key":"ab\"","window_start":0,"window_end":1000,"n":1})");
  EXPECT_EQ(arrived[0].value.time, EventTime(EventDuration(999)));
  EXPECT_EQ(arrived[0].time, EventTime(EventDuration(999)));
}

TEST(Keyed, EqualKeysAreOneHoweverTheyAreWritten) {
  Keyed rows("window: {key: /u, tumbling: 1s, aggregate: {n: count}}");
  ASSERT_TRUE(rows.start(1).ok());
  ASSERT_TRUE(rows.give({R"({"u":"1","ts":0})", R"({"u":"\u0031","ts":0})", R"({"u":1,"ts":0})",
                         R"({"u":1.0,"ts":0})", R"({"u":1e0,"ts":0})", R"({"u":true,"ts":0})"})
                  .ok());
  ASSERT_TRUE(rows.end().ok());
  EXPECT_THAT(rows.out(), ElementsAre(R"({"key":"1","window_start":0,"window_end":1000,"n":2})",
                                      R"({"key":1,"window_start":0,"window_end":1000,"n":3})",
                                      R"({"key":true,"window_start":0,"window_end":1000,"n":1})"));
}

TEST(Keyed, LateRecordsGoAsTheyCameOrMakeTheWindowSpeakAgain) {
  const std::vector<std::string> lines = {R"({"u":1,"ts":0})", R"({"u":1,"ts":2000})",
                                          R"({"u":1,"ts":500,"x":"late"})"};
  Keyed aside("window: {key: /u, tumbling: 1s, aggregate: {n: count}, late: {send_to: late}}");
  ASSERT_TRUE(aside.start(1).ok());
  ASSERT_TRUE(aside.give(lines).ok());
  ASSERT_TRUE(aside.end().ok());
  EXPECT_THAT(aside.late(), ElementsAre(lines[2]));
  EXPECT_EQ(aside.out().size(), 2u);
  Keyed again("window: {key: /u, tumbling: 1s, aggregate: {n: count}, allowed_lateness: 5s}");
  ASSERT_TRUE(again.start(1).ok());
  ASSERT_TRUE(again.give(lines).ok());
  ASSERT_TRUE(again.end().ok());
  EXPECT_THAT(again.out(), ElementsAre(R"({"key":1,"window_start":0,"window_end":1000,"n":1})",
                                       R"({"key":1,"window_start":0,"window_end":1000,"n":2})",
                                       R"({"key":1,"window_start":2000,"window_end":3000,"n":1})"));
}

}  // namespace
}  // namespace sluice::tools
