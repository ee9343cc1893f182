#include <sluice/engine/collector.h>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Collector, CutsWhatIsTooMuchForOneBatch) {
  Batch<int> in;
  in.set_split(std::make_shared<const Split>(Split{"t", 4}));
  in.own(std::make_shared<const int>(7), 100);
  Collector<int> out(in);
  for (int i = 0; i < 2500; ++i) out.emit(i);
  const auto batches = out.take();
  ASSERT_EQ(batches.size(), 3u);
  int next = 0;
  for (const auto& batch : batches) {
    EXPECT_LE(batch.size(), Batch<int>::kRecordsMax);
    EXPECT_EQ(batch.split()->partition, 4);
    EXPECT_EQ(batch.memory().size(), 1u);
    for (const int value : batch) EXPECT_EQ(value, next++);
  }
  EXPECT_EQ(next, 2500);
}

TEST(Collector, GivesNothingWhereNothingWasEmitted) {
  Collector<int> out;
  EXPECT_TRUE(out.take().empty());
}

TEST(Collector, CarriesTheTimeOfTheRecordThatIsProcessed) {
  Batch<int> in;
  in.records() = {1, 2};
  in.times() = {EventTime(EventDuration(10)), EventTime(EventDuration(20))};
  Collector<int> out(in);
  for (std::size_t i = 0; i < in.size(); ++i) {
    out.set_time(in.times()[i]);
    out.emit(in[i]);
    out.emit(in[i]);
  }
  const auto batches = out.take();
  EXPECT_EQ(batches[0].times(), (std::vector<EventTime>{in.times()[0], in.times()[0], in.times()[1], in.times()[1]}));
}

TEST(Collector, ArenaLivesAsLongAsAnyOfTheResults) {
  std::string_view text;
  std::vector<Batch<std::string_view>> batches;
  {
    Batch<int> in;
    Collector<std::string_view> out(in);
    text = out.arena().copy("made here");
    for (int i = 0; i < 1500; ++i) out.emit(text);
    batches = out.take();
  }
  batches.erase(batches.begin());
  EXPECT_EQ(batches[0][0], "made here");
}

}  // namespace
}  // namespace sluice
