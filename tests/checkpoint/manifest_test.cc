#include <sluice/checkpoint/internal/bytes.h>
#include <sluice/checkpoint/internal/digest.h>
#include <sluice/checkpoint/internal/sealed.h>
#include <sluice/checkpoint/manifest.h>
#include <sluice/io/base/random.h>

#include <gtest/gtest.h>

namespace sluice::checkpoint {
namespace {

Manifest sample() {
  Manifest manifest;
  manifest.engine_version = "0.1.0";
  manifest.job_id = "orders";
  manifest.name = {Epoch(300), Uuid::parse("0123456789abcdef0123456789abcdef")};
  manifest.shards = 2;
  manifest.ancestors = {{{Epoch(299), Uuid::parse("ffffffffffffffff0000000000000001")},
                         digest_of(std::string_view("a"))},
                        {{Epoch(7), Uuid::parse("ffffffffffffffff0000000000000002")},
                         digest_of(std::string_view("b"))}};
  manifest.files = {{"state-00000.snap", 16 + 5, digest_of(std::string_view("c"))},
                    {"state-00001.snap", 16 + 300, digest_of(std::string_view("d"))}};
  manifest.states = {{"count", "counts", "map", ShardId(1), 1, 16, 200, 1},
                     {"count", "counts", "map", ShardId(0), 0, 16, 5, 2},
                     {"count", "watermark", "i64", ShardId(1), 1, 216, 100, ~0ull}};
  manifest.positions = {{"in", {"orders", 3}, Offset(INT64_MAX)}, {"in", {"", -1}, Offset(-2)}};
  manifest.prepared = {{"out", ShardId(1), std::string("\0\n", 2)}};
  return manifest;
}

TEST(Manifest, ComesBackAsItWas) {
  const Result<std::string> bytes = encode(sample());
  ASSERT_TRUE(bytes.ok());
  const Result<Manifest> decoded = decode_manifest(*bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status().to_string();
  EXPECT_EQ(*decoded, sample());
}

TEST(Manifest, NamesSortByEpochAndAreSpeltOneWayOnly) {
  const CheckpointName name{Epoch(41), Uuid::parse("0123456789abcdef0123456789abcdef")};
  const std::string text = "00000000000000000041-0123456789abcdef0123456789abcdef";
  EXPECT_EQ(name.directory(), text);
  CheckpointName parsed;
  ASSERT_TRUE(CheckpointName::parse(text, parsed));
  EXPECT_EQ(parsed, name);
  const CheckpointName last{Epoch(UINT64_MAX), name.writer};
  ASSERT_TRUE(CheckpointName::parse(last.directory(), parsed));
  EXPECT_EQ(parsed, last);
  EXPECT_LT(name.directory(), last.directory());
  for (const char* other :
       {"", "lock", "JOB", "00000000000000000041-0123456789ABCDEF0123456789abcdef",
        "00000000000000000041_0123456789abcdef0123456789abcdef",
        "0000000000000000041-0123456789abcdef0123456789abcdef0",
        "99999999999999999999-0123456789abcdef0123456789abcdef",
        "00000000000000000041-00000000000000000000000000000000",
        "-0000000000000000041-0123456789abcdef0123456789abcdef"}) {
    EXPECT_FALSE(CheckpointName::parse(other, parsed)) << other;
  }
}

// Goal: no damage of the bytes goes unseen. Method: every bit, every truncation, every single byte
// inserted at the end.
TEST(Manifest, EveryFlippedBitAndEveryTruncationIsFound) {
  const std::string bytes = *encode(sample());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    EXPECT_EQ(decode_manifest(std::string_view(bytes).substr(0, at)).code(), Code::kCorrupt) << at;
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = bytes;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      const Result<Manifest> decoded = decode_manifest(flipped);
      ASSERT_EQ(decoded.code(), Code::kCorrupt) << "byte " << at << " bit " << bit;
      EXPECT_FALSE(decoded.status().message().empty());
    }
  }
  EXPECT_EQ(decode_manifest(bytes + '\0').code(), Code::kCorrupt);
}

// Goal: the reader behind the checksum has no undefined behaviour and no second spelling of
// anything either. Method: damage the payload and seal it again, with a fixed seed; what is
// accepted must encode to the same bytes.
TEST(Manifest, AForgedPayloadIsRefusedOrMeansWhatItSays) {
  const std::string bytes = *encode(sample());
  const std::string payload = bytes.substr(20, bytes.size() - internal::kSealBytes);
  Random random(1);
  int accepted = 0;
  for (int round = 0; round < 50'000; ++round) {
    std::string forged = payload;
    for (std::uint64_t left = 1 + random.below(3); left > 0; --left) {
      const std::size_t at = random.below(forged.size());
      switch (random.below(4)) {
        case 0:
          forged[at] = static_cast<char>(random.next());
          break;
        case 1:
          forged.erase(at, 1 + random.below(8));
          break;
        case 2:
          forged.insert(at, 1, static_cast<char>(random.next()));
          break;
        default:
          forged.replace(at, 1, "\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
          break;
      }
      if (forged.empty()) forged = payload;
    }
    const std::string sealed = internal::seal(internal::kManifestMagic, forged);
    const Result<Manifest> decoded = decode_manifest(sealed);
    if (!decoded.ok()) {
      ASSERT_EQ(decoded.code(), Code::kCorrupt);
      continue;
    }
    ++accepted;
    ASSERT_EQ(*encode(*decoded), sealed);
  }
  EXPECT_GT(accepted, 1'000);  // Otherwise the test has not reached what it is about.
}

TEST(Manifest, VarintsHaveOneSpelling) {
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128},
                                    std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    internal::ByteWriter out;
    out.varint(value);
    internal::ByteReader in(out.bytes());
    EXPECT_EQ(in.varint(), value);
    EXPECT_TRUE(in.done()) << value;
  }
  using namespace std::string_view_literals;
  for (const std::string_view bytes : {""sv, "\x80"sv, "\x80\x00"sv, "\xff\x80\x00"sv,
                                       "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"sv,
                                       "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00"sv}) {
    internal::ByteReader in(bytes);
    EXPECT_EQ(in.varint(), 0u);
    EXPECT_FALSE(in.ok()) << bytes.size();
  }
}

TEST(Manifest, OfANewerFormatIsToldFromDamage) {
  internal::ByteWriter newer;
  newer.raw(internal::kManifestMagic);
  newer.u32(internal::kFormatVersion + 1);
  newer.u64(3);
  newer.raw("new");
  newer.u64(internal::checksum_of(newer.bytes()));
  const Status refused = decode_manifest(newer.bytes()).status();
  EXPECT_EQ(refused.code(), Code::kInvalid);
  EXPECT_EQ(refused.exit_status(), ExitStatus::kData);
}

TEST(Manifest, WithAFileNameThatLeadsOutsideIsRefused) {
  std::string bytes = *encode(sample());
  const std::string payload = bytes.substr(20, bytes.size() - internal::kSealBytes);
  for (const std::string& name : {std::string("../00000000.snap"), std::string("/etc/000000.snap"),
                                  std::string(".tate-00000.snap")}) {
    std::string forged = payload;
    const std::size_t at = forged.find("state-00000.snap");
    ASSERT_NE(at, std::string::npos);
    forged.replace(at, name.size(), name);
    const Result<Manifest> decoded =
        decode_manifest(internal::seal(internal::kManifestMagic, forged));
    EXPECT_EQ(decoded.code(), Code::kCorrupt) << name;
  }
}

}  // namespace
}  // namespace sluice::checkpoint
