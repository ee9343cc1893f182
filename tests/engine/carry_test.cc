// Goal: what crosses to another shard shows its own memory, the same bytes, and lets go of what it came from.
// Method: batches pushed into the sending end of an exchange, whose ports keep what they get.
#include <sluice/engine/carry.h>
#include <sluice/engine/internal/exchange.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/describe/class.hpp>
#include <gtest/gtest.h>

namespace sluice {

struct Told {
  int number = 0;
  std::string_view text;
  std::optional<Bytes> more;
};
BOOST_DESCRIBE_STRUCT(Told, (), (number, text, more))
struct Untold {
  std::string_view text;
};

namespace {

template <class T>
class Kept final : public internal::Tail<T> {
 public:
  explicit Kept(std::vector<Batch<T>>& into) : into_(into) {}
  asio::awaitable<Status> open() override { co_return Status(); }
  asio::awaitable<Status> push(Batch<T> batch) override {
    into_.push_back(std::move(batch));
    co_return Status();
  }
  asio::awaitable<Status> control(Control, CheckpointData&) override { co_return Status(); }
  asio::awaitable<Status> wake() override { co_return Status(); }
  void notify(Epoch, bool) override {}
  asio::awaitable<Status> close() override { co_return Status(); }

 private:
  std::vector<Batch<T>>& into_;
};

/// Spreads one batch over `shards` from shard 0; what each got.
template <class T, class F>
auto spread(Batch<T> batch, F key, std::uint16_t shards) {
  using Tail = internal::KeyByTail<T, F>;
  std::vector<std::vector<Batch<typename Tail::Out>>> kept(shards);
  internal::Ports<typename Tail::Out> ports;
  for (auto& port : kept) ports.push_back(std::make_unique<Kept<typename Tail::Out>>(port));
  Context context;
  context.operator_id = "spread";
  context.parallelism = shards;
  Tail tail(std::move(context), std::move(key), std::move(ports));
  asio::io_context loop(1);
  Status pushed;
  asio::co_spawn(loop, tail.push(std::move(batch)), [&](std::exception_ptr, Status status) { pushed = std::move(status); });
  loop.run();
  EXPECT_TRUE(pushed.ok()) << pushed.to_string();
  return kept;
}

constexpr int kRecords = 500;

TEST(Carry, RecordsThatCrossHaveTheirBytesHeadersTimesAndKeysInOwnMemory) {
  auto arena = std::make_shared<Arena>();
  const std::weak_ptr<Arena> origin = arena;
  Batch<Record> batch;
  batch.set_split(std::make_shared<const Split>(Split{"topic", 3}));
  std::vector<std::vector<Header>> headers(kRecords);
  for (int n = 0; n < kRecords; ++n) {
    Record record;
    if (n % 5 != 0) record.key = Bytes(arena->copy(fmt::format("key-{}", n)));
    if (n % 7 != 0) record.value = Bytes(arena->copy(std::string(static_cast<std::size_t>(n), 'v')));
    for (int i = 0; i < n % 3; ++i) headers[static_cast<std::size_t>(n)].push_back({arena->copy("name"), Bytes(arena->copy(fmt::format("{}", n)))});
    record.headers = headers[static_cast<std::size_t>(n)];
    record.offset = Offset(n);
    batch.records().push_back(record);
    batch.times().push_back(EventTime(EventDuration(n)));
  }
  batch.own(std::move(arena), 0);
  // The key is a part of the record's key: without its first letters.
  const auto key = [](const Record& record) { return record.key.null() ? Bytes() : Bytes(record.key.view().substr(4)); };
  auto kept = spread(std::move(batch), key, 4);
  kept[0].clear();  // What stays here shares the memory.
  headers.clear();
  EXPECT_TRUE(origin.expired());
  std::size_t crossed = 0;
  for (const auto& shard : kept) {
    for (const auto& got : shard) {
      EXPECT_EQ(got.split(), nullptr);
      EXPECT_EQ(got.memory().size(), 1u);
      ASSERT_EQ(got.times().size(), got.size());
      int before = -1;
      for (std::size_t i = 0; i < got.size(); ++i, ++crossed) {
        const Record& record = got[i].value;
        const int n = static_cast<int>(record.offset.value());
        EXPECT_LT(before, n);
        before = n;
        EXPECT_EQ(got.times()[i], EventTime(EventDuration(n)));
        EXPECT_EQ(record.key.null(), n % 5 == 0);
        EXPECT_EQ(got[i].key.null(), n % 5 == 0);
        if (n % 5 != 0) {
          EXPECT_EQ(record.key.view(), fmt::format("key-{}", n));
          EXPECT_EQ(got[i].key.view(), fmt::format("{}", n));
          EXPECT_EQ(got[i].key.data(), record.key.data() + 4) << "copied once, with its record";
        }
        EXPECT_EQ(record.value.null(), n % 7 == 0);
        EXPECT_EQ(record.value.size(), n % 7 != 0 ? static_cast<std::size_t>(n) : 0);
        ASSERT_EQ(record.headers.size(), static_cast<std::size_t>(n % 3));
        for (const Header& header : record.headers) {
          EXPECT_EQ(header.name, "name");
          EXPECT_EQ(header.value.view(), fmt::format("{}", n));
        }
      }
    }
  }
  EXPECT_GT(crossed, 200u);
}

TEST(Carry, ADescribedTypeIsCopiedMemberByMember) {
  auto arena = std::make_shared<Arena>();
  const std::weak_ptr<Arena> origin = arena;
  Batch<Told> batch;
  for (int n = 0; n < kRecords; ++n) {
    Told told{n, arena->copy(fmt::format("text {}", n)), {}};
    if (n % 2 == 0) told.more = Bytes(arena->copy(fmt::format("more {}", n)));
    batch.records().push_back(told);
  }
  batch.own(std::move(arena), 0);
  auto kept = spread(std::move(batch), [](const Told& told) { return told.text; }, 2);
  kept[0].clear();
  EXPECT_TRUE(origin.expired());
  ASSERT_EQ(kept[1].size(), 1u);
  for (const auto& record : kept[1].front()) {
    EXPECT_EQ(record.value.text, fmt::format("text {}", record.value.number));
    EXPECT_EQ(record.key, record.value.text);
    EXPECT_EQ(record.value.more.has_value(), record.value.number % 2 == 0);
    EXPECT_EQ(record.value.more.value_or(Bytes()).view(),
              record.value.more ? fmt::format("more {}", record.value.number) : "");
  }
}

TEST(Carry, ATypeThatNobodyHasToldAboutKeepsTheMemoryItShows) {
  static_assert(!Carried<Untold> && Carried<Told> && Carried<Record> && Carried<std::pair<int, std::string>>);
  auto arena = std::make_shared<Arena>();
  const std::weak_ptr<Arena> origin = arena;
  Batch<Untold> batch;
  for (int n = 0; n < kRecords; ++n) batch.records().push_back({arena->copy(fmt::format("text {}", n))});
  batch.own(std::move(arena), 0);
  auto kept = spread(std::move(batch), [](const Untold& untold) { return untold.text; }, 2);
  kept[0].clear();
  EXPECT_FALSE(origin.expired());
  for (const auto& record : kept[1].front()) EXPECT_TRUE(record.value.text.starts_with("text "));
  kept.clear();
  EXPECT_TRUE(origin.expired());
}

TEST(Carry, WholeBatchesCrossTheSameWay) {
  auto arena = std::make_shared<Arena>();
  const std::weak_ptr<Arena> origin = arena;
  Batch<std::string_view> batch;
  batch.records().push_back(arena->copy("one"));
  batch.own(std::move(arena), 0);
  const Batch<std::string_view> stays = internal::carried(batch, false);
  EXPECT_EQ(stays[0].data(), batch[0].data());
  const Batch<std::string_view> crossed = internal::carried(std::move(batch), true);
  EXPECT_EQ(crossed[0], "one");
  EXPECT_NE(crossed[0].data(), stays[0].data());
}

}  // namespace
}  // namespace sluice
