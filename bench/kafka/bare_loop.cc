// Question  What does plain librdkafka do at its best, consume to transactional produce on one
// thread? Sketch    About 0.9 µs of CPU a record of 100 B, most of it in the library's per-message
// allocation and locks. Baseline  This is the baseline: bench/kafka and bench/latency run it beside
// the engine, in the same run.
//
// Each interval: poll until nothing is outstanding, send the offsets, commit. It never flushes
// (steps of 10 ms). Commit happens on the loop's own thread, so nothing is consumed meanwhile; the
// library's threads go on fetching.

#include <getopt.h>
#include <librdkafka/rdkafka.h>
#include <sys/resource.h>

#include "bare_rewrite.h"
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::milliseconds;

struct Options {
  std::string brokers = "127.0.0.1:9092", in, out, group = "bare-loop", id = "bare-loop";
  int commit_ms = 100;
  long queued_min_messages = 1'000'000;
  long records_max = 0;  // 0: no limit.
  long idle_ms = 0;      // Stops after this long without a record; 0: never.
  bool earliest = true;  // From the beginning; else from the end.
  bool json = false;
  bool rewrite = false;  // JSON documents are rewritten on their way.
  bool wake = false;     // Wakes fetchers that stopped at a full queue, as the engine does.
  std::map<std::string, std::string> consumer, producer;
};

[[noreturn]] void die(const std::string& what) {
  std::fprintf(stderr, "bare_loop: %s\n", what.c_str());
  std::exit(1);
}

[[noreturn]] void usage() {
  std::fputs(
      "usage: bare_loop --brokers HOST:PORT --in TOPIC --out TOPIC [options]\n"
      "  --commit-ms N            interval of transactions (default 100)\n"
      "  --queued-min-messages N  prefetch of the consumer (default 1000000)\n"
      "  --max-records N          stop after so many\n"
      "  --until-idle MS          stop when nothing came for so long\n"
      "  --latest                 from the end of the topic, for latency\n"
      "  --rewrite                rewrite identityUri of JSON documents\n"
      "  --wake                   wake fetchers that stopped at a full queue\n"
      "  --consumer K=V, --producer K=V, --group G, --id ID, --json\n",
      stderr);
  std::exit(2);
}

void put(std::map<std::string, std::string>& into, const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos) usage();
  into[text.substr(0, equals)] = text.substr(equals + 1);
}

Options parse(int argc, char** argv) {
  Options options;
  const option longs[] = {{"brokers", 1, nullptr, 'b'},
                          {"in", 1, nullptr, 'i'},
                          {"out", 1, nullptr, 'o'},
                          {"commit-ms", 1, nullptr, 'c'},
                          {"queued-min-messages", 1, nullptr, 'q'},
                          {"max-records", 1, nullptr, 'm'},
                          {"until-idle", 1, nullptr, 'u'},
                          {"latest", 0, nullptr, 'l'},
                          {"consumer", 1, nullptr, 'C'},
                          {"producer", 1, nullptr, 'P'},
                          {"group", 1, nullptr, 'g'},
                          {"id", 1, nullptr, 't'},
                          {"json", 0, nullptr, 'j'},
                          {"rewrite", 0, nullptr, 'r'},
                          {"wake", 0, nullptr, 'w'},
                          {nullptr, 0, nullptr, 0}};
  for (int c; (c = getopt_long(argc, argv, "", longs, nullptr)) != -1;) {
    switch (c) {
      case 'b':
        options.brokers = optarg;
        break;
      case 'i':
        options.in = optarg;
        break;
      case 'o':
        options.out = optarg;
        break;
      case 'c':
        options.commit_ms = std::atoi(optarg);
        break;
      case 'q':
        options.queued_min_messages = std::atol(optarg);
        break;
      case 'm':
        options.records_max = std::atol(optarg);
        break;
      case 'u':
        options.idle_ms = std::atol(optarg);
        break;
      case 'l':
        options.earliest = false;
        break;
      case 'C':
        put(options.consumer, optarg);
        break;
      case 'P':
        put(options.producer, optarg);
        break;
      case 'g':
        options.group = optarg;
        break;
      case 't':
        options.id = optarg;
        break;
      case 'j':
        options.json = true;
        break;
      case 'r':
        options.rewrite = true;
        break;
      case 'w':
        options.wake = true;
        break;
      default:
        usage();
    }
  }
  if (options.in.empty() || options.out.empty()) usage();
  return options;
}

rd_kafka_t* make(rd_kafka_type_t type, std::map<std::string, std::string> settings,
                 const std::map<std::string, std::string>& more) {
  for (const auto& [name, value] : more) settings[name] = value;
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  char reason[512];
  for (const auto& [name, value] : settings) {
    if (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), reason, sizeof(reason)) !=
        RD_KAFKA_CONF_OK)
      die(reason);
  }
  rd_kafka_t* rk = rd_kafka_new(type, conf, reason, sizeof(reason));
  if (rk == nullptr) die(reason);
  return rk;
}

