#include <fcntl.h>
#include <liburing.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <system_error>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>

#include <sluice/io/base/assert.h>
#include <sluice/io/internal/disk.h>
#include <sluice/io/internal/waiter.h>

namespace sluice::internal {
namespace {

constexpr unsigned kEntries = 64;

void fill(io_uring_sqe* entry, const DiskCall& call) {
  using Op = DiskCall::Op;
  switch (call.op) {
    case Op::kOpen: return io_uring_prep_openat(entry, AT_FDCWD, call.path, call.flags, 0644);
    case Op::kWrite: return io_uring_prep_write(entry, call.fd, call.from, call.bytes, call.offset);
    case Op::kRead: return io_uring_prep_read(entry, call.fd, call.into, call.bytes, call.offset);
    case Op::kSyncData: return io_uring_prep_fsync(entry, call.fd, IORING_FSYNC_DATASYNC);
    case Op::kSync: return io_uring_prep_fsync(entry, call.fd, 0);
    case Op::kClose: return io_uring_prep_close(entry, call.fd);
    case Op::kRename: return io_uring_prep_renameat(entry, AT_FDCWD, call.path, AT_FDCWD, call.to, 0);
    case Op::kUnlink: return io_uring_prep_unlinkat(entry, AT_FDCWD, call.path, 0);
    case Op::kRemoveDirectory: return io_uring_prep_unlinkat(entry, AT_FDCWD, call.path, AT_REMOVEDIR);
  }
}

/// A ring beside the loop's epoll: the kernel rings an eventfd for each completion, and the loop reads that.
/// Why not the ring inside of asio: decisions/0002-io-uring-beside-epoll.md.
class UringDisk final : public Disk {
 public:
  static Result<std::unique_ptr<Disk>> make(io::Executor executor);
  UringDisk(const UringDisk&) = delete;
  UringDisk& operator=(const UringDisk&) = delete;
  ~UringDisk() override;

  [[nodiscard]] asio::awaitable<std::int32_t> run(DiskCall call) override;
  [[nodiscard]] std::string_view kind() const noexcept override { return "io_uring"; }

 private:
  /// A call in flight, in the frame of the coroutine that made it. The entry in the ring carries its address.
  struct Flight {
    Waiter waiter;
    std::int32_t result = 0;
    bool landed = false;
    bool awaited = false;
  };
  enum class Wake : unsigned char { kPost, kResume };

  explicit UringDisk(io::Executor executor) : bell_(std::move(executor)) {}
  [[nodiscard]] int open_ring();
  [[nodiscard]] bool knows_our_calls();
  [[nodiscard]] int submit();
  void reap(WaiterList& woken);
  void listen();

