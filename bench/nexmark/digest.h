#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <xxhash.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace sluice::nexmark {

/// The number of rows of an answer, and the sum (modulo 2^64) of xxh3-64 (seed 0) of each row's
/// text. The order of rows does not matter, how often each occurs does. Answers of several shards
/// are added up; a row that was revoked is taken back.
///
/// The text of a row is its fields in decimal or as they are, with '|' between and nothing after:
/// no text that the generator makes contains a '|' or a line end. So an answer can be judged from a
/// file of lines by anyone who can hash.
class Digest {
 public:
  void add(std::string_view row) noexcept { ++rows_, sum_ += XXH3_64bits(row.data(), row.size()); }
  void take_back(std::string_view row) noexcept {
    --rows_, sum_ -= XXH3_64bits(row.data(), row.size());
  }
  void add(const Digest& other) noexcept { rows_ += other.rows_, sum_ += other.sum_; }
  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::uint64_t sum() const noexcept { return sum_; }
  /// "920000 00c0ffee00c0ffee", as bench/kafka/digest prints it.
  [[nodiscard]] std::string text() const { return fmt::format("{} {:016x}", rows_, sum_); }
  friend bool operator==(const Digest&, const Digest&) = default;

 private:
  std::uint64_t rows_ = 0, sum_ = 0;
};

/// Writes a row's text over what `out` holds.
template <class Row>
void write_row(const Row& row, fmt::memory_buffer& out) {
  out.clear();
  fmt::format_to(std::back_inserter(out), "{}", fmt::join(row.fields(), "|"));
}
template <class Row>
[[nodiscard]] std::string row_text(const Row& row) {
  return fmt::format("{}", fmt::join(row.fields(), "|"));
}

// Where queries put their rows. Writing and hashing costs more than most queries do, so a run that
// is timed counts, and one that is judged digests.

struct DigestRows {
  template <class Row>
  void emit(const Row& row) {
    write_row(row, buffer);
    digest.add({buffer.data(), buffer.size()});
  }
  Digest digest;
  fmt::memory_buffer buffer;
};

/// Touches every field, so that none of the work is optimised away.
struct CountRows {
  template <class Row>
  void emit(const Row& row) {
    ++rows;
    std::apply([this](const auto&... field) { ((folded ^= part(field)), ...); }, row.fields());
  }
  static std::uint64_t part(std::int64_t number) { return static_cast<std::uint64_t>(number); }
  static std::uint64_t part(std::string_view text) {
    return reinterpret_cast<std::uintptr_t>(text.data()) + text.size();
  }
  std::uint64_t rows = 0, folded = 0;
};

struct KeepRows {
  template <class Row>
  void emit(const Row& row) {
    rows.push_back(row_text(row));
  }
  std::vector<std::string> rows;
};

}  // namespace sluice::nexmark
