#include <sluice/engine/batch.h>

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(Arena, KeepsWhatWasCopiedWhileItGrows) {
  Arena arena;
  std::vector<std::pair<std::string, std::string_view>> kept;
  for (int i = 0; i < 2000; ++i) {
    std::string text(static_cast<std::size_t>(i % 311), static_cast<char>('a' + i % 26));
    const std::string_view copy = arena.copy(text);
    kept.emplace_back(std::move(text), copy);
  }
  kept.emplace_back(std::string(1'000'000, 'x'), arena.copy(std::string(1'000'000, 'x')));
  for (const auto& [text, copy] : kept) EXPECT_EQ(text, copy);
  EXPECT_GE(arena.bytes(), 1'000'000u);
}

TEST(Batch, OwnsTheMemoryThatItsRecordsPointInto) {
  std::weak_ptr<const void> watched;
  Batch<Bytes> made;
  {
    auto text = std::make_shared<const std::string>("a record's bytes");
    watched = text;
    Batch<Bytes> source;
    source.own(text, text->size());
    source.records().emplace_back(std::string_view(*text));
    made.inherit(source);
    made.records().push_back(source[0]);
  }
  EXPECT_FALSE(watched.expired());
  EXPECT_EQ(made[0].view(), "a record's bytes");
  made = {};
  EXPECT_TRUE(watched.expired());
}

TEST(Bytes, NullIsNotEmpty) {
  const Bytes null, empty(std::string_view{});
  EXPECT_TRUE(null.null());
  EXPECT_FALSE(empty.null());
  EXPECT_NE(null, empty);
  EXPECT_EQ(null.view(), empty.view());
}

}  // namespace
}  // namespace sluice
