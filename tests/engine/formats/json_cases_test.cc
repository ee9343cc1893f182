// Goal: cases that users meet (S46 to S50), as far as they are about values of JSON documents.
// Method: whole jobs in this process, from given records to functions, decided in a temporary
// directory.
#include "../../support/jobs.h"

#include <sluice/engine/formats/json_filter.h>
#include <sluice/engine/formats/json_replace.h>
#include <sluice/engine/formats/json_select.h>
#include <sluice/engine/formats/json_set.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "records.h"
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

namespace sluice {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using sluice::jobs_test::Directory;
using Comparison = JsonCondition::Comparison;

/// Values that came out, or values and headers.
struct Collected {
  std::mutex mutex;
  std::vector<std::string> texts;
  std::shared_ptr<Sink<Record>> values() {
    return for_each<Record>([this](const Record& record) {
      const std::lock_guard lock(mutex);
      texts.push_back(record.value.null() ? "(null)" : std::string(record.value.view()));
    });
  }
  std::shared_ptr<Sink<Record>> with_headers() {
    return for_each<Record>([this](const Record& record) {
      std::string text(record.value.view());
      for (const Header& header : record.headers) {
        text += fmt::format("|{}={}", header.name, header.value.view());
      }
      const std::lock_guard lock(mutex);
      texts.push_back(std::move(text));
    });
  }
};

std::vector<Record> records(const std::vector<std::string_view>& values) {
  std::vector<Record> made;
  for (const std::string_view value : values) {
    made.push_back(record_of(value));
    made.back().offset = Offset(static_cast<std::int64_t>(made.size()) - 1);
    made.back().time = EventTime(std::chrono::milliseconds(1'000 + made.size()));
  }
  return made;
}

struct Rig {
  Directory directory;
  Collected out, rejected;
  Job job{"cases"};
  Rig() { job.checkpoint({.interval = 1h, .directory = directory.path}); }
  Status end() {
    Result<Running> running = Engine().start(std::move(job));
    if (!running.ok()) return running.status();
    return running->wait();
  }
};

JsonSet touch() { return JsonSet({.path = "/seen", .value = "1"}); }

// ---- S46: one bad record ----

const Header kTrace{"trace", Bytes("t2")};
std::vector<Record> one_bad_record() {
  auto made = records({R"({"id":1})", R"({"id":2)", "", R"({"id":4})"});
  made[1].headers = {&kTrace, 1};
  made.push_back(Record());  // A null value is not an empty value and not bad.
  return made;
}

TEST(JsonCases, S46FailNamesThePlaceAndTheByte) {
  Rig rig;
  rig.job.from(from_values(one_bad_record())).apply("touch", touch()).to(rig.out.values());
  const Status ended = rig.end();
  EXPECT_EQ(ended.code(), Code::kCorrupt) << ended.to_string();
  EXPECT_THAT(
      std::string(ended.message()),
      HasSubstr(
          "operator \"touch\" cannot take the record of values partition 0 offset 1: not JSON: the "
          "text ends too early at byte 7 of 7 (on_error = skip leaves such records out"));
}

TEST(JsonCases, S46FailAsAFusedFunction) {
  Rig rig;
  rig.job.from(from_values(one_bad_record())).map(touch()).name("touch").to(rig.out.values());
  const Status ended = rig.end();
  EXPECT_EQ(ended.code(), Code::kCorrupt) << ended.to_string();
  EXPECT_THAT(std::string(ended.message()), HasSubstr("values partition 0 offset 1: not JSON"));
}

TEST(JsonCases, S46SkipLeavesThemOut) {
  Rig rig;
  rig.job.from(from_values(one_bad_record()))
      .apply("touch", touch(), OnError::kSkip)
      .to(rig.out.values());
  const Status ended = rig.end();
  ASSERT_TRUE(ended.ok()) << ended.to_string();
  EXPECT_THAT(rig.out.texts, ElementsAre(R"({"id":1,"seen":1})", R"({"id":4,"seen":1})", "(null)"));
}

TEST(JsonCases, S46RejectedRecordsKeepBytesAndHeaders) {
  Rig rig;
  auto touched =
      rig.job.from(from_values(one_bad_record())).apply("touch", touch(), OnError::kReject);
  touched.to(rig.out.values());
  touched.rejected().to(rig.rejected.with_headers());
  const Status ended = rig.end();
  ASSERT_TRUE(ended.ok()) << ended.to_string();
  EXPECT_THAT(rig.out.texts, ElementsAre(R"({"id":1,"seen":1})", R"({"id":4,"seen":1})", "(null)"));
  EXPECT_THAT(
      rig.rejected.texts,
      ElementsAre(
          R"({"id":2|trace=t2|sluice.error=not JSON: the text ends too early at byte 7 of 7)"
          "|sluice.source.topic=values|sluice.source.partition=0|sluice.source.offset=1"
          "|sluice.source.timestamp=1002",
          "|sluice.error=not JSON: an empty text at byte 0 of 0|sluice.source.topic=values"
          "|sluice.source.partition=0|sluice.source.offset=2|sluice.source.timestamp=1003"));
}

TEST(JsonCases, S46RejectedWithoutAReaderIsRefusedAtTheStart) {
  Rig rig;
  rig.job.from(from_values(one_bad_record()))
      .apply("touch", touch(), OnError::kReject)
      .to(rig.out.values());
  const Status ended = rig.end();
  EXPECT_EQ(ended.code(), Code::kInvalid);
  EXPECT_THAT(std::string(ended.message()),
              HasSubstr("\"touch\": rejects records, but nobody reads them"));
  EXPECT_TRUE(rig.out.texts.empty());
}

TEST(JsonCases, WhatIsWrongWithAnOperatorIsToldBeforeTheFirstRecord) {
  Rig fused, applied;
  fused.job.from(from_values(one_bad_record()))
      .map(JsonSet({.path = "x", .value = "1"}))
      .to(fused.out.values());
  applied.job.from(from_values(one_bad_record()))
      .apply("set", JsonSet({.path = "x", .value = "1"}))
      .to(applied.out.values());
  EXPECT_THAT(std::string(fused.job.check().message()),
              HasSubstr("json_set: path: JSON pointer \"x\""));
  EXPECT_THAT(std::string(applied.job.check().message()),
              HasSubstr("\"set\": json_set: path: JSON pointer \"x\""));
}

// ---- S47: integers above 2^53 ----

TEST(JsonCases, S47DigitsOfIntegersStay) {
  const std::vector<std::string_view> ids = {
      R"({"id":9007199254740993,"u":"/1"})", R"({"id":73314510714175488,"u":"/1"})",
      R"({"id":-9223372036854775808,"u":"/1"})", R"({"id":9223372036854775807,"u":"/1"})",
      R"({"id":18446744073709551615,"u":"/1"})"};
  Rig rig;
  rig.job.from(from_values(records(ids)))
      .map(JsonReplace({.path = "/u", .rules = {{"\\d", "x"}}}))
      .map(JsonSet({.path = "/n", .value = "9007199254740993"}))
      .filter(JsonFilter(json_not(json_compare("/id", Comparison::kEqual, 9007199254740992))))
      .filter(JsonFilter(json_compare("/n", Comparison::kEqual, 9007199254740993)))
      .map(JsonSelect({.fields = {{"id", "/id"}}}))
      .to(rig.out.values());
  const Status ended = rig.end();
  ASSERT_TRUE(ended.ok()) << ended.to_string();
  EXPECT_THAT(rig.out.texts,
              ElementsAre(R"({"id":9007199254740993})", R"({"id":73314510714175488})",
                          R"({"id":-9223372036854775808})", R"({"id":9223372036854775807})",
                          R"({"id":18446744073709551615})"));
}

// ---- S48: framing of a schema registry ----

TEST(JsonCases, S48FramingIsNamedWithItsSchema) {
  const std::string framed("\0\0\0\0\x2a{\"id\":1}", 13);
  Rig rig;
  auto touched = rig.job.from(from_values(records({framed, R"({"id":2})"})))
                     .apply("touch", touch(), OnError::kReject);
  touched.to(rig.out.values());
  touched.rejected().to(rig.rejected.with_headers());
  ASSERT_TRUE(rig.end().ok());
  EXPECT_THAT(rig.out.texts, ElementsAre(R"({"id":2,"seen":1})"));
  ASSERT_EQ(rig.rejected.texts.size(), 1u);
  EXPECT_THAT(rig.rejected.texts[0], HasSubstr("schema id 42"));
  EXPECT_THAT(rig.rejected.texts[0], HasSubstr("Framing::kConfluent"));
}

// ---- S49: Unicode in names and values ----

TEST(JsonCases, S49EscapedAndRawAreTheSameAndBrokenOnesAreBad) {
  const std::vector<std::string_view> lines = {"\xEF\xBB\xBF{\"k\":\"\\u00e9\",\"v\":1}",
                                               R"({"k":"é","v":1})",
                                               "{\"k\":\"e\xCC\x81\",\"v\":1}",
                                               R"({"k":"\ud83d\ude00","v":1})",
                                               R"({"k":"😀","v":1})",
                                               R"({"k":"\ud83d","v":1})",
                                               "{\"k\":\"\xC3\x28\",\"v\":1}"};
  const auto count = [&](const char* k) {
    Rig rig;
    auto found =
        rig.job.from(from_values(records(lines)))
            .apply("k", JsonFilter(json_compare("/k", Comparison::kEqual, k)), OnError::kReject);
    found.to(rig.out.values());
    found.rejected().to(rig.rejected.values());
    EXPECT_TRUE(rig.end().ok());
    EXPECT_EQ(rig.rejected.texts.size(), 2u);
    return rig.out.texts.size();
  };
  EXPECT_EQ(count("é"), 2u);
  EXPECT_EQ(count("e\xCC\x81"), 1u);
  EXPECT_EQ(count("😀"), 2u);
}

TEST(JsonCases, S49ANameGivenTwiceFollowsOneRuleInAllSteps) {
  const std::string document = R"({"k":"first","k":"second"})";
  JsonFilter filter(json_compare("/k", Comparison::kEqual, "first"));
  EXPECT_EQ(made_of(filter, document), document);
  JsonSelect select({.fields = {{"k", "/k"}}});
  EXPECT_EQ(made_of(select, document), R"({"k":"first"})");
  JsonReplace replace({.path = "/k", .rules = {{".*", "x"}}});
  EXPECT_EQ(made_of(replace, document), R"({"k":"x","k":"second"})");
  JsonSet set({.path = "/k", .value = "0"});
  EXPECT_EQ(made_of(set, document), R"({"k":0,"k":"second"})");
}

// ---- S50: missing, null and zero ----

TEST(JsonCases, S50MissingNullAndZeroStayThreeThings) {
  const std::vector<std::string_view> rows = {R"({"k":"a"})", R"({"k":"a","v":null})",
                                              R"({"k":"a","v":0})", R"({"k":"a","v":10})"};
  const auto count = [&](JsonCondition condition) {
    JsonFilter filter(std::move(condition));
    std::size_t passed = 0;
    for (const std::string_view row : rows) passed += *filter(record_of(row)) ? 1 : 0;
    return passed;
  };
  EXPECT_EQ(count(json_exists("/k")), 4u);
  EXPECT_EQ(count(json_exists("/v")), 3u);
  EXPECT_EQ(count(json_compare("/v", Comparison::kEqual, JsonLiteral())), 1u);
  EXPECT_EQ(count(json_compare("/v", Comparison::kEqual, 0)), 1u);
  EXPECT_EQ(count(json_compare("/v", Comparison::kGreaterOrEqual, 0)), 2u);
  EXPECT_EQ(count(json_compare("/v", Comparison::kLess, 1)), 1u);
}

}  // namespace
}  // namespace sluice
