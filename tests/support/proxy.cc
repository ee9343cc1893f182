#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <support/proxy.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace sluice::testing {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// A peer that does not read must not fill memory; a test's frames are far smaller.
constexpr size_t kQueuedBytesMax = 32 << 20;
// How long a connection whose client is gone waits for the broker to answer what it was sent late.
constexpr auto kAfterlife = 10s;

std::int32_t int32_at(std::string_view bytes, size_t position) {
  std::uint32_t value;
  std::memcpy(&value, bytes.data() + position, sizeof(value));
  return static_cast<std::int32_t>(ntohl(value));
}

std::int16_t int16_at(std::string_view bytes, size_t position) {
  std::uint16_t value;
  std::memcpy(&value, bytes.data() + position, sizeof(value));
  return static_cast<std::int16_t>(ntohs(value));
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

struct Frame {
  std::string bytes;
  Clock::time_point due{};  // In the past: at once.
  bool held = false;
};

/// One side of a connection: what came in and is no whole frame yet, and what is to go out.
struct Side {
  int fd = -1;
  std::string in;
  std::deque<Frame> out;
  size_t out_bytes = 0;
  size_t written = 0;  // Of the first frame.

  bool open() const { return fd >= 0; }
  void close() {
    if (open()) ::close(std::exchange(fd, -1));
  }
  void push(Frame frame) {
    out_bytes += frame.bytes.size();
    out.push_back(std::move(frame));
  }
  bool ready(Clock::time_point now) const {
    return !out.empty() && !out.front().held && out.front().due <= now;
  }

  /// The next whole frame, with its length in front; empty when there is none.
  std::string next_frame(size_t& position) const {
    if (in.size() - position < 4) return {};
    const std::int32_t length = int32_at(in, position);
    if (length < 0 || in.size() - position - 4 < static_cast<size_t>(length)) return {};
    std::string frame = in.substr(position, 4 + static_cast<size_t>(length));
    position += frame.size();
    return frame;
  }

  /// False when the peer is gone.
  bool read() {
    char buffer[64 << 10];
    for (;;) {
      const ssize_t count = ::recv(fd, buffer, sizeof(buffer), 0);
      if (count > 0) {
        in.append(buffer, static_cast<size_t>(count));
        if (static_cast<size_t>(count) < sizeof(buffer)) return true;
      } else {
        return count < 0 && (errno == EAGAIN || errno == EINTR);
      }
    }
  }

  /// False when the peer is gone. `sent` counts whole frames.
  bool write(Clock::time_point now, std::uint64_t& sent) {
    while (ready(now)) {
      const std::string& bytes = out.front().bytes;
      const ssize_t count =
          ::send(fd, bytes.data() + written, bytes.size() - written, MSG_NOSIGNAL);
      if (count < 0) return errno == EAGAIN || errno == EINTR || errno == ENOTCONN;
      written += static_cast<size_t>(count);
      if (written < bytes.size()) continue;
      out_bytes -= bytes.size();
      out.pop_front();
      written = 0;
      ++sent;
    }
    return true;
  }
};

/// What is to happen with the answer to a request.
struct Fate {
  Proxy::Action action;
  std::chrono::milliseconds delay;
};
// For requests whose answer is only waited for, so that their connection lives that long.
constexpr Fate kPass{.action = Proxy::Action::kDelayAnswer, .delay = 0ms};

struct Connection {
  Side client, broker;
  bool connected = false;              // To the broker; until then nothing is read from it.
  bool mute = false;                   // Nothing passes to the client any more.
  bool deaf = false;                   // Nothing passes to the broker any more.
  std::map<std::int32_t, Fate> fates;  // By correlation id.
  Clock::time_point client_gone{};

  /// The broker's side lives on while it has something to deliver.
  void lose_client(Clock::time_point now) {
    if (!client.open()) return;
    client.close();
    client_gone = now;
    if (broker.out.empty()) broker.close();
  }
  void close() {
    client.close();
    broker.close();
  }
  bool dead() const { return !client.open() && !broker.open(); }
};

}  // namespace

class Proxy::Loop {
 public:
  Loop() {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof(address);
    if (listener_ < 0 ||
        ::bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
        ::listen(listener_, 128) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      throw std::runtime_error(std::string("a proxy could not listen: ") + std::strerror(errno));
    }
    wake_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    address_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
    thread_ = std::thread([this] { run(); });
  }

  ~Loop() {
    change([this] { stopping_ = true; });
    thread_.join();
    for (Connection& connection : connections_) connection.close();
    ::close(listener_);
    ::close(wake_);
  }

  const std::string& address() const { return address_; }

