#pragma once

#include <sluice/engine/record.h>
#include <sluice/kafka/internal/rdkafka_handle.h>

#include <librdkafka/rdkafka.h>

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <new>
#include <span>
#include <utility>
#include <vector>

namespace sluice::kafka::internal {

/// The messages behind a Fetch, destroyed with it; its records are views of them.
///
/// Shard      one at a time; the last holder destroys the messages on its own.
/// Ownership  keeps the handle, which has to outlive them.
class Messages {
 public:
  explicit Messages(std::shared_ptr<RdHandle> handle) : handle_(std::move(handle)) {}
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;
  ~Messages() {
    for (rd_kafka_message_t* message : messages_) rd_kafka_message_destroy(message);
  }
  void reserve(std::size_t count) { messages_.reserve(count); }
  void keep(rd_kafka_message_t* message) { messages_.push_back(message); }
  [[nodiscard]] std::size_t count() const noexcept { return messages_.size(); }

  /// Parsed only where there are any.
  std::span<const Header> headers_of(const rd_kafka_message_t* message) {
    rd_kafka_headers_t* list = nullptr;
    if (rd_kafka_message_headers(message, &list) != RD_KAFKA_RESP_ERR_NO_ERROR) return {};
    const std::size_t count = rd_kafka_header_cnt(list);
    auto* headers = static_cast<Header*>(arena_.allocate(count * sizeof(Header), alignof(Header)));
    for (std::size_t i = 0; i < count; ++i) {
      const char* name = nullptr;
      const void* value = nullptr;
      std::size_t size = 0;
      rd_kafka_header_get_all(list, i, &name, &value, &size);
      new (headers + i)
          Header{name, value == nullptr ? Bytes() : Bytes(static_cast<const char*>(value), size)};
    }
    return {headers, count};
  }

 private:
  std::shared_ptr<RdHandle> handle_;  // Messages die before the handle does.
  std::vector<rd_kafka_message_t*> messages_;
  std::pmr::monotonic_buffer_resource arena_;
};

}  // namespace sluice::kafka::internal