  io_uring ring_{};
  bool ring_open_ = false;
  asio::posix::stream_descriptor bell_;
  std::uint64_t rings_ = 0;  // What is read from the bell; of no interest.
  bool listening_ = false;
  unsigned in_flight_ = 0;
  unsigned awaited_ = 0;
  const std::shared_ptr<char> alive_ = std::make_shared<char>();
};

int UringDisk::open_ring() {
  io_uring_params params{};
  params.flags = IORING_SETUP_COOP_TASKRUN;  // No interrupt of the shard for a completion: it looks soon enough.
  int error = io_uring_queue_init_params(kEntries, &ring_, &params);
  if (error == -EINVAL) {  // Linux before 5.19.
    params = {};
    error = io_uring_queue_init_params(kEntries, &ring_, &params);
  }
  if (error != 0) return -error;
  ring_open_ = true;
  if (!knows_our_calls()) return ENOSYS;
  const int bell = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (bell < 0) return errno;
  boost::system::error_code refused;
  bell_.assign(bell, refused);
  if (refused) {
    ::close(bell);
    return refused.value();
  }
  return -io_uring_register_eventfd(&ring_, bell);
}

bool UringDisk::knows_our_calls() {
  const std::unique_ptr<io_uring_probe, void (*)(io_uring_probe*)> probe(io_uring_get_probe_ring(&ring_),
                                                                         io_uring_free_probe);
  if (!probe) return false;
  for (const int call : {IORING_OP_OPENAT, IORING_OP_WRITE, IORING_OP_READ, IORING_OP_FSYNC, IORING_OP_CLOSE,
                         IORING_OP_RENAMEAT, IORING_OP_UNLINKAT}) {
    if (io_uring_opcode_supported(probe.get(), call) == 0) return false;
  }
  return true;
}

Result<std::unique_ptr<Disk>> UringDisk::make(io::Executor executor) {
  std::unique_ptr<UringDisk> made(new UringDisk(std::move(executor)));
  if (const int error = made->open_ring(); error != 0) {
    return Status(Code::kInvalid,
                  fmt::format("could not start io_uring: {}; allow it (sysctl kernel.io_uring_disabled, the container's "
                              "seccomp profile, Linux 5.11 or newer), or have files written by threads",
                              std::generic_category().message(error)));
  }
  return std::unique_ptr<Disk>(std::move(made));
}

UringDisk::~UringDisk() {
  // The kernel may still read the buffers of what is in flight, so their coroutines go only after it is done.
  while (in_flight_ > 0) {
    io_uring_cqe* entry = nullptr;
    if (io_uring_wait_cqe(&ring_, &entry) != 0) continue;  // A signal.
    WaiterList dropped;
    reap(dropped);
    while (Waiter* waiter = dropped.pop()) waiter->drop();
  }
  if (ring_open_) io_uring_queue_exit(&ring_);
}

/// 0, or the -errno with which the entry was taken back.
int UringDisk::submit() {
  int error = -EAGAIN;
  for (int tries = 0; tries < 100 && (error == -EAGAIN || error == -EBUSY || error == -EINTR); ++tries) {
    const int submitted = io_uring_submit(&ring_);
    if (submitted > 0) return 0;
    error = submitted == 0 ? -EAGAIN : submitted;
  }
  return error;
}

asio::awaitable<std::int32_t> UringDisk::run(DiskCall call) {
  io_uring_sqe* entry = io_uring_get_sqe(&ring_);
  if (entry == nullptr) co_return -EAGAIN;  // Full of entries that could not be submitted.
  Flight flight;
  fill(entry, call);
  io_uring_sqe_set_data(entry, &flight);
  if (const int error = submit(); error != 0) {
    // The kernel has not seen it. Whoever submits next sends a no-op in its place, and nobody misses the answer.
    io_uring_prep_nop(entry);
    io_uring_sqe_set_data(entry, nullptr);
    co_return error;
  }
  ++in_flight_;
  // A write into the page cache has landed by now: no need to sleep until the bell is heard.
  WaiterList woken;
  reap(woken);
  while (Waiter* waiter = woken.pop()) waiter->post(true);
  if (!flight.landed) {
    auto start = [this, at = &flight] {
      at->awaited = true;
      ++awaited_;
      listen();
    };
    (void)co_await suspend(flight.waiter, start);
  }
  co_return flight.result;
}

/// Takes what the kernel has completed; who slept for it goes to `woken`.
void UringDisk::reap(WaiterList& woken) {
  std::array<io_uring_cqe*, kEntries> entries;
  while (const unsigned count = io_uring_peek_batch_cqe(&ring_, entries.data(), kEntries)) {
    for (unsigned at = 0; at < count; ++at) {
      auto* flight = static_cast<Flight*>(io_uring_cqe_get_data(entries[at]));
      if (flight == nullptr) continue;
      --in_flight_;
      flight->result = entries[at]->res;
      flight->landed = true;
      if (!flight->awaited) continue;
      --awaited_;
      woken.push(&flight->waiter);
    }
    io_uring_cq_advance(&ring_, count);
  }
}

/// Every completion rings, those too that were reaped without listening; so a read of the bell always ends, and the
/// loop runs out of work when the last call has ended.
void UringDisk::listen() {
  if (listening_ || awaited_ == 0) return;
  listening_ = true;
  auto heard = [this, alive = std::weak_ptr<char>(alive_)](const boost::system::error_code& error, std::size_t) {
    if (alive.expired()) return;
    listening_ = false;
    WaiterList woken;
    if (!error) reap(woken);
    listen();  // Before the coroutines run: they may end this object.
    while (Waiter* waiter = woken.pop()) waiter->resume(true);
  };
  bell_.async_read_some(asio::buffer(&rings_, sizeof rings_), std::move(heard));
}

}  // namespace

Result<std::unique_ptr<Disk>> make_uring_disk(io::Executor executor) { return UringDisk::make(std::move(executor)); }

}  // namespace sluice::internal
