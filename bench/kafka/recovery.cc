// Question  How long from kill -9 to the first newly committed record, process start included?
// Method    The copy job under a steady load; a reader (read_committed, in this process) sees its
//           output. Kill, start at once, take the time until the reader has a record that was
//           committed after the kill. Repeated; all and the median are printed. At the end the load
//           is stopped and the job catches up, so that its output can be judged.
#include <CLI/CLI.hpp>
#include <librdkafka/rdkafka.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

pid_t start(const std::vector<char*>& command) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  ::execvp(command[0], command.data());
  std::perror(command[0]);
  ::_exit(127);
}

/// What a read_committed consumer sees of a topic from now on.
class Reader {
 public:
  Reader(const std::string& brokers, const std::string& topic) {
    char text[512];
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    for (const auto& [key, value] :
         std::vector<std::pair<std::string, std::string>>{{"bootstrap.servers", brokers},
                                                          {"group.id", "recovery-reader"},
                                                          {"isolation.level", "read_committed"},
                                                          {"fetch.wait.max.ms", "10"},
                                                          {"enable.auto.commit", "false"}}) {
      rd_kafka_conf_set(conf, key.c_str(), value.c_str(), text, sizeof text);
    }
    client_ = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof text);
    rd_kafka_poll_set_consumer(client_);
    rd_kafka_topic_t* handle = rd_kafka_topic_new(client_, topic.c_str(), nullptr);
    const rd_kafka_metadata_t* metadata = nullptr;
    if (rd_kafka_metadata(client_, 0, handle, &metadata, 10'000) == RD_KAFKA_RESP_ERR_NO_ERROR) {
      rd_kafka_topic_partition_list_t* all =
          rd_kafka_topic_partition_list_new(metadata->topics[0].partition_cnt);
      for (int partition = 0; partition < metadata->topics[0].partition_cnt; ++partition) {
        rd_kafka_topic_partition_list_add(all, topic.c_str(), partition)->offset =
            RD_KAFKA_OFFSET_END;
      }
      found_ = all->cnt > 0 && rd_kafka_assign(client_, all) == RD_KAFKA_RESP_ERR_NO_ERROR;
      rd_kafka_topic_partition_list_destroy(all);
      rd_kafka_metadata_destroy(metadata);
    }
    rd_kafka_topic_destroy(handle);
  }
  Reader(const Reader&) = delete;
  ~Reader() {
    rd_kafka_consumer_close(client_);
    rd_kafka_destroy(client_);
  }

  [[nodiscard]] bool found() const { return found_; }

  /// True when a record came within the time.
  bool record(std::chrono::milliseconds time) const {
    const auto until = Clock::now() + time;
    do {
      rd_kafka_message_t* message = rd_kafka_consumer_poll(client_, 5);
      if (message == nullptr) continue;
      const bool data = message->err == RD_KAFKA_RESP_ERR_NO_ERROR;
      rd_kafka_message_destroy(message);
      if (data) return true;
    } while (Clock::now() < until);
    return false;
  }

 private:
  rd_kafka_t* client_ = nullptr;
  bool found_ = false;
};

/// SIGTERM, and SIGKILL for one that does not end by it.
void end(pid_t job) {
  ::kill(job, SIGTERM);
  for (const auto until = Clock::now() + std::chrono::seconds(30); Clock::now() < until;
       ::usleep(20'000)) {
    if (::waitpid(job, nullptr, WNOHANG) == job) return;
  }
  ::kill(job, SIGKILL);
  ::waitpid(job, nullptr, 0);
}

}  // namespace

int main(int argc, char** argv) {
  using std::chrono::milliseconds;
  std::string brokers = "127.0.0.1:9092", topic;
  int rounds = 7, wait_s = 120;
  pid_t load = 0;
  std::vector<std::string> given;
  CLI::App app{"Kills a job, starts it again, and takes the time until its output goes on."};
  app.add_option("--brokers", brokers)->capture_default_str();
  app.add_option("--topic", topic, "where the job's output goes; it must exist")->required();
  app.add_option("--rounds", rounds)->check(CLI::PositiveNumber)->capture_default_str();
  app.add_option("--wait-s", wait_s, "for a record, before giving up")->capture_default_str();
  app.add_option("--stop-first", load, "process of the load, ended by SIGTERM before the job is");
  app.add_option("command", given, "behind --")->required();
  CLI11_PARSE(app, argc, argv);

  std::vector<char*> command;
  for (std::string& each : given) command.push_back(each.data());
  command.push_back(nullptr);
  const Reader reader(brokers, topic);
  if (!reader.found()) {
    std::fprintf(stderr, "recovery: no topic \"%s\" at %s; create it first\n", topic.c_str(),
                 brokers.c_str());
    return 1;
  }
  const milliseconds wait = std::chrono::seconds(wait_s);
  std::vector<double> times;
  pid_t job = start(command);
  const auto give_up = [&job, wait_s](const char* when) {
    std::fprintf(stderr, "recovery: no record within %d s of %s\n", wait_s, when);
    ::kill(job, SIGKILL);
    ::waitpid(job, nullptr, 0);
    return 1;
  };
  for (int round = 0; round < rounds; ++round) {
    if (!reader.record(wait)) return give_up("a start");
    for (const auto until = Clock::now() + milliseconds(1500); Clock::now() < until;)
      (void)reader.record(milliseconds(100));
    ::kill(job, SIGKILL);
    const auto killed = Clock::now();
    ::waitpid(job, nullptr, 0);
    // What was committed before the kill and is still on its way to the reader would be taken for a
    // recovery: it is drained before the job starts again, and the time that this takes is not
    // counted.
    while (reader.record(milliseconds(50))) {
    }
    const auto started = Clock::now();
    job = start(command);
    if (!reader.record(wait)) return give_up("a kill");
    times.push_back(std::chrono::duration<double>(Clock::now() - started).count());
    std::printf("%.3f s (killed %.3f s before the start)\n", times.back(),
                std::chrono::duration<double>(started - killed).count());
    std::fflush(stdout);
  }
  if (load != 0) ::kill(load, SIGTERM);
  while (reader.record(milliseconds(3'000))) {
  }
  end(job);
  std::sort(times.begin(), times.end());
  std::printf(
      "median %.3f s, worst %.3f s, from the start of the process to the first newly committed "
      "record\n",
      times[times.size() / 2], times.back());
  return 0;
}
