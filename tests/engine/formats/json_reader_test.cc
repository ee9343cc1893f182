#include <sluice/engine/formats/json_reader.h>
#include <sluice/engine/internal/json_error.h>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>

// Goal: a value is found at its exact bytes, or missing, or the document is refused with the byte
// at which it stops being JSON; never a crash, never a byte read that is not there to be read.
namespace sluice {
namespace {

JsonPointer at(std::string_view text) {
  auto made = JsonPointer::make(text);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}
/// The bytes found; "-" missing, "!" malformed.
std::string find(std::string_view document, std::string_view pointer) {
  // Exactly as long as the document: a sanitizer sees what reads past it.
  auto bytes = std::make_unique_for_overwrite<char[]>(document.size());
  std::memcpy(bytes.get(), document.data(), document.size());
  const std::string_view exact(bytes.get(), document.size());
  JsonReader reader;
  JsonSpan span;
  switch (reader.locate(exact, at(pointer), span)) {
    case JsonFound::kFound:
      return std::string(span.in(exact));
    case JsonFound::kMissing:
      return "-";
    case JsonFound::kMalformed:
      return "!";
  }
  return "";
}

TEST(JsonReader, FindsTheBytesOfAValue) {
  const std::string document =
      R"({"a": 1.50 , "b" : [ true,null , {"c":"x\ty"} ],"d":{ } ,"":0,"é":"é","e":[]})";
  EXPECT_EQ(find(document, "/a"), "1.50");
  EXPECT_EQ(find(document, "/b"), R"([ true,null , {"c":"x\ty"} ])");
  EXPECT_EQ(find(document, "/b/0"), "true");
  EXPECT_EQ(find(document, "/b/1"), "null");
  EXPECT_EQ(find(document, "/b/2"), R"({"c":"x\ty"})");
  EXPECT_EQ(find(document, "/b/2/c"), R"("x\ty")");
  EXPECT_EQ(find(document, "/d"), "{ }");
  EXPECT_EQ(find(document, "/"), "0");
  EXPECT_EQ(find(document, "/é"), "\"é\"");
  EXPECT_EQ(find(document, "/e"), "[]");
  EXPECT_EQ(find(" " + document + "\n", ""), document);
  EXPECT_EQ(find("[[1,2],[3]]", "/1/0"), "3");
  EXPECT_EQ(find(" 17 ", ""), "17");
  EXPECT_EQ(find("\"x\"", ""), "\"x\"");
}

TEST(JsonReader, MissingIsNotMalformed) {
  const std::string document = R"({"a":{"b":1},"c":[1,2],"d":null})";
  for (const char* pointer :
       {"/x", "/a/x", "/a/b/x", "/c/2", "/c/-", "/c/x", "/c/00", "/d/x", "/a/0"}) {
    EXPECT_EQ(find(document, pointer), "-") << pointer;
  }
  EXPECT_EQ(find("{}", "/a"), "-");
  EXPECT_EQ(find("[]", "/0"), "-");
  EXPECT_EQ(find("17", "/a"), "-");
  EXPECT_EQ(find("\"a\"", "/a"), "-");
}

TEST(JsonReader, NamesMayBeEscapedInTheDocument) {
  EXPECT_EQ(find(R"({"identity\u0055ri":"x"})", "/identityUri"), "\"x\"");
  EXPECT_EQ(find(R"({"a\/b":1})", "/a~1b"), "1");
  EXPECT_EQ(find(R"({"a\"b":1})", "/a\"b"), "1");
  EXPECT_EQ(find(R"({"a\\b":1})", "/a\\b"), "1");
  EXPECT_EQ(find(R"({"\u00e9":1})", "/é"), "1");
  EXPECT_EQ(find(R"({"\ud83d\ude00":1})", "/😀"), "1");
  // A name that ends in a quote in one reading only.
  EXPECT_EQ(find(R"({"a":"b","c":1})", "/a\":\"b"), "-");
  EXPECT_EQ(find(R"({"a\"":1,"a":2})", "/a"), "2");
}

