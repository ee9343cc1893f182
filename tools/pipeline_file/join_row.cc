#include "pipeline_file/join_row.h"

#include <cstring>

namespace sluice::tools {

void JoinRow::keep() {
  const std::size_t size = key_.size() + document_.size();
  if (size == 0) return;  // Null and empty ones show nothing.
  bytes_ = std::make_unique_for_overwrite<char[]>(size);
  char* at = bytes_.get();
  for (Bytes* const part : {&key_, &document_}) {
    if (part->size() == 0) continue;
    std::memcpy(at, part->data(), part->size());
    *part = Bytes(at, part->size());
    at += part->size();
  }
}

}  // namespace sluice::tools

namespace sluice {
namespace {

void write_bytes(const Bytes& bytes, std::string& out) {
  Codec<bool>::write(bytes.null(), out);
  if (bytes.null()) return;
  Codec<std::uint64_t>::write(bytes.size(), out);
  out += bytes.view();
}
bool read_bytes(std::string_view& in, Bytes& bytes) {
  bool null = false;
  std::uint64_t size = 0;
  bytes = Bytes();
  if (!Codec<bool>::read(in, null)) return false;
  if (null) return true;
  if (!Codec<std::uint64_t>::read(in, size) || in.size() < size) return false;
  bytes = Bytes(in.substr(0, size));
  in.remove_prefix(size);
  return true;
}

}  // namespace

void Codec<tools::JoinRow>::write(const tools::JoinRow& row, std::string& out) {
  write_bytes(row.key_, out);
  write_bytes(row.document_, out);
  Codec<EventTime>::write(row.time_, out);
}

bool Codec<tools::JoinRow>::read(std::string_view& in, tools::JoinRow& row) {
  Bytes key, document;
  EventTime time;
  if (!read_bytes(in, key) || !read_bytes(in, document) || !Codec<EventTime>::read(in, time)) return false;
  row = tools::JoinRow(key, document, time);
  row.keep();
  return true;
}

}  // namespace sluice
