#pragma once

#include "commands/cluster.h"
#include <gtest/gtest.h>
#include <support/broker.h>

#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// Records into topics and out of them, by librdkafka alone: what the pipeline did is not asked of
/// the pipeline.
namespace sluice::tools::testing {

struct TopicRecord {
  std::optional<std::string> key = {};
  std::optional<std::string> value = {};
  std::map<std::string, std::string> headers = {};
  std::int32_t partition = 0;
};

class Topics {
 public:
  explicit Topics(const std::string& bootstrap) { connection_.brokers = bootstrap; }

  void produce(const std::string& topic, const std::vector<TopicRecord>& records) const {
    const auto handle = make(RD_KAFKA_PRODUCER, {{"message.max.bytes", "10000000"}});
    for (const TopicRecord& record : records) {
      rd_kafka_headers_t* const headers = rd_kafka_headers_new(1);
      for (const auto& [name, value] : record.headers) {
        rd_kafka_header_add(headers, name.c_str(), -1, value.data(),
                            static_cast<ssize_t>(value.size()));
      }
      const auto bytes = [](const std::optional<std::string>& text) {
        return text ? const_cast<char*>(text->data()) : nullptr;
      };
      // librdkafka's macros cast their arguments, so these are plain names.
      const std::size_t key_size = record.key ? record.key->size() : 0;
      const std::size_t value_size = record.value ? record.value->size() : 0;
      const auto error = rd_kafka_producev(
          handle->get(), RD_KAFKA_V_TOPIC(topic.c_str()), RD_KAFKA_V_PARTITION(record.partition),
          RD_KAFKA_V_KEY(bytes(record.key), key_size),
          RD_KAFKA_V_VALUE(bytes(record.value), value_size), RD_KAFKA_V_HEADERS(headers),
          RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
      ASSERT_EQ(error, RD_KAFKA_RESP_ERR_NO_ERROR);
    }
    ASSERT_EQ(rd_kafka_flush(handle->get(), 20'000), RD_KAFKA_RESP_ERR_NO_ERROR);
  }

  /// Everything that a read_committed reader sees, by partition, each in its order.
  [[nodiscard]] std::vector<TopicRecord> read(const std::string& topic) const {
    const auto handle = make(RD_KAFKA_CONSUMER, {{"group.id", "test-reader"},
                                                 {"enable.auto.commit", "false"},
                                                 {"auto.offset.reset", "earliest"},
                                                 {"isolation.level", "read_committed"},
                                                 {"enable.partition.eof", "true"}});
    const auto partitions = partition_count(*handle, topic, std::chrono::seconds(10));
    EXPECT_TRUE(partitions.ok()) << partitions.status().message();
    const PartitionList list(rd_kafka_topic_partition_list_new(*partitions));
    for (std::int32_t i = 0; i < *partitions; ++i) {
      rd_kafka_topic_partition_list_add(list.get(), topic.c_str(), i)->offset = 0;
    }
    EXPECT_EQ(rd_kafka_assign(handle->get(), list.get()), RD_KAFKA_RESP_ERR_NO_ERROR);
    std::map<std::int32_t, std::vector<TopicRecord>> found;
    std::int32_t ended = 0;
    while (ended < *partitions) {
      const std::unique_ptr<rd_kafka_message_t, decltype(&rd_kafka_message_destroy)> message(
          rd_kafka_consumer_poll(handle->get(), 10'000), rd_kafka_message_destroy);
      if (!message) {
        ADD_FAILURE() << "no end of " << topic;
        break;
      }
      if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) ++ended;
      if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
        found[message->partition].push_back(record_of(*message));
      }
    }
    std::vector<TopicRecord> all;
    for (auto& [partition, records] : found) {
      all.insert(all.end(), records.begin(), records.end());
    }
    return all;
  }
  [[nodiscard]] std::vector<std::string> values(const std::string& topic) const {
    std::vector<std::string> texts;
    for (const TopicRecord& record : read(topic)) texts.push_back(record.value.value_or("(null)"));
    return texts;
  }
  [[nodiscard]] bool exists(const std::string& topic) const {
    const auto handle = make(RD_KAFKA_CONSUMER, {{"group.id", "test-reader"}});
    return partition_count(*handle, topic, std::chrono::seconds(10)).ok();
  }

 private:
  [[nodiscard]] std::unique_ptr<Handle> make(rd_kafka_type_t type,
                                             std::map<std::string, std::string> fixed) const {
    auto made = Handle::make(type, connection_, {.fixed = std::move(fixed)});
    EXPECT_TRUE(made.ok()) << made.status().message();
    return *std::move(made);
  }
  static TopicRecord record_of(const rd_kafka_message_t& message) {
    TopicRecord record;
    record.partition = message.partition;
    if (message.key != nullptr) {
      record.key.emplace(static_cast<const char*>(message.key), message.key_len);
    }
    if (message.payload != nullptr) {
      record.value.emplace(static_cast<const char*>(message.payload), message.len);
    }
    rd_kafka_headers_t* headers = nullptr;
    if (rd_kafka_message_headers(&message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR) {
      const char* name = nullptr;
      const void* value = nullptr;
      std::size_t size = 0;
      for (std::size_t i = 0;
           rd_kafka_header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
           ++i) {
        record.headers[name] = std::string(static_cast<const char*>(value), size);
      }
    }
    return record;
  }

  Connection connection_;
};

}  // namespace sluice::tools::testing
