#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace sluice::testing {

/// Kinds of Kafka requests, by the number they have in the protocol.
enum class ApiKey : std::int16_t {
  kAny = -1,
  kProduce = 0,
  kFetch = 1,
  kListOffsets = 2,
  kMetadata = 3,
  kOffsetCommit = 8,
  kOffsetFetch = 9,
  kFindCoordinator = 10,
  kInitProducerId = 22,
  kAddPartitionsToTxn = 24,
  kAddOffsetsToTxn = 25,
  kEndTxn = 26,
  kTxnOffsetCommit = 28,
};

/// Stands between Kafka clients and one broker on loopback, and delays, loses or cuts what a test
/// names.
///
/// It knows requests and answers apart, so a fault hits exactly "every third answer to EndTxn".
/// Like a network it keeps the order within a connection: what is behind something delayed waits
/// too. Unlike a client it does not give up: a delayed request reaches the broker even when the
/// client that sent it has closed the connection meanwhile.
///
/// Threads    one of its own; all functions may be called from any thread.
/// Errors     std::runtime_error when it cannot listen. A broker that cannot be reached closes the
/// connection.
///
///     Proxy proxy;
///     Broker broker({.advertise = proxy.address()});  // Else clients would go around it.
///     proxy.forward_to(broker.listener());
///     const Proxy::RuleId lost = proxy.add({.api = ApiKey::kEndTxn, .action =
///     Proxy::Action::kLoseAnswer, .every = 3}); … EXPECT_GT(proxy.fired(lost), 0U);
class Proxy {
 public:
  enum class Action {
    kDelayAnswer,  ///< by Rule::delay
    kLoseAnswer,   ///< and close the connection: the client learns at once that something is wrong
    kLoseAnswerKeepOpen,   ///< and nothing more is ever said on this connection: the client has to
                           ///< time out
    kDelayRequest,         ///< by Rule::delay, also beyond the end of the client
    kHoldRequest,          ///< until release()
    kLoseRequest,          ///< and close the connection
    kLoseRequestKeepOpen,  ///< and nothing more passes on this connection, in either direction
  };
  struct Rule {
    ApiKey api = ApiKey::kAny;
    Action action = Action::kDelayAnswer;
    std::chrono::milliseconds delay{0};
    std::uint64_t every = 1;               ///< of the requests of this kind: the nth, the 2nth …
    std::uint64_t times_max = UINT64_MAX;  ///< then it only counts what passes
  };
  enum class RuleId : std::size_t {};

  Proxy();  ///< listens on a free port of 127.0.0.1
  Proxy(const Proxy&) = delete;
  ~Proxy();

  /// "127.0.0.1:PORT", where clients connect to
  const std::string& address() const noexcept;
  /// "127.0.0.1:PORT" of the broker, for connections from now on
  void forward_to(const std::string& address);

  /// The first rule whose turn it is acts on a request; every rule counts.
  RuleId add(Rule rule);
  void clear_rules();  ///< held requests go on; counters stay
  void release();      ///< held requests go on; the rules that held them stay
  void cut();  ///< closes all connections; what was held or delayed for the broker still reaches it

  std::uint64_t fired(RuleId rule) const;
  bool wait_fired(RuleId rule, std::uint64_t times, std::chrono::milliseconds timeout) const;
  std::uint64_t requests(ApiKey api) const;  ///< how many of this kind came by
  std::uint64_t late_requests() const;       ///< reached the broker after their client was gone
  std::uint64_t connections() const;         ///< were accepted so far

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace sluice::testing
