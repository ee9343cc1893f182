// Goal: what goes aside is as exact as what goes on: in front of the same barrier, with its memory,
// at every call. Method: one operator's tail by hand, and a graph that is only checked.
#include <sluice/engine/collection.h>
#include <sluice/engine/job.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sluice::internal {
namespace {

using Log = std::vector<std::string>;

struct Recorder final : Tail<std::string_view> {
  Recorder(Log& the_log, std::string the_name) : log(the_log), name(std::move(the_name)) {}
  asio::awaitable<Status> open() override {
    log.push_back(name + " open");
    co_return Status();
  }
  asio::awaitable<Status> push(Batch<std::string_view> batch) override {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      std::string line = name + " " + std::string(batch[i]);
      if (!batch.times().empty())
        line += fmt::format("@{}", batch.times()[i].time_since_epoch().count());
      log.push_back(std::move(line));
    }
    kept.push_back(std::move(batch));
    co_return Status();
  }
  asio::awaitable<Status> control(Control control, CheckpointData&) override {
    log.push_back(name + (control.kind == Control::Kind::kBarrier ? " barrier" : " end"));
    co_return Status();
  }
  asio::awaitable<Status> wake() override {
    log.push_back(name + " wake");
    co_return Status();
  }
  void notify(Epoch, bool complete) override {
    log.push_back(name + (complete ? " complete" : " aborted"));
  }
  asio::awaitable<Status> close() override {
    log.push_back(name + " close");
    co_return Status();
  }
  Log& log;
  std::string name;
  std::vector<Batch<std::string_view>> kept;
};

/// Odd numbers go on, even ones aside; the last one comes when the input ends.
struct OddOn final : SideOperator<int, std::string_view, std::string_view> {
  Status process(const Batch<int>& batch, Collector<std::string_view>& out) override {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (out.timed()) out.set_time(batch.times()[i]);
      if (batch[i] % 2 == 1) {
        out.emit(out.arena().copy(std::to_string(batch[i])));
      } else {
        side().emit(side().arena().copy(std::to_string(batch[i])), batch.times()[i]);
      }
    }
    return {};
  }
  Status end_of_input(Collector<std::string_view>&) override {
    side().emit("last");
    return {};
  }
};

struct Rig {
  Log log;
  Recorder* main = nullptr;
  Recorder* aside = nullptr;
  std::unique_ptr<Tail<int>> tail;
  explicit Rig(std::unique_ptr<SideOperator<int, std::string_view, std::string_view>> op =
                   std::make_unique<OddOn>()) {
    auto one = std::make_unique<Recorder>(log, "on");
    auto other = std::make_unique<Recorder>(log, "aside");
    main = one.get();
    aside = other.get();
    auto exit = std::make_unique<SideExitTo<int, std::string_view, std::string_view>>(
        *op, std::move(other));
    Context context;
    context.operator_id = "odd";
    tail = std::make_unique<OperatorTail<int, std::string_view>>(context, nullptr, std::move(op),
                                                                 std::move(one), std::move(exit));
  }
  template <class Call>
  void run(Call call) {
    asio::io_context loop;
    Status ended;
    asio::co_spawn(loop, call(), [&](std::exception_ptr thrown, Status status) {
      if (thrown) std::rethrow_exception(thrown);
      ended = std::move(status);
    });
    loop.run();
    EXPECT_TRUE(ended.ok()) << ended.to_string();
  }
};

Batch<int> batch_of(std::vector<int> values) {
  Batch<int> batch;
  for (const int value : values)
    batch.times().push_back(EventTime(std::chrono::milliseconds(value)));
  batch.records() = std::move(values);
  return batch;
}

