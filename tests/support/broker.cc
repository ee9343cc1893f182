#include <librdkafka/rdkafka.h>
#include <support/broker.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace sluice::testing {
namespace {

using namespace std::chrono_literals;

template <auto Destroy>
struct Destroyer {
  template <class T>
  void operator()(T* object) const {
    Destroy(object);
  }
};
template <class T, auto Destroy>
using Owned = std::unique_ptr<T, Destroyer<Destroy>>;
using Client = Owned<rd_kafka_t, rd_kafka_destroy>;

Client make_client(const std::string& bootstrap) {
  char error[512];
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, "bootstrap.servers", bootstrap.c_str(), error, sizeof(error));
  rd_kafka_conf_set_log_cb(conf, nullptr);
  Client client(rd_kafka_new(RD_KAFKA_PRODUCER, conf, error, sizeof(error)));
  if (!client) throw std::runtime_error(std::string("could not make a Kafka client: ") + error);
  return client;
}

// One broker's answer is enough for one node; with several, each could be behind, and clients ask
// any of them.
bool has_leaders(rd_kafka_t* client, const std::string& name, int partitions) {
  const rd_kafka_metadata_t* metadata = nullptr;
  Owned<rd_kafka_topic_t, rd_kafka_topic_destroy> topic(
      rd_kafka_topic_new(client, name.c_str(), nullptr));
  if (rd_kafka_metadata(client, 0, topic.get(), &metadata, 5'000) != RD_KAFKA_RESP_ERR_NO_ERROR)
    return false;
  Owned<const rd_kafka_metadata_t, rd_kafka_metadata_destroy> owner(metadata);
  if (metadata->topic_cnt != 1 || metadata->topics[0].partition_cnt != partitions) return false;
  for (int i = 0; i < partitions; ++i) {
    if (metadata->topics[0].partitions[i].leader < 0) return false;
  }
  return true;
}

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::vector<std::string> lines;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string first_line(const std::filesystem::path& file) {
  const std::vector<std::string> lines = lines_of(file);
  if (lines.empty()) throw std::runtime_error("no address in " + file.string());
  return lines.front();
}

}  // namespace

void create_topic(const std::string& bootstrap, const std::string& name, int partitions,
                  const std::vector<std::string>& configs) {
  const Client client = make_client(bootstrap);
  char error[512];
  Owned<rd_kafka_NewTopic_t, rd_kafka_NewTopic_destroy> topic(
      rd_kafka_NewTopic_new(name.c_str(), partitions, -1, error, sizeof(error)));
  if (!topic) throw std::runtime_error("could not create topic " + name + ": " + error);
  for (const std::string& config : configs) {
    const size_t equals = config.find('=');
    if (equals == std::string::npos)
      throw std::runtime_error("\"" + config + "\" is not key=value");
    rd_kafka_NewTopic_set_config(topic.get(), config.substr(0, equals).c_str(),
                                 config.substr(equals + 1).c_str());
  }
  Owned<rd_kafka_AdminOptions_t, rd_kafka_AdminOptions_destroy> options(
      rd_kafka_AdminOptions_new(client.get(), RD_KAFKA_ADMIN_OP_CREATETOPICS));
  rd_kafka_AdminOptions_set_request_timeout(options.get(), 30'000, error, sizeof(error));
  Owned<rd_kafka_queue_t, rd_kafka_queue_destroy> queue(rd_kafka_queue_new(client.get()));
  rd_kafka_NewTopic_t* topics[] = {topic.get()};
  rd_kafka_CreateTopics(client.get(), topics, 1, options.get(), queue.get());
  Owned<rd_kafka_event_t, rd_kafka_event_destroy> event(rd_kafka_queue_poll(queue.get(), 35'000));
  if (!event)
    throw std::runtime_error("could not create topic " + name + ": no answer from " + bootstrap);
  if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    throw std::runtime_error("could not create topic " + name + " at " + bootstrap + ": " +
                             rd_kafka_event_error_string(event.get()));
  }
  size_t count = 0;
  const rd_kafka_topic_result_t** results =
      rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event.get()), &count);
  for (size_t i = 0; i < count; ++i) {
    if (rd_kafka_topic_result_error(results[i]) == RD_KAFKA_RESP_ERR_NO_ERROR) continue;
    const char* text = rd_kafka_topic_result_error_string(results[i]);
    throw std::runtime_error(
        "could not create topic " + name + ": " +
        (text != nullptr ? text : rd_kafka_err2str(rd_kafka_topic_result_error(results[i]))));
  }
  const auto deadline = std::chrono::steady_clock::now() + 30s;
  while (!has_leaders(client.get(), name, partitions)) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error("topic " + name + " has no leader 30 s after it was created");
    }
    std::this_thread::sleep_for(5ms);
  }
}