void check(rd_kafka_error_t* error, const char* what) {
  if (error != nullptr) die(std::string(what) + ": " + rd_kafka_error_string(error));
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& at) {
    return static_cast<double>(at.tv_sec) + static_cast<double>(at.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

long peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

class Loop {
 public:
  explicit Loop(const Options& options)
      : options_(options),
        consumer_(make(RD_KAFKA_CONSUMER,
                       {{"bootstrap.servers", options.brokers},
                        {"group.id", options.group},
                        {"enable.auto.commit", "false"},
                        {"enable.auto.offset.store", "false"},
                        {"auto.offset.reset", "error"},
                        {"isolation.level", "read_committed"},
                        {"fetch.wait.max.ms", "100"},
                        {"queued.min.messages", std::to_string(options.queued_min_messages)},
                        {"queued.max.messages.kbytes", "2000000"}},
                       options.consumer)),
        producer_(make(RD_KAFKA_PRODUCER,
                       {{"bootstrap.servers", options.brokers},
                        {"transactional.id", options.id},
                        {"enable.idempotence", "true"},
                        {"acks", "all"},
                        {"delivery.report.only.error", "true"},
                        {"linger.ms", "1"},
                        {"retry.backoff.ms", "2"},
                        {"socket.nagle.disable", "true"},
                        {"queue.buffering.max.messages", "200000"}},
                       options.producer)),
        out_(rd_kafka_topic_new(producer_, options.out.c_str(), nullptr)),
        group_(rd_kafka_consumer_group_metadata_new(options.group.c_str())) {
    rd_kafka_poll_set_consumer(consumer_);
    queue_ = rd_kafka_queue_get_consumer(consumer_);
  }

  void run() {
    for (;;) {  // Each call makes the library try at once, instead of every 500 ms.
      rd_kafka_error_t* error = rd_kafka_init_transactions(producer_, 10);
      if (error == nullptr) break;
      if (rd_kafka_error_is_retriable(error) == 0) die(rd_kafka_error_string(error));
      rd_kafka_error_destroy(error);
    }
    assign();
    std::vector<rd_kafka_message_t*> batch(8'192);
    check(rd_kafka_begin_transaction(producer_), "begin");
    last_record_ = last_commit_ = Clock::now();
    while (!done()) {
      // At most until the next commit is due, or a millisecond, so that a batch never waits for
      // more.
      const ssize_t count = rd_kafka_consume_batch_queue(queue_, 0, batch.data(), batch.size());
      const auto now = Clock::now();
      for (ssize_t i = 0; i < count; ++i) pass(batch[static_cast<std::size_t>(i)]);
      if (count > 0) {
        if (options_.wake) wake();
        last_record_ = now;
      } else {
        rd_kafka_poll(producer_, 0);
        std::this_thread::sleep_for(microseconds(100));
      }
      if (now - last_commit_ >= milliseconds(options_.commit_ms)) commit();
    }
    commit();
    report();
    rd_kafka_abort_transaction(producer_, 1'000);
    std::fflush(stdout);
    std::_Exit(0);  // Taking the library down is not part of the question.
  }

 private:
  void assign() {
    const rd_kafka_metadata_t* metadata = nullptr;
    rd_kafka_topic_t* topic = rd_kafka_topic_new(consumer_, options_.in.c_str(), nullptr);
    if (rd_kafka_metadata(consumer_, 0, topic, &metadata, 10'000) != RD_KAFKA_RESP_ERR_NO_ERROR)
      die("no metadata");
    const int partitions = metadata->topics[0].partition_cnt;
    rd_kafka_metadata_destroy(metadata);
    rd_kafka_topic_partition_list_t* list = rd_kafka_topic_partition_list_new(partitions);
    for (int partition = 0; partition < partitions; ++partition) {
      std::int64_t low = 0, high = 0;
      rd_kafka_query_watermark_offsets(consumer_, options_.in.c_str(), partition, &low, &high,
                                       10'000);
      rd_kafka_topic_partition_list_add(list, options_.in.c_str(), partition)->offset =
          options_.earliest ? low : high;
    }
    next_.assign(static_cast<std::size_t>(partitions), -1);
    if (rd_kafka_assign(consumer_, list) != RD_KAFKA_RESP_ERR_NO_ERROR) die("assign");
    rd_kafka_topic_partition_list_destroy(list);
    const rd_kafka_metadata_t* out = nullptr;
    if (rd_kafka_metadata(producer_, 0, out_, &out, 10'000) != RD_KAFKA_RESP_ERR_NO_ERROR)
      die("no metadata");
    out_partitions_ = out->topics[0].partition_cnt;
    rd_kafka_metadata_destroy(out);
    if (out_partitions_ < 1) die("no topic " + options_.out);
  }

  void pass(rd_kafka_message_t* message) {
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      rd_kafka_message_destroy(message);
      return;
    }
    if (records_ == 0) {
      first_record_ = Clock::now();
      first_cpu_ = cpu_seconds();
    }
    void* payload = message->payload;
    std::size_t size = message->len;
    if (options_.rewrite && payload != nullptr) {
      const std::string_view document = rewrite_({static_cast<const char*>(payload), size});
      payload = const_cast<char*>(document.data());  // It is copied, not changed.
      size = document.size();
    }
    while (rd_kafka_produce(out_, message->partition % out_partitions_, RD_KAFKA_MSG_F_COPY,
                            payload, size, message->key, message->key_len, nullptr) != 0) {
      if (rd_kafka_last_error() != RD_KAFKA_RESP_ERR__QUEUE_FULL)
        die(rd_kafka_err2str(rd_kafka_last_error()));
      rd_kafka_poll(producer_, 1);
    }
    next_[static_cast<std::size_t>(message->partition)] = message->offset + 1;
    ++records_;
    rd_kafka_message_destroy(message);
  }

  void wake() {
    rd_kafka_error_t* error = rd_kafka_sasl_set_credentials(consumer_, "-", "-");
    if (error != nullptr) rd_kafka_error_destroy(error);
  }

  void commit() {
    while (rd_kafka_outq_len(producer_) > 0) {
      rd_kafka_poll(producer_, 0);
      if (rd_kafka_outq_len(producer_) > 0) std::this_thread::sleep_for(microseconds(100));
    }
    rd_kafka_topic_partition_list_t* list =
        rd_kafka_topic_partition_list_new(static_cast<int>(next_.size()));
    for (std::size_t partition = 0; partition < next_.size(); ++partition) {
      if (next_[partition] < 0) continue;
      rd_kafka_topic_partition_list_add(list, options_.in.c_str(), static_cast<int>(partition))
          ->offset = next_[partition];
    }
    if (list->cnt > 0)
      check(rd_kafka_send_offsets_to_transaction(producer_, list, group_, 10'000), "offsets");
    rd_kafka_topic_partition_list_destroy(list);
    check(rd_kafka_commit_transaction(producer_, 10'000), "commit");
    check(rd_kafka_begin_transaction(producer_), "begin");
    last_commit_ = Clock::now();
    ++commits_;
  }

  bool done() const {
    if (options_.records_max > 0 && records_ >= options_.records_max) return true;
    return options_.idle_ms > 0 && Clock::now() - last_record_ > milliseconds(options_.idle_ms);
  }

  void report() const {
    // From the first record to the last commit that held one; the wait for idleness is not work.
    const auto end = options_.idle_ms > 0 ? last_record_ : last_commit_;
    const double seconds =
        static_cast<double>(duration_cast<microseconds>(end - first_record_).count()) / 1e6;
    const double rate = seconds > 0 ? static_cast<double>(records_) / seconds : 0;
    const double cpu = cpu_seconds() - first_cpu_;
    const double per_record_ns = records_ > 0 ? cpu / static_cast<double>(records_) * 1e9 : 0;
    if (options_.json) {
      std::printf(
          "{\"schema_version\":1,\"bench\":\"bare_loop\",\"records\":%ld,\"seconds\":%.3f,"
          "\"records_per_second\":%.0f,\"cpu_seconds\":%.3f,\"cpu_ns_per_record\":%.0f,\"peak_"
          "mib\":%ld,"
          "\"commits\":%ld}\n",
          records_, seconds, rate, cpu, per_record_ns, peak_mib(), commits_);
    } else {
      std::printf(
          "records %ld  seconds %.3f  records/s %.0f  CPU-seconds %.3f  CPU ns/record %.0f  peak "
          "MiB %ld  "
          "commits %ld\n",
          records_, seconds, rate, cpu, per_record_ns, peak_mib(), commits_);
    }
  }

  const Options options_;
  rd_kafka_t* const consumer_;
  rd_kafka_t* const producer_;
  rd_kafka_topic_t* const out_;
  rd_kafka_consumer_group_metadata_t* const group_;
  rd_kafka_queue_t* queue_ = nullptr;
  BareRewrite rewrite_;
  int out_partitions_ = 0;
  std::vector<std::int64_t> next_;
  long records_ = 0, commits_ = 0;
  double first_cpu_ = 0;
  Clock::time_point first_record_{}, last_record_{}, last_commit_{};
};

}  // namespace

int main(int argc, char** argv) {
  Loop loop(parse(argc, argv));
  loop.run();
}