TEST(SideOutput, BothWaysGetTheirRecordsInFrontOfTheSameBarrier) {
  Rig rig;
  CheckpointData acknowledged;
  rig.run([&] { return rig.tail->open(); });
  rig.run([&] { return rig.tail->push(batch_of({1, 2, 3, 4})); });
  rig.run([&] {
    return rig.tail->control({Control::Kind::kBarrier, Epoch(1), kNoEventTime}, acknowledged);
  });
  rig.run([&] { return rig.tail->push(batch_of({5})); });
  rig.run([&] { return rig.tail->wake(); });
  rig.tail->notify(Epoch(1), true);
  rig.run([&] {
    return rig.tail->control({Control::Kind::kEnd, Epoch(0), kNoEventTime}, acknowledged);
  });
  rig.run([&] { return rig.tail->close(); });
  EXPECT_EQ(rig.log, (Log{"on open", "aside open", "on 1@1", "on 3@3", "aside 2@2", "aside 4@4",
                          "on barrier", "aside barrier", "on 5@5", "on wake", "aside wake",
                          "on complete", "aside complete", "aside last", "on end", "aside end",
                          "on close", "aside close"}));
}

TEST(SideOutput, WhatWentAsideKeepsItsMemory) {
  auto split = [](int value, Arena& arena, auto& out, auto& side) {
    const std::string_view text = arena.copy(std::string(100, static_cast<char>('a' + value % 26)));
    out(text);
    if (value % 2 == 0) side(text);
  };
  Rig rig(std::make_unique<SplitOperator<int, std::string_view, std::string_view, decltype(split)>>(
      split));
  std::vector<int> values;
  for (int i = 0; i < 3'000; ++i) values.push_back(i);
  rig.run([&] { return rig.tail->push(batch_of(values)); });
  // Given that all else of the batch is gone,
  rig.main->kept.clear();
  // then all bytes are there, in batches of the usual size.
  std::size_t seen = 0;
  for (const auto& batch : rig.aside->kept) {
    EXPECT_LE(batch.size(), Batch<int>::kRecordsMax);
    ASSERT_EQ(batch.times().size(), batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i, ++seen) {
      EXPECT_EQ(batch[i], std::string(100, static_cast<char>('a' + 2 * seen % 26)));
      EXPECT_EQ(batch.times()[i], EventTime(std::chrono::milliseconds(2 * seen)));
    }
  }
  EXPECT_EQ(seen, 1'500u);
}

TEST(SideOutput, IsPartOfTheGraph) {
  Job job{"split"};
  auto halves = job.from(from_values(std::vector<int>{1, 2, 3}))
                    .split<int, std::string>("halves", [](int, Arena&, auto&, auto&) {});
  halves.to(for_each<int>([](const int&) {}), "main");
  halves.side()
      .map([](const std::string& text) { return text.size(); })
      .to(for_each<std::size_t>([](const std::size_t&) {}), "side");
  EXPECT_TRUE(job.check().ok()) << job.check().to_string();
  EXPECT_NE(job.plan().find("split      halves <- source-1"), std::string::npos) << job.plan();
}

/// Refuses what is negative.
struct NoNegatives {
  Outcome apply(const Record& in, Arena&, Record&) {
    return in.offset < Offset(0) ? Outcome::kRefused : Outcome::kPassed;
  }
  Status why(const Record&) const { return Status(Code::kCorrupt, "negative"); }
  Status check() const { return fault; }
  Status fault;
};

TEST(SideOutput, AFaultyStepIsFoundWhenTheJobIsChecked) {
  Job job{"faulty"};
  job.from(from_values(std::vector<Record>(1)))
      .apply("positive", NoNegatives{Status(Code::kInvalid, "no such thing")})
      .to(for_each<Record>([](const Record&) {}));
  EXPECT_EQ(job.check().message(), "apply \"positive\": no such thing");
}

TEST(SideOutput, RejectedRecordsNeedAReader) {
  Job job{"unread"};
  auto positive = job.from(from_values(std::vector<Record>(1)))
                      .apply("positive", NoNegatives{}, OnError::kReject);
  positive.to(for_each<Record>([](const Record&) {}));
  EXPECT_EQ(job.check().code(), Code::kInvalid);
  EXPECT_NE(job.check().message().find("nobody reads them"), std::string_view::npos);
  positive.rejected().to(for_each<Record>([](const Record&) {}));
  EXPECT_TRUE(job.check().ok());
}

}  // namespace
}  // namespace sluice::internal