std::string unique_name(std::string_view prefix) {
  static std::atomic<unsigned> counter{0};
  static const unsigned run = std::random_device()();
  char suffix[64];
  std::snprintf(suffix, sizeof(suffix), "-%d-%u-%04x", static_cast<int>(::getpid()), ++counter,
                run & 0xffffU);
  return std::string(prefix) + suffix;
}

Broker::Broker(Options options) : options_(std::move(options)), directory_("sluice-broker") {
  start();
  const std::filesystem::path data = directory_.path();
  bootstrap_ = first_line(data / "bootstrap");
  direct_ = first_line(data / "direct");
  for (const std::string& line : lines_of(data / "ports")) {
    std::istringstream columns(line);
    std::string node, port;
    columns >> node >> port;
    listeners_.push_back("127.0.0.1:" + port);
  }
}

Broker::~Broker() {
  try {
    tool({"stop", "--now"}, 30s);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n",
                 error.what());  // The broker still ends with this process: --owner.
  }
}

void Broker::start(int node) const {
  std::vector<std::string> arguments = {"start", "--owner", std::to_string(::getpid())};
  if (node > 0) {
    arguments.insert(arguments.end(), {"--node", std::to_string(node)});
  } else {
    const std::string port = std::filesystem::exists(directory_.path() / "ports") ? "" : "0";
    if (!port.empty()) arguments.insert(arguments.end(), {"--port", port});
    arguments.insert(arguments.end(), {"--nodes", std::to_string(options_.nodes)});
    for (const std::string& property : options_.properties) {
      arguments.insert(arguments.end(), {"--set", property});
    }
    if (!options_.advertise.empty())
      arguments.insert(arguments.end(), {"--advertise", options_.advertise});
  }
  if (!options_.heap.empty()) arguments.insert(arguments.end(), {"--heap", options_.heap});
  // Minutes, because the first start on a machine fetches Kafka.
  tool(std::move(arguments), 600s);
}

void Broker::kill(int node) const {
  std::vector<std::string> arguments = {"stop", "--now"};
  if (node > 0) arguments.insert(arguments.end(), {"--node", std::to_string(node)});
  tool(std::move(arguments), 30s);
}

void Broker::pause(int node) const { signal(node, SIGSTOP); }
void Broker::resume(int node) const { signal(node, SIGCONT); }

void Broker::signal(int node, int number) const {
  for (int each = 1; each <= options_.nodes; ++each) {
    if (node != 0 && node != each) continue;
    std::ifstream file(directory_.path() / ("node-" + std::to_string(each)) / "pid");
    pid_t pid = 0;
    if (!(file >> pid) || ::kill(pid, number) != 0) {
      throw std::runtime_error("node " + std::to_string(each) + " does not run");
    }
  }
}

std::string Broker::tool(std::vector<std::string> arguments, std::chrono::seconds timeout) const {
  arguments.insert(arguments.begin(), (source_directory() / "tools/kafka").string());
  arguments.insert(arguments.end(), {"--data", (directory_.path()).string()});
  return run_program(std::move(arguments), timeout);
}

const SharedBroker& SharedBroker::get() {
  static const SharedBroker broker;
  return broker;
}

SharedBroker::SharedBroker() {
  const char* given = std::getenv("SLUICE_TEST_BROKER");
  if (given == nullptr || *given == '\0') own_ = std::make_unique<Broker>();
  bootstrap_ = own_ ? own_->bootstrap() : given;
}

}  // namespace sluice::testing
