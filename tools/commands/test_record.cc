#include "commands/test_record.h"

#include <sluice/io/base/random.h>

#include <boost/crc.hpp>
#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

namespace sluice::tools {

namespace {

template <class Number>
bool number_from(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

void append_number(std::string& out, std::uint64_t number) {
  std::array<char, 20> digits;
  char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

constexpr std::uint64_t kNumberMax = std::uint64_t{1} << 62;  // So that one more is one more.

enum Field : unsigned { kProducer = 1, kPartition = 2, kSequence = 4, kDue = 8, kAll = 15 };

/// Takes the fields of the outermost object; whatever else is there passes by.
struct HeaderHandler : rapidjson::BaseReaderHandler<rapidjson::UTF8<>, HeaderHandler> {
  RecordHeader& header;
  std::string& producer;
  std::string check;
  unsigned found = 0;
  unsigned depth = 0;
  enum class At : unsigned char {
    kOther,
    kProducer,
    kPartition,
    kSequence,
    kDue,
    kNumber,
    kCheck
  } at = At::kOther;

  HeaderHandler(RecordHeader& h, std::string& p) : header(h), producer(p) {}
  bool StartObject() { return ++depth, at = At::kOther, true; }
  bool EndObject(rapidjson::SizeType) { return --depth, true; }
  bool StartArray() { return ++depth, at = At::kOther, true; }
  bool EndArray(rapidjson::SizeType) { return --depth, true; }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    at = At::kOther;
    if (depth != 1) return true;
    const std::string_view key(text, size);
    if (key == "p")
      at = At::kProducer;
    else if (key == "n")
      at = At::kPartition;
    else if (key == "s")
      at = At::kSequence;
    else if (key == "d")
      at = At::kDue;
    else if (key == "c")
      at = At::kNumber;
    else if (key == "check")
      at = At::kCheck;
    return true;
  }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    if (at == At::kProducer) {
      producer.assign(text, size);
      found |= kProducer;
    } else if (at == At::kCheck) {
      check.assign(text, size);
    } else if (at != At::kOther) {
      return false;  // A header field that is no number.
    }
    return at = At::kOther, true;
  }
  bool Uint64(std::uint64_t number) {
    switch (at) {
      case At::kPartition:
        if (number > INT32_MAX) return false;
        header.partition = static_cast<std::int32_t>(number);
        found |= kPartition;
        break;
      case At::kSequence:
        if (number >= kNumberMax) return false;
        header.sequence = number;
        found |= kSequence;
        break;
      case At::kDue:
        if (number > INT64_MAX) return false;
        header.due_us = static_cast<std::int64_t>(number);
        found |= kDue;
        break;
      case At::kNumber:
        if (number >= kNumberMax) return false;
        header.number = number;
        break;
      case At::kProducer:
      case At::kCheck:
        return false;
      case At::kOther:
        break;
    }
    return at = At::kOther, true;
  }
  bool Uint(unsigned number) { return Uint64(number); }
  bool Int(int) { return at == At::kOther; }  // Negative: no field of ours is.
  bool Int64(std::int64_t) { return at == At::kOther; }
  bool Double(double) { return at == At::kOther; }
  bool Bool(bool) { return at == At::kOther; }
  bool Null() { return at == At::kOther; }
};

constexpr std::string_view kCheckKey = "\"check\":\"";
constexpr std::string_view kEndKey = ",\"end\":0";

// The bytes between `"check":"xxxxxxxx",` and `,"end":0` are as they were generated.
bool body_unchanged(std::string_view value, std::string_view check) {
  std::uint32_t wanted = 0;
  const auto [end, error] = std::from_chars(check.data(), check.data() + check.size(), wanted, 16);
  if (error != std::errc() || check.size() != 8 || end != check.data() + 8) return false;
  const std::size_t key = value.find(kCheckKey);
  const std::size_t last = value.rfind(kEndKey);
  if (key == std::string_view::npos || last == std::string_view::npos) return false;
  const std::size_t first = key + kCheckKey.size() + check.size() + 2;
  return first <= last && body_checksum(value.substr(first, last - first)) == wanted;
}

}  // namespace

std::uint32_t body_checksum(std::string_view body) {
  boost::crc_32_type crc;
  crc.process_bytes(body.data(), body.size());
  return crc.checksum();
}

bool RecordParser::parse_text(std::string_view value, RecordHeader& header) {
  header.number.reset();
  unsigned found = 0;
  while (value.size() > 2 && value[1] == '=') {
    const std::size_t end = value.find(';', 2);
    const std::string_view content = value.substr(2, end == std::string_view::npos ? end : end - 2);
    if (value[0] != 'p' && value[0] != 'n' && value[0] != 's' && value[0] != 'd' && value[0] != 'c')
      break;
    if (end == std::string_view::npos) return fail("a header field does not end with \";\"");
    switch (value[0]) {
      case 'p':
        header.producer = content;
        found |= kProducer;
        break;
      case 'n':
        if (!number_from(content, header.partition) || header.partition < 0)
          return fail("n= is no partition");
        found |= kPartition;
        break;
      case 's':
        if (!number_from(content, header.sequence) || header.sequence >= kNumberMax) {
          return fail("s= is no sequence number");
        }
        found |= kSequence;
        break;
      case 'd':
        if (!number_from(content, header.due_us)) return fail("d= is no time");
        found |= kDue;
        break;
      default:
        if (!number_from(content, header.number.emplace()) || *header.number >= kNumberMax) {
          return fail("c= is no count");
        }
    }
    value.remove_prefix(end + 1);
  }
  return found == kAll || fail("the header lacks one of p= n= s= d=");
}

bool RecordParser::parse(std::string_view value, RecordHeader& header) {
  if (value.starts_with('{')) return parse_json(value, header);
  const std::size_t end = value.starts_with("c=") ? value.find(";{") : std::string_view::npos;
  std::uint64_t number = 0;
  if (end == std::string_view::npos || !number_from(value.substr(2, end - 2), number))
    return parse_text(value, header);
  if (!parse_json(value.substr(end + 1), header)) return false;
  header.number = number;
  return true;
}

bool RecordParser::parse_json(std::string_view value, RecordHeader& header) {
  header.number.reset();
  HeaderHandler handler(header, producer_);
  rapidjson::MemoryStream stream(value.data(), value.size());
  rapidjson::Reader reader;
  // Iterative: nesting is limited by memory and not by the stack.
  constexpr unsigned kFlags =
      rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;
  const rapidjson::ParseResult parsed = reader.Parse<kFlags>(stream, handler);
  if (parsed.Code() == rapidjson::kParseErrorTermination)
    return fail("a header field is of the wrong type or out of range");
  if (parsed.IsError()) return fail(rapidjson::GetParseError_En(parsed.Code()));
  if (handler.found != kAll) return fail("the document lacks one of the fields p n s d");
  header.producer = producer_;
  if (!handler.check.empty() && !body_unchanged(value, handler.check)) {
    return fail("bytes behind \"check\" differ from those that were generated");
  }
  return true;
}

RecordWriter::RecordWriter(Options options) : options_(std::move(options)) {
  const char* const prefix =
      options_.format == RecordFormat::kText ? "p={};n={};s=" : "{{\"p\":\"{}\",\"n\":{},\"s\":";
  prefix_ = fmt::format(fmt::runtime(prefix), options_.producer, options_.partition);
  Random random(options_.seed ^ (static_cast<std::uint64_t>(options_.partition) << 32));
  static constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyz0123456789 ABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
  noise_.resize(4096 + options_.size_bytes);
  for (char& letter : noise_) letter = kLetters[random.below(kLetters.size())];
}

std::string_view RecordWriter::padding(std::uint64_t sequence, std::size_t bytes) const {
  return std::string_view(noise_).substr(sequence * 37 % 4096, bytes);
}

void RecordWriter::append(std::uint64_t sequence, std::int64_t due_us, std::string& out) const {
  if (options_.format == RecordFormat::kText)
    append_text(sequence, due_us, out);
  else
    append_json(sequence, due_us, out);
}

void RecordWriter::append_text(std::uint64_t sequence, std::int64_t due_us,
                               std::string& out) const {
  const std::size_t start = out.size();
  out += prefix_;
  append_number(out, sequence);
  out += ";d=";
  append_number(out, static_cast<std::uint64_t>(due_us));
  out += ';';
  const std::size_t length = out.size() - start;
  if (length >= options_.size_bytes) return;
  out += '|';  // So that no padding can look like one more header field.
  out += padding(sequence, options_.size_bytes - length - 1);
}

void RecordWriter::append_json(std::uint64_t sequence, std::int64_t due_us,
                               std::string& out) const {
  const std::size_t start = out.size();
  Random random(options_.seed ^ (static_cast<std::uint64_t>(options_.partition) << 48) ^ sequence);
  // One to ten digits, so that a rewrite changes the length by various amounts.
  static constexpr std::array<std::uint64_t, 10> kBounds{
      10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000};
  const auto digits = [&] { return random.below(kBounds[random.below(kBounds.size())]); };
  out += prefix_;
  append_number(out, sequence);
  out += ",\"d\":";
  append_number(out, static_cast<std::uint64_t>(due_us));
  out += ",\"identityUri\":\"";
  switch (sequence % 4) {
    case 0:
      out += "user/getById/";
      append_number(out, digits());
      break;
    case 1: {
      const std::uint64_t low = random.next();
      out += "user/getByKey/";
      fmt::format_to(std::back_inserter(out), "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
                     random.next() >> 32, low >> 48, low >> 36 & 0xfff,
                     0x8000 | (low >> 22 & 0x3fff), random.next() >> 16);
      break;
    }
    case 2:
      out += "user/";
      append_number(out, digits());
      out += "/orders/";
      append_number(out, digits());
      break;
    default:
      out += "user/findByName/anna-";
      append_number(out, digits());
  }
  out += "\",\"check\":\"00000000\",";
  const std::size_t body = out.size();
  out += "\"big\":";
  append_number(out, 9007199254740993u +
                         random.below(1000) * 2);  // Odd, above 2^53: a double cannot hold it.
  out +=
      R"(,"max":18446744073709551615,"low":-9223372036854775808,"price":1.50,"tiny":1e-7,"zero":-0.0,)"
      R"("name":"Zo\u00eb \ud83d\ude00 \"q\" \/ )"
      "\xc3\xa9\xe2\x82\xac"
      R"(", "list" : [ 1,2.0 , {"identityUri":"user/getById/)";
  append_number(out, digits());
  out += R"("}, null,true ],"pad":")";
  constexpr std::string_view kTail = "\",\"end\":0}";
  const std::size_t length = out.size() - start + kTail.size();
  if (length < options_.size_bytes) out += padding(sequence, options_.size_bytes - length);
  out += '"';
  const std::uint32_t checksum = body_checksum(std::string_view(out).substr(body));
  fmt::format_to_n(out.data() + body - 10, 8, "{:08x}", checksum);
  out += kTail.substr(1);
}

}  // namespace sluice::tools
