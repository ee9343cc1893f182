// Goal: joins and lookups of a file say the same on one shard and on eight, and over a restore in
// the middle; keys, missing partners, tombstones and bounds are as the reference page says. Method:
// the part of a job that a file makes, in virtual time.
#include <sluice/engine/testing/test_driver.h>

#include "pipeline_file/join_parts.h"
#include "pipeline_file/join_plan.h"
#include "pipeline_file/keys.h"
#include "pipeline_file/run_tests.h"
#include "pipeline_file/source_time.h"
#include <gmock/gmock.h>

#include "part_job.h"
#include <algorithm>
#include <set>

namespace sluice::tools {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::Parts;

/// A join of two sources, `in` and `right`, with all that comes out of it.
class JoinJob : public testing::PartJob {
 public:
  explicit JoinJob(const std::string& op, OnError on_error = OnError::kReject, bool timed = true)
      : PartJob(text_of(op, timed), "joined") {
    const auto source = [&](TestInput<Record>& input, const std::string& id) {
      Stream<Record> lines = job_.from(input.source(), id);
      if (!timed) return lines;
      return Stream<Record>(
          lines.watermarks(*make_watermarks(*loaded_.pipeline.sources.front().time), id + ".time"));
    };
    const Stream<Record> left = source(left_, "in"), right = source(right_, "right");
    const KeyedPart part = add_join(loaded_.pipeline.operators.front(), left, right, on_error);
    part.out.to(out_.sink(), "out");
    for (std::size_t i = 0; i < part.refused.size(); ++i)
      part.refused[i].to(refused_.sink(), fmt::format("refused-{}", i));
  }
  Status left(const std::vector<std::string>& lines) { return give(left_, lines); }
  Status right(const std::vector<std::string>& lines) { return give(right_, lines); }
  /// One record, with its key and timestamp; no value: a tombstone.
  Status left(const Record& record) { return give_one(left_, record); }
  Status right(const Record& record) { return give_one(right_, record); }
  Status end() {
    left_.end();
    right_.end();
    return driver_->run();
  }
  std::uint64_t late() const { return driver_->metric("sluice_operator_late_dropped_total"); }

