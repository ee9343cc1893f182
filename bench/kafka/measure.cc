// Runs a command and prints what it took on one line to stdout: `wall_s cpu_s rss_mib status`, and
// with --topic also `steady_records_per_s steady_cpu_ns`, what it committed to the topic after its
// warm-up, a second and for how much CPU a record. The command's own output goes to stderr.
//
// While the command runs, the topic's stable end (read_committed) and the process's CPU time are
// sampled every 20 ms. Steady is from the first sample with --warm-records committed until the one
// that shows the last record: neither start-up, nor the just-in-time compiler's first seconds, nor
// the way down. Offsets count control records too; there is one a partition and transaction.
#include <CLI/CLI.hpp>
#include <librdkafka/rdkafka.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Sample {
  double at_s = 0, cpu_s = 0;
  std::int64_t committed = 0;
};

/// User and system time of a process and all its threads; 0 once it is gone.
double cpu_of(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');  // A name may hold blanks.
  if (name_end == std::string::npos) return 0;
  unsigned long user = 0, system = 0;
  std::sscanf(text.c_str() + name_end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
              &user, &system);
  return static_cast<double>(user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

/// Where a topic's committed records end, all partitions together, in one request.
class StableEnd {
 public:
  StableEnd(const std::string& brokers, const std::string& topic) {
    char text[512];
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", brokers.c_str(), text, sizeof text);
    rd_kafka_conf_set(conf, "isolation.level", "read_committed", text, sizeof text);
    rd_kafka_conf_set(conf, "group.id", "measure", text, sizeof text);
    client_ = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof text);
    rd_kafka_topic_t* handle = rd_kafka_topic_new(client_, topic.c_str(), nullptr);
    const rd_kafka_metadata_t* metadata = nullptr;
    if (rd_kafka_metadata(client_, 0, handle, &metadata, 10'000) == RD_KAFKA_RESP_ERR_NO_ERROR) {
      partitions_ = rd_kafka_topic_partition_list_new(metadata->topics[0].partition_cnt);
      for (int partition = 0; partition < metadata->topics[0].partition_cnt; ++partition) {
        rd_kafka_topic_partition_list_add(partitions_, topic.c_str(), partition);
      }
      rd_kafka_metadata_destroy(metadata);
    }
    rd_kafka_topic_destroy(handle);
  }
  StableEnd(const StableEnd&) = delete;
  ~StableEnd() {
    if (partitions_ != nullptr) rd_kafka_topic_partition_list_destroy(partitions_);
    rd_kafka_destroy(client_);
  }

  [[nodiscard]] bool found() const { return partitions_ != nullptr && partitions_->cnt > 0; }

  /// -1 when the broker did not say.
  [[nodiscard]] std::int64_t now() const {
    for (int at = 0; at < partitions_->cnt; ++at)
      partitions_->elems[at].offset = RD_KAFKA_OFFSET_END;
    if (rd_kafka_offsets_for_times(client_, partitions_, 2'000) != RD_KAFKA_RESP_ERR_NO_ERROR)
      return -1;
    std::int64_t sum = 0;
    for (int at = 0; at < partitions_->cnt; ++at) {
      const rd_kafka_topic_partition_t& each = partitions_->elems[at];
      if (each.err != RD_KAFKA_RESP_ERR_NO_ERROR || each.offset < 0) return -1;
      sum += each.offset;
    }
    return sum;
  }

 private:
  rd_kafka_t* client_ = nullptr;
  rd_kafka_topic_partition_list_t* partitions_ = nullptr;
};

struct Steady {
  double records_per_s = 0, cpu_ns = 0;
};

Steady steady(const std::vector<Sample>& samples, std::int64_t warm_records) {
  if (samples.empty()) return {};
  const Sample* first = nullptr;
  const Sample* last = nullptr;
  const std::int64_t end = samples.back().committed;
  for (const Sample& sample : samples) {
    if (first == nullptr && sample.committed >= warm_records) first = &sample;
    if (last == nullptr && sample.committed == end) last = &sample;
  }
  if (first == nullptr || last == nullptr || last->at_s <= first->at_s) return {};
  const auto records = static_cast<double>(last->committed - first->committed);
  return {.records_per_s = records / (last->at_s - first->at_s),
          .cpu_ns = (last->cpu_s - first->cpu_s) / records * 1e9};
}

}  // namespace

int main(int argc, char** argv) {
  std::string brokers = "127.0.0.1:9092", topic;
  std::int64_t warm_records = 1;
  std::vector<std::string> command;
  CLI::App app{"Runs a command and prints what it took."};
  app.add_option("--brokers", brokers)->capture_default_str();
  app.add_option("--topic", topic, "where the command commits records; it must exist and be empty");
  app.add_option("--warm-records", warm_records, "what is committed until then is warm-up")
      ->capture_default_str();
  app.add_option("command", command, "behind --")->required();
  CLI11_PARSE(app, argc, argv);

  std::vector<char*> arguments;
  for (std::string& each : command) arguments.push_back(each.data());
  arguments.push_back(nullptr);
  const auto start = Clock::now();
  const pid_t child = ::fork();  // Before the client's threads are there.
  if (child == 0) {
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    ::execvp(arguments[0], arguments.data());
    std::perror(arguments[0]);
    ::_exit(127);
  }
  int status = 0;
  rusage usage{};
  std::vector<Sample> samples;
  const auto since_start = [start] {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  double wall = 0;
  if (topic.empty()) {
    ::wait4(child, &status, 0, &usage);
    wall = since_start();
  } else {
    const StableEnd end(brokers, topic);
    bool ended = false;
    const auto sample = [&] {
      const std::int64_t committed = end.now();
      const double cpu = ended ? 0 : cpu_of(child);
      if (committed >= 0) samples.push_back({since_start(), cpu, committed});
    };
    while (::wait4(child, &status, WNOHANG, &usage) == 0) {
      if (end.found()) sample();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    wall = since_start();
    ended = true;
    const double whole = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    if (end.found()) sample();
    if (!samples.empty()) samples.back().cpu_s = whole;
  }
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  std::printf("%.3f %.3f %ld %d", wall, seconds(usage.ru_utime) + seconds(usage.ru_stime),
              usage.ru_maxrss / 1024,
              WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  if (!topic.empty()) {
    const Steady found = steady(samples, warm_records);
    std::printf(" %.0f %.0f", found.records_per_s, found.cpu_ns);
  }
  std::puts("");
  return 0;
}