TEST(JsonReader, OfANameThatIsThereTwiceTheFirstCounts) {
  EXPECT_EQ(find(R"({"a":1,"a":2})", "/a"), "1");
  EXPECT_EQ(find(R"({"\u0061":1,"a":2})", "/a"), "1");
  EXPECT_EQ(find(R"({"a":1,"\u0061":2})", "/a"), "1");
  // Whatever was looked for before.
  const std::string document = R"({"a":1,"b":2,"a":3})";
  JsonReader reader;
  JsonSpan span;
  ASSERT_TRUE(reader.open(document));
  ASSERT_EQ(reader.find(at("/b"), span), JsonFound::kFound);
  ASSERT_EQ(reader.find(at("/a"), span), JsonFound::kFound);
  EXPECT_EQ(span.in(document), "1");
}

struct Bad {
  const char* document;
  const char* why;
};
class JsonReaderMalformed : public testing::TestWithParam<Bad> {};
TEST_P(JsonReaderMalformed, IsRefusedWithTheByte) {
  EXPECT_EQ(find(GetParam().document, "/a"), "!");
  EXPECT_EQ(JsonReader::why(GetParam().document).message(), GetParam().why);
  EXPECT_EQ(JsonReader::why(GetParam().document).code(), Code::kCorrupt);
}
INSTANTIATE_TEST_SUITE_P(
    Documents, JsonReaderMalformed,
    testing::Values(
        Bad{"", "not JSON: an empty text at byte 0 of 0"},
        Bad{" \n", "not JSON: the text ends too early at byte 2 of 2"},
        Bad{"\xef\xbb\xbf", "not JSON: an empty text at byte 3 of 3"},
        Bad{R"({"a":1)", "not JSON: the text ends too early at byte 6 of 6"},
        Bad{R"({"a":"1)", "not JSON: the text ends too early at byte 7 of 7"},
        Bad{R"({"a")", "not JSON: the text ends too early at byte 4 of 4"},
        Bad{R"({"a":)", "not JSON: the text ends too early at byte 5 of 5"},
        Bad{R"({"a":{"b":1})", "not JSON: the text ends too early at byte 12 of 12"},
        Bad{R"({"a":[1,2)", "not JSON: the text ends too early at byte 9 of 9"},
        Bad{R"({"a":1}})", "not JSON: more text behind the document at byte 7 of 8"},
        Bad{R"({"a":1}{"a":2})", "not JSON: more text behind the document at byte 7 of 14"},
        Bad{R"({"a":1} x)", "not JSON: more text behind the document at byte 8 of 9"},
        Bad{R"({"b":1,"c":2}})", "not JSON: more text behind the document at byte 13 of 14"},
        Bad{R"({"a":1 "b":2})", "not JSON: expected ',' or '}' at byte 7 of 13"},
        Bad{R"({"a" 1})", "not JSON: expected ':' at byte 5 of 7"},
        Bad{R"({"b":1,,"a":1})", "not JSON: expected a name in quotes at byte 7 of 14"},
        Bad{R"({a:1})", "not JSON: expected a name in quotes at byte 1 of 5"},
        Bad{R"({"a":tru})", "not JSON: expected true, false or null at byte 8 of 9"},
        Bad{R"({"a":nul})", "not JSON: expected true, false or null at byte 8 of 9"},
        Bad{R"({"a":01})", "not JSON: a number with a zero in front at byte 6 of 8"},
        Bad{R"({"a":1.})", "not JSON: expected a digit at byte 7 of 8"},
        Bad{R"({"a":-})", "not JSON: expected a digit at byte 6 of 7"},
        Bad{R"({"a":+1})", "not JSON: expected a value at byte 5 of 8"},
        Bad{R"({"a":.5})", "not JSON: expected a value at byte 5 of 8"},
        Bad{R"({"a":1x})", "not JSON: expected ',' or '}' at byte 6 of 8"},
        Bad{R"({"a":"x"y})", "not JSON: expected ',' or '}' at byte 8 of 10"},
        Bad{R"({"a":"\x"})", "not JSON: an unknown escape at byte 7 of 10"},
        Bad{R"({"a":"\ud83d"})", "not JSON: half a surrogate pair at byte 12 of 14"},
        Bad{R"({"a":"\ude00"})", "not JSON: half a surrogate pair at byte 12 of 14"},
        Bad{"{\"a\":\"x\x01\"}", "not JSON: a control character in a string at byte 7 of 10"},
        Bad{"{\"a\":\"\xc3\x28\"}", "not JSON: not UTF-8 at byte 6 of 10"},
        Bad{"{\"b\":\"\xff\",\"a\":1}", "not JSON: not UTF-8 at byte 6 of 15"},
        Bad{"\xff\xfe{\x00", "not JSON: expected a value at byte 0 of 3"},
        Bad{"[1,2,]", "not JSON: expected a value at byte 5 of 6"},
        Bad{"[1 2]", "not JSON: expected ',' or ']' at byte 3 of 5"},
        Bad{"[1][2]", "not JSON: more text behind the document at byte 3 of 6"},
        Bad{"nonsense", "not JSON: expected true, false or null at byte 1 of 8"},
        Bad{"}", "not JSON: expected a value at byte 0 of 1"},
        Bad{"{", "not JSON: the text ends too early at byte 1 of 1"},
        Bad{"[", "not JSON: the text ends too early at byte 1 of 1"}));

