#include <sluice/engine/codec.h>

#include <limits>
#include <list>
#include <map>
#include <set>
#include <unordered_map>

#include <boost/describe/class.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <gtest/gtest.h>

#include <sluice/engine/event_time.h>
#include <sluice/io/base/random.h>

namespace sluice {
namespace {

struct Zone {
  std::string name;
  std::uint16_t borough = 0;
  bool operator==(const Zone&) const = default;
};
BOOST_DESCRIBE_STRUCT(Zone, (), (name, borough))

struct Ride {
  Zone from;
  std::optional<Zone> to;
  std::vector<double> fares;
  bool operator==(const Ride&) const = default;
};
BOOST_DESCRIBE_STRUCT(Ride, (), (from, to, fares))

class Own {
 public:
  explicit Own(int value = 0) : value_(value) {}
  [[nodiscard]] int value() const { return value_; }
  bool operator==(const Own&) const = default;

 private:
  int value_;
};
enum class Colour : std::uint8_t { kRed, kBlue = 200 };

}  // namespace

template <>
struct Codec<Own> {
  static std::string name() { return "own"; }
  static void write(const Own& own, std::string& out) { Codec<int>::write(own.value(), out); }
  static bool read(std::string_view& in, Own& own) {
    int value = 0;
    if (!Codec<int>::read(in, value)) return false;
    own = Own(value);
    return true;
  }
};

namespace {

// Goal: what was written is read back, takes exactly its bytes, and no shorter piece of it passes for a whole one.
template <class T>
void round_trip(const T& value) {
  std::string bytes;
  Codec<T>::write(value, bytes);
  const std::string followed = bytes + "next";
  std::string_view in = followed;
  T back{};
  ASSERT_TRUE(Codec<T>::read(in, back)) << Codec<T>::name();
  EXPECT_EQ(back, value) << Codec<T>::name();
  EXPECT_EQ(in, "next") << Codec<T>::name();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    in = std::string_view(bytes).substr(0, size);
    EXPECT_FALSE(Codec<T>::read(in, back)) << Codec<T>::name() << " of " << size << " bytes";
  }
}

TEST(Codec, ReadsBackWhatItWrote) {
  round_trip<std::int64_t>(std::numeric_limits<std::int64_t>::min());
  round_trip(3.25);
  round_trip(true);
  round_trip(Colour::kBlue);
  round_trip(Epoch(7));
  round_trip(std::chrono::milliseconds(-5));
  round_trip(EventTime::max());
  round_trip(std::string("zero \0 inside", 13));
  round_trip(std::vector<std::string>{"a", "", "ccc"});
  round_trip(std::vector<bool>{true, false, true});
  round_trip(std::list<int>{1, 2});
  round_trip(std::set<std::string>{"x", "y"});
  round_trip(std::map<int, std::vector<int>>{{1, {2, 3}}, {4, {}}});
  round_trip(std::unordered_map<std::string, int>{{"a", 1}, {"b", 2}});
  round_trip(boost::unordered_flat_map<int, std::string>{{1, "one"}, {2, "two"}});
  round_trip(std::array<std::uint16_t, 3>{1, 2, 3});
  round_trip(std::optional<std::string>());
  round_trip(std::optional<std::string>("there"));
  round_trip(std::variant<std::monostate, int, std::string>());
  round_trip(std::variant<std::monostate, int, std::string>("text"));
  round_trip(std::tuple<int, std::string, bool>{1, "two", true});
  round_trip(std::pair<std::string, double>{"pi", 3.14});
  round_trip(Ride{{"JFK", 4}, Zone{"Soho", 1}, {1.5, 2.5}});
  round_trip(std::vector<Own>{Own(1), Own(2)});
}

TEST(Codec, NamesTellFieldsAndUnitsApart) {
  EXPECT_EQ(Codec<Ride>::name(),
            "struct{from:struct{name:string,borough:u16},to:optional<struct{name:string,borough:u16}>,fares:list<f64>}");
  EXPECT_NE(Codec<bool>::name(), Codec<std::uint8_t>::name());
  EXPECT_NE(Codec<std::chrono::seconds>::name(), Codec<std::chrono::milliseconds>::name());
  EXPECT_EQ((Codec<std::map<int, std::string>>::name()), (Codec<boost::unordered_flat_map<int, std::string>>::name()));
  EXPECT_EQ((Codec<std::variant<int, std::string>>::name()), "variant<i32,string>");
}

TEST(Codec, ValuesThatCannotBeAreRefused) {
  const auto read = [](auto value, std::string_view in) { return Codec<decltype(value)>::read(in, value); };
  EXPECT_FALSE(read(false, "\x02"));
  EXPECT_FALSE(read(std::variant<int, std::string>(), std::string_view("\x02\0\0\0\0", 5)));
  EXPECT_FALSE(read(std::optional<std::uint8_t>(), "\x07\x01"));
}

// Method: random bytes; ends whatever they say, in bounded memory (a number of elements is not believed).
TEST(Codec, RandomBytesNeitherCrashNorAllocateBeyondTheirSize) {
  Random random(11);
  for (int run = 0; run < 20'000; ++run) {
    std::string bytes(random.below(40), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.below(4) == 0 ? random.below(256) : random.below(3));
    std::string_view in = bytes;
    std::vector<std::map<std::string, std::variant<int, Ride>>> value;
    if (Codec<decltype(value)>::read(in, value)) {
      EXPECT_LE(value.size(), bytes.size());
    }
  }
}

}  // namespace
}  // namespace sluice