  /// Changes the state between two turns of the loop, which then looks at it anew.
  template <class Change>
  std::invoke_result_t<Change> change(Change&& body) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof(one));
    return body();
  }

  template <class Look>
  std::invoke_result_t<Look> look(Look&& body) const {
    const std::lock_guard lock(mutex_);
    return body();
  }

  bool wait_fired(size_t rule, std::uint64_t times, std::chrono::milliseconds timeout) const {
    std::unique_lock lock(mutex_);
    return fired_.wait_for(lock, timeout, [&] { return rules_.at(rule).fired >= times; });
  }

  void release() {
    for (Connection& connection : connections_) {
      for (Frame& frame : connection.broker.out) frame.held = false;
    }
  }

  struct Counted {
    Rule rule;
    bool active = true;
    std::uint64_t matched = 0;
    std::uint64_t fired = 0;
  };

  // Guarded by mutex_, which the loop holds except while it waits.
  std::vector<Counted> rules_;
  std::map<std::int16_t, std::uint64_t> requests_;
  std::uint64_t requests_total_ = 0;
  std::uint64_t late_ = 0;
  std::uint64_t accepted_ = 0;
  std::uint16_t upstream_ = 0;
  bool cut_ = false;
  bool stopping_ = false;

 private:
  void run() {
    std::unique_lock lock(mutex_);
    std::vector<pollfd> polled;
    while (!stopping_) {
      polled.clear();
      polled.push_back({.fd = wake_, .events = POLLIN, .revents = 0});
      polled.push_back({.fd = listener_, .events = POLLIN, .revents = 0});
      const int timeout_ms = watch(polled);
      lock.unlock();
      ::poll(polled.data(), polled.size(), timeout_ms);
      lock.lock();
      std::uint64_t ignored;
      if (polled[0].revents != 0) {
        [[maybe_unused]] const ssize_t count = ::read(wake_, &ignored, sizeof(ignored));
      }
      if (polled[1].revents != 0) accept();
      turn();
    }
  }

  /// What to wait for, and for how long.
  int watch(std::vector<pollfd>& polled) const {
    const auto now = Clock::now();
    auto wake = now + 1s;
    const auto add = [&](const Side& side, const Side& other, bool connecting) {
      if (!side.open()) return;
      short events = other.out_bytes < kQueuedBytesMax ? POLLIN : 0;
      if (connecting || side.ready(now)) events |= POLLOUT;
      if (!side.out.empty() && !side.out.front().held && side.out.front().due > now) {
        wake = std::min(wake, side.out.front().due);
      }
      polled.push_back({.fd = side.fd, .events = events, .revents = 0});
    };
    for (const Connection& connection : connections_) {
      add(connection.client, connection.broker, false);
      add(connection.broker, connection.client, !connection.connected);
    }
    return static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(wake - now).count());
  }

  void accept() {
    for (;;) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) return;
      ++accepted_;
      Connection connection;
      connection.client.fd = fd;
      connection.broker.fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      ::setsockopt(connection.broker.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
      const sockaddr_in to = loopback(upstream_);
      if (::connect(connection.broker.fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) !=
              0 &&
          errno != EINPROGRESS) {
        connection.close();
        continue;
      }
      connections_.push_back(std::move(connection));
    }
  }

  /// Sockets do not block, so each turn simply tries them all: a test has a handful.
  void turn() {
    const auto now = Clock::now();
    const bool cut = std::exchange(cut_, false);
    for (Connection& connection : connections_) {
      if (cut) connection.lose_client(now);
      if (!connection.connected && connection.broker.open()) connect(connection, now);
      if (connection.client.open()) {
        const bool alive =
            connection.broker.out_bytes >= kQueuedBytesMax || connection.client.read();
        requests(connection, now);
        if (!alive) connection.lose_client(now);
      }
      if (connection.connected && connection.broker.open()) serve_broker(connection, now);
      std::uint64_t sent = 0;
      if (connection.client.open() && !connection.client.write(now, sent))
        connection.lose_client(now);
    }
    connections_.remove_if([](const Connection& connection) { return connection.dead(); });
  }

  static void connect(Connection& connection, Clock::time_point now) {
    pollfd polled{.fd = connection.broker.fd, .events = POLLOUT, .revents = 0};
    if (::poll(&polled, 1, 0) != 1) return;
    int error = 0;
    socklen_t size = sizeof(error);
    ::getsockopt(connection.broker.fd, SOL_SOCKET, SO_ERROR, &error, &size);
    connection.connected = error == 0;
    if (!connection.connected) {
      connection.broker.out.clear();
      connection.lose_client(now);
      connection.close();
    }
  }

  void serve_broker(Connection& connection, Clock::time_point now) {
    std::uint64_t sent = 0;
    const bool writable = connection.broker.write(now, sent);
    if (!connection.client.open() && sent > 0) {
      late_ += sent;
      connection.client_gone =
          now;  // The afterlife begins with the last request that was delivered.
    }
    const bool alive = connection.client.out_bytes >= kQueuedBytesMax || connection.broker.read();
    answers(connection, now);
    if (!writable || !alive) {
      // A broker that goes away takes its answers along: what is queued for the client still goes
      // out.
      connection.broker.close();
      std::uint64_t flushed = 0;
      if (connection.client.open()) connection.client.write(now, flushed);
      if (!connection.mute) connection.client.close();
    } else if (!connection.client.open() && connection.broker.out.empty() &&
               (connection.fates.empty() || now - connection.client_gone > kAfterlife)) {
      connection.broker.close();
    }
  }

  // Client to broker.
  void requests(Connection& connection, Clock::time_point now) {
    size_t position = 0;
    for (;;) {
      std::string bytes = connection.client.next_frame(position);
      if (bytes.size() < 12) break;  // length, api key, version, correlation id
      const std::int16_t api = int16_at(bytes, 4);
      const std::int32_t correlation = int32_at(bytes, 8);
      ++requests_[api];
      ++requests_total_;
      Frame frame{.bytes = std::move(bytes)};
      if (const Rule* rule = match(api)) {
        switch (rule->action) {
          case Action::kDelayAnswer:
          case Action::kLoseAnswer:
          case Action::kLoseAnswerKeepOpen:
            connection.fates[correlation] = {.action = rule->action, .delay = rule->delay};
            break;
          case Action::kDelayRequest:
            frame.due = now + rule->delay;
            connection.fates[correlation] = kPass;
            break;
          case Action::kHoldRequest:
            frame.held = true;
            connection.fates[correlation] = kPass;
            break;
          case Action::kLoseRequest:
            connection.close();
            return;
          case Action::kLoseRequestKeepOpen:
            connection.mute = connection.deaf = true;
            break;
        }
      }
      if (connection.deaf) continue;
      // What waits behind a delayed request may outlive the client too, and its answer is awaited.
      if (!connection.broker.out.empty()) connection.fates.try_emplace(correlation, kPass);
      connection.broker.push(std::move(frame));
    }
    connection.client.in.erase(0, position);
  }

  // Broker to client.
  void answers(Connection& connection, Clock::time_point now) {
    size_t position = 0;
    for (;;) {
      std::string bytes = connection.broker.next_frame(position);
      if (bytes.size() < 8) break;  // length, correlation id
      Frame frame{.bytes = std::move(bytes)};
      const auto fate = connection.fates.find(int32_at(frame.bytes, 4));
      if (fate != connection.fates.end()) {
        const Fate decided = fate->second;
        connection.fates.erase(fate);
        if (decided.action == Action::kDelayAnswer) frame.due = now + decided.delay;
        if (decided.action == Action::kLoseAnswerKeepOpen) connection.mute = true;
        if (decided.action == Action::kLoseAnswer) {
          connection.mute = true;
          connection.lose_client(now);
        }
      }
      if (!connection.mute && connection.client.open()) connection.client.push(std::move(frame));
    }
    connection.broker.in.erase(0, position);
  }

  const Rule* match(std::int16_t api) {
    const Rule* chosen = nullptr;
    for (Counted& each : rules_) {
      if (!each.active) continue;
      if (each.rule.api != ApiKey::kAny && each.rule.api != ApiKey{api}) continue;
      ++each.matched;
      const bool turn = each.matched % each.rule.every == 0 && each.fired < each.rule.times_max;
      if (!turn || chosen != nullptr) continue;
      ++each.fired;
      chosen = &each.rule;
    }
    if (chosen != nullptr) fired_.notify_all();
    return chosen;
  }

  mutable std::mutex mutex_;
  mutable std::condition_variable fired_;
  std::list<Connection> connections_;
  int listener_ = -1;
  int wake_ = -1;
  std::string address_;
  std::thread thread_;
};

