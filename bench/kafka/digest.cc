// Reads a topic to its end, read_committed, and prints `records digest`: the sum of the hashes of
// all values, whatever their order. With --expect-rewrite the digest is of what the JSON job must
// make of the topic. The rules are applied in a way of their own here, by what is known of the
// generator's documents: this is the judge, so it shares no code with those who are judged.
#include <CLI/CLI.hpp>
#include <librdkafka/rdkafka.h>
#include <xxhash.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

constexpr std::string_view kField = "\"identityUri\":\"";

std::string rewritten(std::string_view document) {
  const std::size_t at = document.find(kField);
  if (at == std::string_view::npos) return std::string(document);
  const std::size_t start = at + kField.size();
  const std::size_t end = document.find('"', start);
  const std::size_t slash = document.rfind('/', end);
  const std::string_view last = document.substr(slash + 1, end - slash - 1);
  const auto all = [last](auto accepts) {
    return !last.empty() && std::all_of(last.begin(), last.end(), accepts);
  };
  std::string_view with;
  if (all([](char c) { return c >= '0' && c <= '9'; })) {
    with = "{}";
  } else if (last.size() == 36 && last[8] == '-' && all([](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-';
             })) {
    with = "{uuid}";
  } else {
    return std::string(document);
  }
  return std::string(document.substr(0, slash + 1)) + std::string(with) +
         std::string(document.substr(end));
}

[[noreturn]] void die(const std::string& topic, const char* why) {
  std::fprintf(stderr, "digest: could not read topic \"%s\": %s\n", topic.c_str(), why);
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  std::string brokers = "127.0.0.1:9092", topic;
  bool expect_rewrite = false;
  CLI::App app{"Counts and hashes a topic's records."};
  app.add_option("--brokers", brokers)->capture_default_str();
  app.add_option("--topic", topic)->required();
  app.add_flag("--expect-rewrite", expect_rewrite, "of what the JSON job must make of it");
  CLI11_PARSE(app, argc, argv);

  char text[512];
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"bootstrap.servers", brokers},
                                                        {"group.id", "digest"},
                                                        {"isolation.level", "read_committed"},
                                                        {"enable.partition.eof", "true"},
                                                        {"enable.auto.commit", "false"},
                                                        {"queued.min.messages", "500000"}}) {
    if (rd_kafka_conf_set(conf, key.c_str(), value.c_str(), text, sizeof text) != RD_KAFKA_CONF_OK)
      die(topic, text);
  }
  rd_kafka_t* client = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof text);
  if (client == nullptr) die(topic, text);
  rd_kafka_poll_set_consumer(client);
  rd_kafka_topic_t* handle = rd_kafka_topic_new(client, topic.c_str(), nullptr);
  const rd_kafka_metadata_t* metadata = nullptr;
  const rd_kafka_resp_err_t asked = rd_kafka_metadata(client, 0, handle, &metadata, 10'000);
  if (asked != RD_KAFKA_RESP_ERR_NO_ERROR) die(topic, rd_kafka_err2str(asked));
  int open = metadata->topics[0].partition_cnt;
  if (open == 0) die(topic, "there is no such topic");
  rd_kafka_topic_partition_list_t* all = rd_kafka_topic_partition_list_new(open);
  for (int partition = 0; partition < open; ++partition) {
    rd_kafka_topic_partition_list_add(all, topic.c_str(), partition)->offset =
        RD_KAFKA_OFFSET_BEGINNING;
  }
  rd_kafka_assign(client, all);
  rd_kafka_queue_t* queue = rd_kafka_queue_get_consumer(client);
  std::uint64_t records = 0, digest = 0;
  std::vector<rd_kafka_message_t*> batch(8'192);
  int idle = 0;
  while (open > 0) {
    const ssize_t count = rd_kafka_consume_batch_queue(queue, 1'000, batch.data(), batch.size());
    idle = count > 0 ? 0 : idle + 1;
    if (idle > 60) die(topic, "nothing came for a minute");
    for (ssize_t at = 0; at < count; ++at) {
      rd_kafka_message_t* const message = batch[static_cast<std::size_t>(at)];
      if (message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        --open;
      } else if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
        die(topic, rd_kafka_message_errstr(message));
      } else {
        const std::string_view value(static_cast<const char*>(message->payload), message->len);
        ++records;
        if (expect_rewrite) {
          const std::string expected = rewritten(value);
          digest += XXH3_64bits(expected.data(), expected.size());
        } else {
          digest += XXH3_64bits(value.data(), value.size());
        }
      }
      rd_kafka_message_destroy(message);
    }
  }
  std::printf("%llu %016llx\n", static_cast<unsigned long long>(records),
              static_cast<unsigned long long>(digest));
  std::fflush(stdout);
  std::_Exit(0);  // Taking the library down is not part of the question.
}
