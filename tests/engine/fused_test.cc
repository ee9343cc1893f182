#include <sluice/engine/internal/fused.h>

#include <string>

#include <gtest/gtest.h>

namespace sluice::internal {
namespace {

template <class Out, class In, class... Steps>
std::vector<Out> run(std::vector<In> in, Steps... steps) {
  Fused<In, Out, Steps...> fused(std::make_tuple(std::move(steps)...));
  Batch<In> batch;
  batch.records() = std::move(in);
  Collector<Out> out(batch);
  EXPECT_TRUE(fused.process(batch, out).ok());
  std::vector<Out> results;
  for (auto& made : out.take()) results.insert(results.end(), made.begin(), made.end());
  return results;
}
template <class F>
MapStep<F> map(F f) {
  return {std::move(f)};
}
template <class F>
FilterStep<F> filter(F f) {
  return {std::move(f)};
}

TEST(Fused, StepsRunInTheOrderInWhichTheyWereWritten) {
  const auto results = run<std::string>(
      std::vector<int>{1, 2, 3, 4}, map([](int v) { return v * 10; }), filter([](int v) { return v != 20; }),
      map([](int v) { return std::to_string(v) + "!"; }));
  EXPECT_EQ(results, (std::vector<std::string>{"10!", "30!", "40!"}));
}

TEST(Fused, FlatMapEmitsAnyNumber) {
  auto repeat = [](int v, auto&& emit) {
    for (int i = 0; i < v; ++i) emit(v);
  };
  const auto results = run<int>(std::vector<int>{0, 1, 3}, FlatMapStep<decltype(repeat), int>{repeat});
  EXPECT_EQ(results, (std::vector<int>{1, 3, 3, 3}));
}

TEST(Fused, ResultsMayPointIntoTheArena) {
  auto shout = [](const std::string& v, Arena& arena) { return arena.copy(v + "!"); };
  Fused<std::string, std::string_view, MapStep<decltype(shout)>> fused(std::make_tuple(map(shout)));
  Batch<std::string> batch;
  batch.records() = {"a", "b"};
  Collector<std::string_view> out(batch);
  ASSERT_TRUE(fused.process(batch, out).ok());
  const auto made = out.take();
  batch = {};
  EXPECT_EQ(made[0][1], "b!");
}

TEST(Fused, AFailureOfAStepEndsTheBatchWithThePlace) {
  auto halve = [](const Record& r) {
    if (r.offset.value() == 2) return Result<Record>(Status(Code::kCorrupt, "is two"));
    return Result<Record>(r);
  };
  auto keep = [](const Record& r) -> Result<bool> { return r.offset.value() != 0; };
  Fused<Record, Record, FilterStep<decltype(keep)>, MapStep<decltype(halve)>> fused(std::make_tuple(filter(keep), map(halve)));
  Context context;
  context.operator_id = "halve";
  ASSERT_TRUE(fused.open(context).ok());
  Batch<Record> batch;
  batch.set_split(std::make_shared<const Split>(Split{"topic", 3}));
  batch.records().resize(4);
  for (int i = 0; i < 4; ++i) batch.records()[static_cast<std::size_t>(i)].offset = Offset(i);
  Collector<Record> out(batch);
  const Status failed = fused.process(batch, out);
  EXPECT_EQ(failed.code(), Code::kCorrupt);
  EXPECT_EQ(failed.message(), "operator \"halve\" cannot take the record of topic partition 3 offset 2: is two");
  EXPECT_EQ(out.take().front().size(), 1u);
}

struct Life {
  std::vector<std::string>* told;
  ListState<std::int32_t>* states = nullptr;
  int operator()(int v) const { return v; }
  Status open(const Context& context) {
    told->push_back("open " + context.operator_id);
    return {};
  }
  void close() { told->push_back("close"); }
  void declare(StateSet&) { told->push_back("declare"); }
  void snapshot_state(Epoch epoch) { told->push_back(fmt::format("snapshot {}", epoch)); }
  void notify_checkpoint_complete(Epoch epoch) { told->push_back(fmt::format("complete {}", epoch)); }
  void notify_checkpoint_aborted(Epoch epoch) { told->push_back(fmt::format("aborted {}", epoch)); }
};

TEST(Fused, TellsUserFunctionsAboutTheirLife) {
  std::vector<std::string> told;
  Fused<int, int, MapStep<Life>, FilterStep<bool (*)(const int&)>> fused(
      std::make_tuple(map(Life{&told}), filter(+[](const int&) { return true; })));
  EXPECT_TRUE(fused.kStateful);
  StateSet states;
  Context context;
  context.operator_id = "life";
  fused.declare(states);
  EXPECT_TRUE(fused.open(context).ok());
  fused.snapshot_state(Epoch(3));
  fused.notify_checkpoint_complete(Epoch(3));
  fused.notify_checkpoint_aborted(Epoch(4));
  fused.close();
  EXPECT_EQ(told, (std::vector<std::string>{"declare", "open life", "snapshot 3", "complete 3", "aborted 4", "close"}));
}

}  // namespace
}  // namespace sluice::internal
