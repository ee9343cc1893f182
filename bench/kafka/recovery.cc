// Question  How long from kill -9 to the first newly committed record, process start included?
// Method    The copy job under a steady load; a reader (read_committed, in this process) sees its output. Kill, start at once, take the
//           time until the reader has a record that was committed after the kill. Repeated; all and the median are printed.
//   recovery BROKERS OUT PARTITIONS ROUNDS COMMAND [ARGUMENT…]
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <librdkafka/rdkafka.h>

namespace {

using Clock = std::chrono::steady_clock;

pid_t start(char** command) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  ::execvp(command[0], command);
  std::perror(command[0]);
  ::_exit(127);
}

/// True when a record came within the time.
bool record(rd_kafka_t* reader, int milliseconds) {
  const auto until = Clock::now() + std::chrono::milliseconds(milliseconds);
  do {
    rd_kafka_message_t* message = rd_kafka_consumer_poll(reader, 5);
    if (message == nullptr) continue;
    const bool data = message->err == RD_KAFKA_RESP_ERR_NO_ERROR;
    rd_kafka_message_destroy(message);
    if (data) return true;
  } while (Clock::now() < until);
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    std::fputs("usage: recovery BROKERS OUT PARTITIONS ROUNDS COMMAND [ARGUMENT…]\n", stderr);
    return 2;
  }
  char text[512];
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
           {"bootstrap.servers", argv[1]}, {"group.id", "recovery-reader"}, {"isolation.level", "read_committed"},
           {"fetch.wait.max.ms", "10"}, {"enable.auto.commit", "false"}}) {
    if (rd_kafka_conf_set(conf, key.c_str(), value.c_str(), text, sizeof text) != RD_KAFKA_CONF_OK) return 2;
  }
  rd_kafka_t* reader = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text, sizeof text);
  rd_kafka_poll_set_consumer(reader);
  rd_kafka_topic_partition_list_t* all = rd_kafka_topic_partition_list_new(8);
  for (int partition = 0; partition < std::atoi(argv[3]); ++partition) {
    rd_kafka_topic_partition_list_add(all, argv[2], partition)->offset = RD_KAFKA_OFFSET_END;
  }
  rd_kafka_assign(reader, all);
  std::vector<double> times;
  pid_t job = start(argv + 5);
  for (int round = 0; round < std::atoi(argv[4]); ++round) {
    if (!record(reader, 30'000)) return 1;
    for (const auto until = Clock::now() + std::chrono::milliseconds(1500); Clock::now() < until;) (void)record(reader, 100);
    ::kill(job, SIGKILL);
    const auto killed = Clock::now();
    ::waitpid(job, nullptr, 0);
    // What was committed before the kill and is still on its way to the reader would be taken for a recovery: it is drained
    // before the job starts again, and the time that this takes is not counted.
    while (record(reader, 50)) {
    }
    const auto started = Clock::now();
    job = start(argv + 5);
    if (!record(reader, 60'000)) return 1;
    times.push_back(std::chrono::duration<double>(Clock::now() - started).count());
    std::printf("%.3f s (killed %.3f s before the start)\n", times.back(), std::chrono::duration<double>(started - killed).count());
    std::fflush(stdout);
  }
  ::kill(job, SIGTERM);
  ::waitpid(job, nullptr, 0);
  std::sort(times.begin(), times.end());
  std::printf("median %.3f s, worst %.3f s, from the start of the process to the first newly committed record\n",
              times[times.size() / 2], times.back());
  rd_kafka_topic_partition_list_destroy(all);
  rd_kafka_consumer_close(reader);
  rd_kafka_destroy(reader);
  return 0;
}