TEST(JsonReader, AByteOrderMarkInFrontIsNoError) {
  const std::string document = "\xEF\xBB\xBF{\"a\":17}";
  EXPECT_EQ(find(document, "/a"), "17");
}

std::string nested(std::size_t levels, char open, char close) {
  return std::string(levels, open) + std::string(levels, close);
}
TEST(JsonReader, DepthIsAnErrorNotACrash) {
  EXPECT_EQ(find(R"({"b":)" + nested(1'023, '[', ']') + R"(,"a":1})", "/a"), "1");
  EXPECT_EQ(find(R"({"b":)" + nested(1'024, '[', ']') + R"(,"a":1})", "/a"), "!");
  const std::string deep = R"({"b":)" + nested(10'000, '[', ']') + R"(,"a":1})";
  EXPECT_EQ(find(deep, "/a"), "!");
  EXPECT_EQ(JsonReader::why(deep).message(),
            "not JSON: nested deeper than 1,024 levels at byte 1028 of 20012");
  EXPECT_EQ(find(std::string(10'000, '['), "/a"), "!");
  EXPECT_EQ(find(std::string(10'000, '{'), "/a"), "!");
  EXPECT_EQ(find(std::string(1'000'000, '['), "/0/0"), "!");
  // Brackets in texts are none, and hide none.
  EXPECT_EQ(find(R"({"b":")" + std::string(10'000, '[') + R"(","a":1})", "/a"), "1");
  std::string hidden;
  for (int i = 0; i < 2'000; ++i) hidden += R"(["]",)";
  EXPECT_EQ(find(R"({"b":)" + hidden + "1" + std::string(2'000, ']') + R"(,"a":1})", "/a"), "!");
  // Many brackets that are not deep.
  std::string wide;
  for (int i = 0; i < 5'000; ++i) wide += R"({"x":"\""},)";
  EXPECT_EQ(find(R"({"b":[)" + wide + R"(1],"a":1})", "/a"), "1");
}

TEST(JsonReader, TextIsUnescaped) {
  JsonReader reader;
  JsonSpan span;
  const std::string document = R"({"a":"x\n\u00e9\ud83d\ude00\/","b":"plain"})";
  ASSERT_EQ(reader.locate(document, at("/a"), span), JsonFound::kFound);
  EXPECT_EQ(span.type, JsonType::kString);
  EXPECT_EQ(reader.text(), "x\né😀/");
  ASSERT_EQ(reader.find(at("/b"), span), JsonFound::kFound);
  EXPECT_EQ(reader.text(), "plain");
}

TEST(JsonReader, NumbersKeepAllTheirBits) {
  JsonReader reader;
  JsonSpan span;
  const std::string document =
      R"([9007199254740993,-9223372036854775808,18446744073709551615,18446744073709551616,1.5e3,1e400])";
  const auto number = [&](const char* pointer) {
    EXPECT_EQ(reader.locate(document, at(pointer), span), JsonFound::kFound);
    return reader.number();
  };
  EXPECT_EQ(number("/0").signed_value, 9007199254740993);
  EXPECT_EQ(number("/1").signed_value, INT64_MIN);
  EXPECT_EQ(number("/2").kind, JsonNumber::Kind::kUnsigned);
  EXPECT_EQ(number("/2").unsigned_value, UINT64_MAX);
  EXPECT_EQ(number("/3").kind, JsonNumber::Kind::kBig);
  EXPECT_EQ(number("/3").text, "18446744073709551616");
  EXPECT_EQ(number("/4").kind, JsonNumber::Kind::kDouble);
  EXPECT_EQ(number("/4").double_value, 1500.0);
  EXPECT_EQ(number("/5").double_value, std::numeric_limits<double>::infinity());
}

TEST(JsonReader, FramingOfASchemaRegistryIsNamed) {
  const std::string framed("\0\0\0\0\x2a{\"a\":1}", 12);
  EXPECT_EQ(find(framed, "/a"), "!");
  const std::string why(JsonReader::why(framed).message());
  EXPECT_NE(why.find("schema id 42"), std::string::npos) << why;
}

TEST(JsonReader, ReadsADocumentAtTheEndOfThePagesThatItMayRead) {
  // Given two pages of which only the first can be read,
  const std::size_t page = 4096;
  void* const mapped =
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  ASSERT_EQ(mprotect(static_cast<char*>(mapped) + page, page, PROT_NONE), 0);
  // when documents end at every distance from the second,
  const std::string document = R"({"b":"y\n","a":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\u00e9"})";
  for (std::size_t distance = 0; distance < 100; ++distance) {
    char* const start = static_cast<char*>(mapped) + page - distance - document.size();
    std::memcpy(start, document.data(), document.size());
    std::memset(start + document.size(), '}', distance);
    JsonReader reader;
    JsonSpan span;
    // then they are read whole, and what lies behind them is not looked at.
    ASSERT_EQ(reader.locate({start, document.size()}, at("/a"), span), JsonFound::kFound);
    EXPECT_EQ(reader.text(), "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxé");
    EXPECT_EQ(reader.locate({start, document.size() - 1}, at("/a"), span), JsonFound::kMalformed);
  }
  munmap(mapped, 2 * page);
}

TEST(JsonReader, EveryCutOfADocumentIsRefused) {
  const std::string document =
      R"({"a":{"b":[1,2,{"c":"\u00e9\n"}],"d":true},"e":"x","f":[[],{}],"g":-1.5e3})";
  for (std::size_t size = 0; size < document.size(); ++size) {
    EXPECT_EQ(find(document.substr(0, size), "/a/b/2/c"), "!") << size;
  }
}

TEST(JsonReader, WhateverTheBytesValidDocumentsAreTakenAndFoundBytesAreInside) {
  // Given documents with a few bytes changed, taken out or doubled,
  const std::string original =
      R"({"a":{"b":[1,2,{"c":"\u00e9\n"}],"d":true},"e":"x[]","f":[[],{}],"g":-1.5e3,"a":null})";
  const JsonPointer pointers[] = {at("/a/b/2/c"), at("/g"), at("/f/1"), at("/x"), at("")};
  std::mt19937 random(20261129);
  JsonReader reader;
  std::size_t valid = 0;
  for (int round = 0; round < 50'000; ++round) {
    std::string document = original;
    for (std::size_t changes = 1 + random() % 3; changes > 0; --changes) {
      const std::size_t place = random() % document.size();
      switch (random() % 3) {
        case 0:
          document[place] = "{}[]\",:\\ 01ae\x80\xc3"[random() % 15];
          break;
        case 1:
          document.erase(place, 1);
          break;
        default:
          document.insert(place, 1, document[random() % document.size()]);
      }
    }
    const bool is_json = !internal::find_json_error(document);
    valid += is_json ? 1 : 0;
    for (const JsonPointer& pointer : pointers) {
      // when they are read, then what is JSON is not refused, and what is found is in the document,
      JsonSpan span;
      const JsonFound found = reader.locate(document, pointer, span);
      if (is_json) {
        ASSERT_NE(found, JsonFound::kMalformed) << document << " " << pointer.text();
      }
      if (found != JsonFound::kFound) continue;
      ASSERT_LT(span.start, span.end);
      ASSERT_LE(span.end, document.size());
      // and a value in a document is one by itself.
      if (is_json) {
        ASSERT_FALSE(internal::find_json_error(span.in(document))) << document;
      }
    }
  }
  EXPECT_GT(valid, 1'000u);  // Otherwise this has shown little.
}

TEST(JsonReader, ACopyHasAParserOfItsOwn) {
  JsonReader reader;
  JsonSpan span;
  const std::string document = R"({"a":"x"})";
  ASSERT_EQ(reader.locate(document, at("/a"), span), JsonFound::kFound);
  JsonReader copy = reader;
  ASSERT_EQ(copy.locate(document, at("/a"), span), JsonFound::kFound);
  EXPECT_EQ(copy.text(), "x");
  EXPECT_EQ(reader.text(), "x");
}

}  // namespace
}  // namespace sluice