 private:
  static std::string text_of(const std::string& op, bool timed) {
    const std::string source =
        std::string("{kafka: {connection: main, topics: [in], group: g}, format: json") +
        (timed ? ", time: {field: /ts, max_out_of_order: 1s}}" : "}");
    const std::string input = op.starts_with("input:") ? "" : "input: in, ";
    return Parts{.source = source + "\n  right: " + source,
                 .operators = "operators:\n  op: {" + input + op + "}\n",
                 .sink = "{input: op, kafka: {connection: main, topic: out}}"}
        .text();
  }
  Status give_one(TestInput<Record>& input, const Record& record) {
    input.give(0, {record});
    return driver_->run();
  }
  TestInput<Record> left_, right_;
};

std::vector<std::string> orders(int from, int to) {
  std::vector<std::string> lines;
  for (int i = from; i < to; ++i)
    lines.push_back(fmt::format(R"({{"id":{},"shop":"s{}","ts":{}}})", i % 41, i % 3, i * 50));
  return lines;
}
std::vector<std::string> payments(int from, int to) {
  std::vector<std::string> lines;
  for (int i = from; i < to; ++i)
    lines.push_back(fmt::format(R"({{"order":{}.0,"shop":"s{}","ts":{}}})", i % 53, i % 2, i * 50));
  return lines;
}

/// Every form and every kind whose rows do not hang on which side comes first.
std::vector<std::string> operators() {
  std::vector<std::string> all;
  for (const char* const kind : {"inner", "left", "right", "full"}) {
    for (const char* const shape :
         {"between: {from: -3s, to: 1s}", "tumbling: 10s", "sliding: {size: 4s, slide: 3s}"}) {
      all.push_back(fmt::format("join: {{with: right, key: {{left: [/id, /shop], right: [/order, "
                                "/shop]}}, {}, kind: {}}}",
                                shape, kind));
    }
  }
  all.emplace_back(
      "lookup: {table: right, key: {row: /id, table: /order}, kind: left, as: {row: order, table: "
      "payment}}");
  all.emplace_back("lookup: {table: right, key: {row: /id, table: /order}}");
  all.emplace_back("lookup: {table: right, key: {row: /id, table: /order}, kind: waiting}");
  return all;
}

/// The table first, then the rows in two halves, with a restore on other shards in between or none.
std::vector<std::string> rows_of(const std::string& op, std::uint16_t shards,
                                 std::optional<std::uint16_t> then = {}) {
  JoinJob job(op);
  std::vector<std::string> rows;
  EXPECT_TRUE(job.start(shards).ok());
  EXPECT_TRUE(job.right(payments(0, 500)).ok());
  EXPECT_TRUE(job.left(orders(0, 450)).ok());
  if (then) {
    auto checkpoint = job.checkpoint();
    EXPECT_TRUE(checkpoint.ok());
    rows = job.out();
    const Status started = job.start(*then, *std::move(checkpoint));
    EXPECT_TRUE(started.ok()) << started.message();
  }
  EXPECT_TRUE(job.right(payments(500, 1000)).ok());
  EXPECT_TRUE(job.left(orders(450, 1000)).ok());
  EXPECT_TRUE(job.end().ok());
  EXPECT_THAT(job.refused(), IsEmpty()) << op;
  EXPECT_EQ(job.late(), 0u) << op;
  const std::vector<std::string> more = job.out();
  rows.insert(rows.end(), more.begin(), more.end());
  std::ranges::sort(rows);
  return rows;
}

TEST(Joined, OneShardAndEightAndARestoreInTheMiddleSayTheSame) {
  for (const std::string& op : operators()) {
    const std::vector<std::string> one = rows_of(op, 1);
    EXPECT_GT(one.size(), 50u) << op;
    EXPECT_EQ(one, rows_of(op, 8)) << op;
    EXPECT_EQ(one, rows_of(op, 3, 8)) << op;
    EXPECT_EQ(one, rows_of(op, 2, 1)) << op;
  }
}

/// What the rows of an interval join must be, counted by hand.
TEST(Joined, PairsAreThoseOfTwoNestedLoops) {
  std::size_t inner = 0, alone = 0;
  for (int i = 0; i < 1000; ++i) {
    std::size_t partners = 0;
    for (int j = 0; j < 1000; ++j) {
      const int apart = (j - i) * 50;
      if (i % 41 == j % 53 && i % 3 == j % 2 && apart >= -3000 && apart <= 1000) ++partners;
    }
    inner += partners;
    alone += partners == 0 ? 1 : 0;
  }
  EXPECT_GT(inner, 20u);
  EXPECT_EQ(rows_of(operators()[0], 1).size(), inner);
  EXPECT_EQ(rows_of(operators()[3], 1).size(), inner + alone);
}

TEST(Joined, ARowHasItsKeyAndTheLaterOfBothTimes) {
  JoinJob job("join: {with: right, key: {left: /u, right: /v}, between: {from: -5s, to: 5s}}");
  ASSERT_TRUE(job.start(1).ok());
  ASSERT_TRUE(job.left({R"({"u":"a\u0062\"","ts":5})"}).ok());
  ASSERT_TRUE(job.right({R"({"v":"ab\"","ts":9})"}).ok());
  const auto arrived = job.arrived();
  ASSERT_EQ(arrived.size(), 1u);
  EXPECT_EQ(arrived[0].value.key.view(), "ab\"");
  EXPECT_EQ(arrived[0].value.value.view(),
            R"({"key":"ab\"","left":{"u":"a\u0062\"","ts":5},"right":{"v":"ab\"","ts":9}})");
  EXPECT_EQ(arrived[0].value.time, EventTime(EventDuration(9)));
  EXPECT_EQ(arrived[0].time, EventTime(EventDuration(9)));
}

TEST(Joined, AKeyThatIsNullEqualsNothingAndOneThatIsMissingIsRefused) {
  const std::string op = "join: {with: right, key: /k, between: {from: -5s, to: 5s}, kind: left}";
  JoinJob job(op);
  ASSERT_TRUE(job.start(1).ok());
  ASSERT_TRUE(job.right({R"({"k":null,"ts":1})", R"({"ts":2})", R"({"k":{},"ts":3})"}).ok());
  ASSERT_TRUE(job.left({R"({"k":null,"ts":1})", R"({"ts":2})"}).ok());
  ASSERT_TRUE(job.end().ok());
  EXPECT_THAT(job.out(), ElementsAre(R"({"key":null,"left":{"k":null,"ts":1},"right":null})"));
  EXPECT_THAT(job.refused(),
              ElementsAre(R"({"k":{},"ts":3})", R"({"ts":2})", R"({"ts":2})"));
  JoinJob fails(op, OnError::kFail);
  ASSERT_TRUE(fails.start(1).ok());
  EXPECT_THAT(std::string(fails.left({R"({"ts":2})"}).message()),
              HasSubstr("the field at \"/k\" is missing"));
}

Record kafka_record(std::string_view key, std::string_view value, std::int64_t time = -1) {
  Record record;
  if (key.data() != nullptr) record.key = Bytes(key);
  if (value.data() != nullptr) record.value = Bytes(value);
  if (time >= 0) record.time = EventTime(EventDuration(time));
  return record;
}

TEST(Joined, ATableByRecordKeysForgetsWhatATombstoneNames) {
  JoinJob job("lookup: {table: right, key: {row: /c, table: {from: record}}, kind: left}",
              OnError::kReject, false);
  ASSERT_TRUE(job.start(2).ok());
  ASSERT_TRUE(job.right(kafka_record("7", R"({"n":1})")).ok());
  ASSERT_TRUE(job.left(kafka_record({}, R"({"c":7})", 1234)).ok());
  ASSERT_TRUE(job.left(kafka_record({}, R"({"c":"7"})")).ok());
  ASSERT_TRUE(job.right(kafka_record("7", {})).ok());
  auto checkpoint = job.checkpoint();
  ASSERT_TRUE(checkpoint.ok());
  ASSERT_TRUE(job.start(5, *std::move(checkpoint)).ok());
  ASSERT_TRUE(job.left(kafka_record({}, R"({"c":7.0})")).ok());
  // What has no key, or none that JSON could hold, is refused.
  ASSERT_TRUE(job.right(kafka_record({}, R"({"n":2})")).ok());
  ASSERT_TRUE(job.right(kafka_record("\xff", R"({"n":3})")).ok());
  const auto arrived = job.arrived();
  ASSERT_EQ(arrived.size(), 3u);
  EXPECT_EQ(arrived[0].value.value.view(), R"({"key":"7","row":{"c":7},"table":{"n":1}})");
  EXPECT_EQ(arrived[0].value.time, EventTime(EventDuration(1234)));
  EXPECT_EQ(arrived[1].value.value.view(), R"({"key":"7","row":{"c":"7"},"table":{"n":1}})");
  EXPECT_EQ(arrived[2].value.value.view(), R"({"key":"7","row":{"c":7.0},"table":null})");
  EXPECT_EQ(arrived[2].value.key.view(), "7");
  EXPECT_THAT(job.refused(), ElementsAre(R"({"n":2})", R"({"n":3})"));
}

TEST(Joined, LateRecordsAreDroppedAndCounted) {
  JoinJob job("join: {with: right, key: /k, between: {from: 0s, to: 0s}}");
  ASSERT_TRUE(job.start(1).ok());
  ASSERT_TRUE(job.left({R"({"k":1,"ts":10000})"}).ok());
  ASSERT_TRUE(job.right({R"({"k":1,"ts":10000})", R"({"k":1,"ts":8999})", R"({"k":1,"ts":9000})"}).ok());
  EXPECT_EQ(job.late(), 1u);
  EXPECT_EQ(job.out().size(), 1u);
}

TEST(Joined, BoundsOfTheFileEndTheJobAndAreNamed) {
  const std::string key = "with: right, key: /k, between: {from: -1h, to: 1h}, ";
  JoinJob kept("join: {" + key + "buffered_rows_max: 3}");
  ASSERT_TRUE(kept.start(1).ok());
  const Status full = kept.left(
      {R"({"k":1,"ts":0})", R"({"k":2,"ts":1})", R"({"k":3,"ts":2})", R"({"k":4,"ts":3})"});
  EXPECT_EQ(full.code(), Code::kExhausted);
  EXPECT_THAT(std::string(full.message()),
              AllOf(HasSubstr("\"op\" keeps 4 left and 0 right"), HasSubstr("buffered_rows_max is 3")));

  JoinJob made("join: {" + key + "results_at_once_max: 2}");
  ASSERT_TRUE(made.start(1).ok());
  ASSERT_TRUE(made.left({R"({"k":1,"ts":0})", R"({"k":1,"ts":1})", R"({"k":1,"ts":2})"}).ok());
  EXPECT_THAT(std::string(made.right({R"({"k":1,"ts":0})"}).message()),
              HasSubstr("results_at_once_max"));

  JoinJob table("lookup: {table: right, key: /k, table_rows_max: 1}", OnError::kReject, false);
  ASSERT_TRUE(table.start(1).ok());
  EXPECT_THAT(std::string(table.right({R"({"k":1})", R"({"k":2})"}).message()),
              HasSubstr("table_rows_max is 1"));

  JoinJob waits("lookup: {table: right, key: /k, kind: waiting, waiting_rows_max: 1}",
                OnError::kReject, false);
  ASSERT_TRUE(waits.start(1).ok());
  EXPECT_THAT(std::string(waits.left({R"({"k":1})", R"({"k":2})"}).message()),
              HasSubstr("waiting_rows_max is 1"));
}

TEST(Joined, AnEntryThatIsNotWrittenForItsTimeToLiveLeavesTheTable) {
  JoinJob job("lookup: {table: right, key: /k, kind: left, time_to_live: 10s}");
  ASSERT_TRUE(job.start(1).ok());
  // Time, as the operator knows it, is the watermark of both sides.
  ASSERT_TRUE(job.left({R"({"k":0,"ts":0})"}).ok());
  ASSERT_TRUE(job.right({R"({"k":0,"ts":0})"}).ok());
  ASSERT_TRUE(job.right({R"({"k":1,"ts":0})", R"({"k":2,"ts":20000})"}).ok());
  ASSERT_TRUE(job.left({R"({"k":3,"ts":20000})"}).ok());
  ASSERT_TRUE(job.right({R"({"k":2,"ts":20001})"}).ok());
  (void)job.out();
  ASSERT_TRUE(job.left({R"({"k":1,"ts":20000})", R"({"k":2,"ts":20000})"}).ok());
  EXPECT_THAT(job.out(),
              ElementsAre(R"({"key":1,"row":{"k":1,"ts":20000},"table":null})",
                          R"({"key":2,"row":{"k":2,"ts":20000},"table":{"k":2,"ts":20001}})"));
}

TEST(Joined, StateOfAnotherKindIsRefused) {
  const std::string op = "join: {with: right, key: /k, between: {from: 0s, to: 1s}, kind: ";
  JoinJob inner(op + "inner}");
  ASSERT_TRUE(inner.start(1).ok());
  ASSERT_TRUE(inner.left({R"({"k":1,"ts":0})"}).ok());
  auto checkpoint = inner.checkpoint();
  ASSERT_TRUE(checkpoint.ok());
  JoinJob full(op + "full}");
  const Status started = full.start(1, *std::move(checkpoint));
  EXPECT_FALSE(started.ok());
  EXPECT_THAT(std::string(started.message()), HasSubstr("inner_interval_join"));
}

/// What a start says with the state of another operator of the same name.
Status taken_over(const std::string& before, const std::string& after) {
  JoinJob first(before);
  EXPECT_TRUE(first.start(1).ok());
  EXPECT_TRUE(first.left({R"({"k":1,"id":2,"ts":0})"}).ok());
  EXPECT_TRUE(first.right({R"({"k":1,"id":2,"ts":0})"}).ok());
  auto checkpoint = first.checkpoint();
  EXPECT_TRUE(checkpoint.ok());
  JoinJob second(after);
  return second.start(1, *std::move(checkpoint));
}

TEST(Joined, StateOfOtherKeysOrOfTheOtherSideIsRefused) {
  struct Case {
    std::string before, after, named;
  };
  const std::string by_k = "join: {with: right, key: /k, tumbling: 10s}";
  const std::string table = "lookup: {table: right, key: {row: /k, table: ";
  const std::string waits = "lookup: {table: right, kind: waiting, key: ";
  const std::vector<Case> cases = {
      {by_k, "join: {with: right, key: /id, tumbling: 10s}", "in by /k with right by /k<"},
      {by_k, "join: {with: right, key: [/k], tumbling: 10s}", "in by /k list with right by /k list<"},
      {by_k, "input: right, join: {with: in, key: /k, tumbling: 10s}", "right by /k with in by /k<"},
      {"join: {with: right, key: {left: /k, right: /id}, between: {from: 0s, to: 1s}}",
       "join: {with: right, key: {left: /k, right: /k}, between: {from: 0s, to: 1s}}",
       "in by /k with right by /id<"},
      {table + "/id}}", table + "/k}}", "right by /id<"},
      {table + "/id}}", table + "{from: record}}}", "right by the record's key<"},
      {table + "/id}}", "input: right, lookup: {table: in, key: {row: /k, table: /id}}", "in by /id<"},
      {waits + "{row: /k, table: /id}}", waits + "{row: /id, table: /id}}",
       "in by /k in right by /id<"},
  };
  for (const auto& [before, after, named] : cases) {
    const Status started = taken_over(before, after);
    EXPECT_EQ(started.code(), Code::kCorrupt) << before << " -> " << after;
    EXPECT_THAT(std::string(started.message()), HasSubstr(named));
  }
  // A row's key is no state of a table; an operator may come between; names are of rows only.
  EXPECT_TRUE(taken_over(table + "/id}}", "lookup: {table: right, key: /id}").ok());
  EXPECT_TRUE(taken_over(by_k, "input: new, join: {with: right, key: /k, tumbling: 10s, as: {left: "
                               "l}}}\n  new: {input: in, print: {}")
                  .ok());
}

TEST(Joined, ATombstoneOfATableThatIsTimedByAFieldHasKafkasTime) {
  const std::string op =
      "lookup: {table: right, key: {row: /c, table: {from: record}}, kind: left, time_to_live: 1h}";
  JoinJob job(op);
  ASSERT_TRUE(job.start(1).ok());
  ASSERT_TRUE(job.right(kafka_record("7", R"({"n":1,"ts":1000})", 1)).ok());
  ASSERT_TRUE(job.left({R"({"c":7,"ts":2000})"}).ok());
  const Status gone = job.right(kafka_record("7", {}, 3000));
  ASSERT_TRUE(gone.ok()) << gone.message();
  ASSERT_TRUE(job.left({R"({"c":7,"ts":4000})"}).ok());
  EXPECT_THAT(job.out(),
              ElementsAre(R"({"key":"7","row":{"c":7,"ts":2000},"table":{"n":1,"ts":1000}})",
                          R"({"key":"7","row":{"c":7,"ts":4000},"table":null})"));
  EXPECT_THAT(std::string(job.right(kafka_record("7", {})).message()),
              AllOf(HasSubstr("(a tombstone), and it has no timestamp of Kafka"),
                    HasSubstr("in a pipeline file skip")));
}

TEST(Joined, ATombstoneOfATableByAFieldIsToldOfTheOtherKey) {
  JoinJob job("lookup: {table: right, key: {row: /c, table: /id}}", OnError::kFail, false);
  ASSERT_TRUE(job.start(1).ok());
  EXPECT_THAT(std::string(job.right(kafka_record("7", {})).message()),
              HasSubstr("key: {table: {from: record}}"));
}

TEST(Joined, NumbersThatADoubleCannotTellApartStayAsTheyAreWritten) {
  JoinJob job("join: {with: right, key: /k, between: {from: 0s, to: 0s}}");
  ASSERT_TRUE(job.start(1).ok());
  ASSERT_TRUE(job.left({R"({"k":1e400,"ts":0})", R"({"k":9007199254740992,"ts":0})",
                        R"({"k":9007199254740992.0,"ts":0})", R"({"k":15e-1,"ts":0})",
                        R"({"k":9007199254740991.0,"ts":0})"})
                  .ok());
  ASSERT_TRUE(job.right({R"({"k":2e400,"ts":0})", R"({"k":9007199254740993.0,"ts":0})"}).ok());
  EXPECT_THAT(job.out(), IsEmpty());
  ASSERT_TRUE(job.right({R"({"k":1e400,"ts":0})", R"({"k":1.5,"ts":0})",
                         R"({"k":9007199254740991,"ts":0})"})
                  .ok());
  EXPECT_THAT(
      job.out(),
      ElementsAre(R"({"key":1.5,"left":{"k":15e-1,"ts":0},"right":{"k":1.5,"ts":0}})",
                  R"({"key":1e400,"left":{"k":1e400,"ts":0},"right":{"k":1e400,"ts":0}})",
                  R"({"key":9007199254740991,"left":{"k":9007199254740991.0,"ts":0},"right":{"k":)"
                  R"(9007199254740991,"ts":0}})"));
}

TEST(Joined, AFieldThatIsMissingIsRefusedWhereverItStandsInTheKey) {
  JoinJob job("join: {with: right, key: [/a, /b], between: {from: 0s, to: 0s}, kind: left}");
  ASSERT_TRUE(job.start(1).ok());
  ASSERT_TRUE(
      job.left({R"({"a":null,"ts":1})", R"({"b":null,"ts":1})", R"({"a":null,"b":1,"ts":1})"}).ok());
  ASSERT_TRUE(job.end().ok());
  EXPECT_THAT(job.out(),
              ElementsAre(R"({"key":null,"left":{"a":null,"b":1,"ts":1},"right":null})"));
  EXPECT_THAT(job.refused(), ElementsAre(R"({"a":null,"ts":1})", R"({"b":null,"ts":1})"));
}

/// Rows of a file are whole documents, and the bound counts rows: 5 million of 2 KB are 10 GB.
TEST(Joined, RowsAtOnceAreBoundedLowerThanInTheEngine) {
  const std::string source = "{kafka: {connection: main, topics: [in], group: g}, format: json}";
  const Loaded loaded = load_text(
      Parts{.source = source + "\n  pays: " + source,
            .operators = "operators:\n  op: {input: in, join: {with: pays, key: /k, tumbling: 1m}}\n"}
          .text(),
      "p.yaml", ".", {});
  const Result<JoinPlan> plan = join_plan(loaded.pipeline.operators.front());
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->bounds.results_at_once_max, 200'000u);
  EXPECT_EQ(join_section().find("results_at_once_max")->fallback, "200000");
}

TEST(Joined, LinesThatAreRowsAreTimedByTheFieldOfTheSource) {
  const std::string source =
      "{kafka: {connection: main, topics: [in], group: g}, format: json, time: {field: /ts}}";
  const Loaded loaded = load_text(
      Parts{.source = source + "\n  pays: " + source,
            .operators =
                "operators:\n  x: {input: in, lookup: {table: pays, kind: left, key: {row: /k, "
                "table: {from: record}}, time_to_live: 1h}}\n"
                "  op: {input: x, window: {key: /row/k, tumbling: 1m, aggregate: {n: count}}}\n",
            .sink = "{input: op, kafka: {connection: main, topic: out}}",
            .more = R"(tests:
  - {target: op, input: ['{"ts":5,"row":{"k":1}}'], expect: ['{"key":1,"window_start":0,"window_end":60000,"n":1}']}
  - {target: op, input: ['{"row":{"k":1,"ts":5}}'], expect: []}
  - target: x
    input: [{pays: {key: a, value: '{"ts":1}'}}, {pays: {key: a}}, {in: '{"k":"a","ts":9000}'}]
    expect: ['{"key":"a","row":{"k":"a","ts":9000},"table":null}']
)"}
          .text(),
      "p.yaml", ".", {});
  for (const Problem& problem : loaded.problems.sorted()) ADD_FAILURE() << problem.text();
  const std::vector<TestOutcome> outcomes = run_tests(loaded.pipeline);
  ASSERT_EQ(outcomes.size(), 3u);
  EXPECT_EQ(outcomes[0].failure, "");
  EXPECT_THAT(outcomes[1].failure, HasSubstr("give them that field too"));
  EXPECT_EQ(outcomes[2].failure, "");
}

// ---- what is wrong in the file ----

std::string problems_in(const std::string& op, const std::string& more = "") {
  const std::string source =
      "{kafka: {connection: main, topics: [in], group: g}, format: json, time: {field: /ts}}";
  return testing::problems_of(Parts{.source = source + "\n  pays: " + source,
                                    .operators = "operators:\n  op: {input: in, " + op + "}\n",
                                    .sink = "{input: op, kafka: {connection: main, topic: out}}",
                                    .more = more}
                                  .text());
}

using testing::BadCase;
class BadJoin : public ::testing::TestWithParam<BadCase> {};
TEST_P(BadJoin, IsRefusedWithItsPlace) {
  EXPECT_EQ(problems_in(GetParam().text), GetParam().problems);
}
INSTANTIATE_TEST_SUITE_P(
    Operators, BadJoin,
    ::testing::Values(
        BadCase{"second_input_that_is_misspelt", "join: {with: [pays, pay], key: /k, tumbling: 1m}",
                "p.yaml:9:39: error E012: there is no source or operator \"pay\"; did you mean "
                "\"pays\"?\n"},
        BadCase{"table_that_is_misspelt", "lookup: {table: [pays, op2], key: /k}",
                "p.yaml:9:42: error E012: there is no source or operator \"op2\"; did you mean "
                "\"op\"?\n"},
        BadCase{"no_second_input", "join: {key: /k, tumbling: 1m}",
                "p.yaml:7:3: error E014: nothing reads the source \"pays\"; name it as an input, or "
                "remove it\n"
                "p.yaml:9:25: error E009: operators.op.join has no key \"with\"; add with: "
                "payments\n"},
        BadCase{"circle", "join: {with: [pays, op], key: /k, tumbling: 1m}",
                "p.yaml:9:3: error E013: records would flow in a circle: op -> op\n"},
        BadCase{"no_bounds", "join: {with: pays, key: /k}",
                "p.yaml:9:25: error E009: operators.op.join has none of the keys between, tumbling, "
                "sliding; exactly one is needed\n"},
        BadCase{"half_of_the_bounds", "join: {with: pays, key: /k, between: {from: -1m}}",
                "p.yaml:9:56: error E009: operators.op.join.between has no key \"to\"; add to: "
                "30m\n"},
        BadCase{"no_key", "join: {with: pays, tumbling: 1m}",
                "p.yaml:9:25: error E009: operators.op.join has no key \"key\"; add key: {left: "
                "/id, right: /order}\n"},
        BadCase{"null_key", "lookup: {table: pays, key: }",
                "p.yaml:9:41: error E007: operators.op.lookup.key has no value; give it a text, a "
                "list or a map of row, table, or remove the key\n"},
        BadCase{"key_of_one_side", "join: {with: pays, key: {left: /k}, tumbling: 1m}",
                "p.yaml:9:43: error E009: operators.op.join.key has no key \"right\"; add right: "
                "/order\n"},
        BadCase{"keys_of_two_lengths",
                "join: {with: pays, key: {left: [/a, /b], right: [/a]}, tumbling: 1m}",
                "p.yaml:9:25: error E020: operators.op.join: key: left has 2 fields and right has 1; "
                "keys of different lengths are never equal\n"},
        BadCase{"a_list_and_none", "join: {with: pays, key: {left: [/a], right: /a}, tumbling: 1m}",
                "p.yaml:9:25: error E020: operators.op.join: key: one of left and right is a list, "
                "which never equals one that is not; write both in one way\n"},
        BadCase{"bounds_the_wrong_way_round",
                "join: {with: pays, key: /k, between: {from: 1m, to: -1m}}",
                "p.yaml:9:25: error E020: operators.op.join: between: from 1m to -1m is empty: the "
                "earlier bound comes first\n"},
        BadCase{"bounds_of_parts_of_a_millisecond",
                "join: {with: pays, key: /k, between: {from: -1500us, to: 1m}}",
                "p.yaml:9:25: error E020: operators.op.join: from is -1500us, but event time has "
                "whole milliseconds\n"},
        BadCase{"windows_with_gaps",
                "join: {with: pays, key: /k, sliding: {size: 1m, slide: 2m}}",
                "p.yaml:9:25: error E020: operators.op.join: windows of 60000 ms every 120000 ms: "
                "records between two windows would be in none; make the slide as long as the window "
                "at most, or filter before\n"},
        BadCase{"kind_that_is_none", "lookup: {table: pays, key: /k, kind: full}",
                "p.yaml:9:56: error E008: operators.op.lookup.kind is \"full\", but possible is "
                "inner, left or waiting\n"},
        BadCase{"one_name_for_both", "join: {with: pays, key: /k, tumbling: 1m, as: {left: right}}",
                "p.yaml:9:25: error E020: operators.op.join: as: both sides are called \"right\" in "
                "the row; give them two names\n"},
        BadCase{"name_of_the_row_itself",
                "join: {with: pays, key: /k, tumbling: 1m, as: {left: window_end}}",
                "p.yaml:9:25: error E020: operators.op.join: as: \"window_end\" is a field of the "
                "row itself; give the side another name\n"},
        BadCase{"rows_that_wait_and_die",
                "lookup: {table: pays, key: /k, kind: waiting, time_to_live: 1h}",
                "p.yaml:9:27: error E020: operators.op.lookup: time_to_live would take away rows "
                "that wait; use it with kind: inner or left\n"},
        BadCase{"bound_without_effect", "lookup: {table: pays, key: /k, waiting_rows_max: 5}",
                "p.yaml:9:27: error E020: operators.op.lookup: waiting_rows_max has no effect "
                "without kind: waiting; remove one or add the other\n"},
        BadCase{"bound_of_nothing",
                "join: {with: pays, key: /k, tumbling: 1m, buffered_rows_max: 0}",
                "p.yaml:9:80: error E008: operators.op.join.buffered_rows_max is 0, but 1 to "
                "1000000000000 is possible\n"}),
    testing::name_of);

TEST(BadJoins, OneWithoutTimeNamesTheSideThatHasNone) {
  const std::string text =
      Parts{.source = "{kafka: {connection: main, topics: [in], group: g}, format: json, time: "
                      "{field: /ts}}\n  "
                      "pays: {kafka: {connection: main, topics: [p], group: g}, format: json}",
            .operators =
                "operators:\n  op: {input: in, join: {with: pays, key: /k, tumbling: 1m}}\n",
            .sink = "{input: op, kafka: {connection: main, topic: out}}"}
          .text();
  EXPECT_THAT(testing::problems_of(text),
              HasSubstr("p.yaml:9:3: error E024: operator \"op\" (join) needs event time, and its "
                        "source \"pays\" has none; give pays a time:"));
}

TEST(BadJoins, SourcesThatMayHaveWhatIsNoJsonAreNamed) {
  const auto with = [](const std::string& op) {
    const std::string source = "{kafka: {connection: main, topics: [in], group: g}, time: {field: /ts}";
    return testing::problems_of(
        Parts{.source = source + "}\n  pays: " + source + ", format: string}",
              .operators = "operators:\n  rows: {input: in, print: {}}\n" + op,
              .sink = "{input: op, kafka: {connection: main, topic: out}}"}
            .text());
  };
  EXPECT_EQ(with("  op: {input: rows, join: {with: pays, key: /k, tumbling: 1m}}\n"),
            "p.yaml:6:3: error E025: operator \"op\" (join) copies whole JSON documents, and source "
            "\"in\" has format bytes; give in format: json\n"
            "p.yaml:7:3: error E025: operator \"op\" (join) copies whole JSON documents, and source "
            "\"pays\" has format string; give pays format: json\n");
  // Rows of a window are JSON whatever it was made of.
  EXPECT_EQ(with("  w: {input: rows, window: {key: /k, tumbling: 1m, aggregate: {n: count}}}\n"
                 "  op: {input: w, lookup: {table: pays, key: /k}}\n"),
            "p.yaml:7:3: error E025: operator \"op\" (lookup) copies whole JSON documents, and "
            "source \"pays\" has format string; give pays format: json\n");
}

TEST(BadJoins, NamesOfTheirOwnPartsAreTaken) {
  const auto with = [](const std::string& op, const std::string& name) {
    return problems_in(op + "}\n  " + name + ": {input: op, print: {}");
  };
  const std::string join = "join: {with: pays, key: /k, tumbling: 1m}";
  const std::string lookup = "lookup: {table: pays, key: /k}";
  EXPECT_THAT(with(join, "op.rows"),
              HasSubstr("p.yaml:10:3: error E015: the name \"op.rows\" is that of a part of \"op\"; "
                        "give it another\n"));
  EXPECT_THAT(with(join, "op.left.key"), HasSubstr("E015"));
  EXPECT_THAT(with(lookup, "op.table.fields"), HasSubstr("E015"));
  EXPECT_THAT(with(lookup, "pays.time"), HasSubstr("is that of a part of \"pays\""));
  EXPECT_THAT(with(lookup, "op.left.key"), Not(HasSubstr("E015")));
  EXPECT_THAT(with("deduplicate: {key: /k, within: 1h}", "op.firsts"), HasSubstr("E015"));
}

TEST(BadJoins, TwoOperatorsWithOneId) {
  EXPECT_THAT(problems_in("join: {with: pays, key: /k, tumbling: 1m}}\n  op: {input: in, print: {}"),
              HasSubstr("p.yaml:10:3: error E005: key \"op\" stands here a second time; the first "
                        "one is at p.yaml:9:3"));
  EXPECT_THAT(problems_in("join: {with: pays, key: /k, tumbling: 1m}}\n  pays: {input: op, print: {}"),
              HasSubstr("error E015: the name \"pays\" is used twice"));
}

TEST(BadJoins, LinesOfATestSayWhichInputTheyAreOf) {
  const std::string op = "join: {with: pays, key: /k, tumbling: 1m}";
  const auto with_lines = [&](const std::string& lines) {
    return problems_in(op, "tests:\n  - {target: op, input: [" + lines + "], expect: []}\n");
  };
  EXPECT_EQ(with_lines("{in: a}, {pays: {key: k, value: v}}, {pays: {}}"), "");
  EXPECT_EQ(with_lines("a"),
            "p.yaml:13:26: error E007: \"op\" has two inputs, so each line says which it is of, and "
            "is one record; write {in: '…'}\n");
  EXPECT_THAT(with_lines("{in: a, pays: b}"), HasSubstr("p.yaml:13:26: error E007: "));
  EXPECT_EQ(with_lines("{pay: a}"),
            "p.yaml:13:27: error E012: there is no input of \"op\" called \"pay\"; did you mean "
            "\"pays\"?\n");
  EXPECT_EQ(problems_in("print: {}}\n  o2: {input: [pays, op], print: {}",
                        "tests:\n  - {target: op, input: [{in: a}], expect: []}\n"),
            "p.yaml:10:3: error E014: nothing reads the operator \"o2\"; name it as an input, or "
            "remove it\n"
            "p.yaml:14:26: error E007: this line says which input it is of, but \"op\" has only "
            "one; write the value alone\n");
}

}  // namespace
}  // namespace sluice::tools
