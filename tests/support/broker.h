#pragma once

#include <support/process.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::testing {

/// Makes a topic and returns once every partition of it has a leader that clients are told of.
/// `configs` are key=value. std::runtime_error when the broker refuses or does not answer in 30 s.
void create_topic(const std::string& bootstrap, const std::string& name, int partitions,
                  const std::vector<std::string>& configs = {});

/// "orders-4711-3-9f2c": no other test, and no other run on the same broker, uses this name.
std::string unique_name(std::string_view prefix);

/// A real Apache Kafka of one's own on free ports of loopback, started in the constructor (2 s).
///
/// Lifetime   stopped and its data deleted on destruction, and within a second of this process's
/// end. Nodes      numbered from 1; node 0 means all of them. One node is broker and controller.
/// Errors     std::runtime_error with the output of tools/kafka.
class Broker {
 public:
  struct Options {
    int nodes = 1;
    std::vector<std::string> properties = {};  ///< key=value, any broker property
    /// What clients are told instead of the listener's address, for a proxy: "127.0.0.1:PORT", one
    /// a node, comma-separated.
    std::string advertise = {};
    std::string heap = {};  ///< "512m"
  };
  Broker() : Broker(Options()) {}
  explicit Broker(Options options);
  Broker(const Broker&) = delete;
  ~Broker();

  /// For clients: the addresses of the nodes, or what Options::advertise says.
  const std::string& bootstrap() const noexcept { return bootstrap_; }
  /// Where a proxy forwards to.
  const std::string& listener(int node = 1) const {
    return listeners_.at(static_cast<size_t>(node) - 1);
  }
  /// For those who read the truth beside the proxy.
  const std::string& direct() const noexcept { return direct_; }

  void create_topic(const std::string& name, int partitions,
                    const std::vector<std::string>& configs = {}) const {
    testing::create_topic(direct_, name, partitions, configs);
  }

  void pause(int node = 0) const;   ///< SIGSTOP: connections stay open, nothing answers
  void resume(int node = 0) const;  ///< SIGCONT
  void kill(int node = 0) const;    ///< SIGKILL; the data stays
  void start(int node = 0) const;   ///< after kill(), with the same ports, properties and data
  void restart(int node = 0) const {
    kill(node);
    start(node);
  }

 private:
  std::string tool(std::vector<std::string> arguments, std::chrono::seconds timeout) const;
  void signal(int node, int number) const;

  const Options options_;
  const TempDirectory directory_;
  std::string bootstrap_, direct_;
  std::vector<std::string> listeners_;
};

/// The broker that the tests of one run share: that of SLUICE_TEST_BROKER (tools/test starts it
/// once for all), or else one of this process, started at the first call. What a test makes on it
/// needs a unique_name().
class SharedBroker {
 public:
  static const SharedBroker& get();

  const std::string& bootstrap() const noexcept { return bootstrap_; }
  void create_topic(const std::string& name, int partitions,
                    const std::vector<std::string>& configs = {}) const {
    testing::create_topic(bootstrap_, name, partitions, configs);
  }
  /// A new topic with a name of its own; returns the name.
  std::string new_topic(std::string_view prefix, int partitions) const {
    std::string name = unique_name(prefix);
    create_topic(name, partitions);
    return name;
  }

 private:
  SharedBroker();

  std::unique_ptr<Broker> own_;
  std::string bootstrap_;
};

}  // namespace sluice::testing