Proxy::Proxy() : loop_(std::make_unique<Loop>()) {}
Proxy::~Proxy() = default;

const std::string& Proxy::address() const noexcept { return loop_->address(); }

void Proxy::forward_to(const std::string& address) {
  const int port = std::stoi(address.substr(address.rfind(':') + 1));
  loop_->change([&] { loop_->upstream_ = static_cast<std::uint16_t>(port); });
}

Proxy::RuleId Proxy::add(Rule rule) {
  if (rule.every == 0)
    throw std::runtime_error("a proxy's rule fires at every 1st request or rarer");
  return loop_->change([&] {
    loop_->rules_.push_back({.rule = rule});
    return RuleId{loop_->rules_.size() - 1};
  });
}

void Proxy::clear_rules() {
  loop_->change([this] {
    for (auto& each : loop_->rules_) each.active = false;
    loop_->release();
  });
}

void Proxy::release() {
  loop_->change([this] { loop_->release(); });
}

void Proxy::cut() {
  loop_->change([this] { loop_->cut_ = true; });
}

std::uint64_t Proxy::fired(RuleId rule) const {
  return loop_->look([&] { return loop_->rules_.at(static_cast<size_t>(rule)).fired; });
}

bool Proxy::wait_fired(RuleId rule, std::uint64_t times, std::chrono::milliseconds timeout) const {
  return loop_->wait_fired(static_cast<size_t>(rule), times, timeout);
}

std::uint64_t Proxy::requests(ApiKey api) const {
  return loop_->look([&] {
    if (api == ApiKey::kAny) return loop_->requests_total_;
    const auto found = loop_->requests_.find(static_cast<std::int16_t>(api));
    return found == loop_->requests_.end() ? 0 : found->second;
  });
}

std::uint64_t Proxy::late_requests() const {
  return loop_->look([this] { return loop_->late_; });
}

std::uint64_t Proxy::connections() const {
  return loop_->look([this] { return loop_->accepted_; });
}

}  // namespace sluice::testing
