#include <sluice/io/offload.h>

#include <pthread.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include <sluice/io/base/assert.h>

namespace sluice::io {

struct OffloadThread::Impl {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> queue;
  bool closing = false;
  std::thread thread;

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return closing || !queue.empty(); });
      if (queue.empty()) return;
      std::function<void()> work = std::move(queue.front());
      queue.pop_front();
      lock.unlock();
      work();
      work = nullptr;  // What it captured dies here, not under the lock.
      lock.lock();
    }
  }
};

OffloadThread::OffloadThread(std::string name) : impl_(std::make_unique<Impl>()) {
  impl_->thread = std::thread([impl = impl_.get()] { impl->run(); });
  name.resize(std::min<std::size_t>(name.size(), 15));  // The kernel's limit.
  ::pthread_setname_np(impl_->thread.native_handle(), name.c_str());
}

OffloadThread::~OffloadThread() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->closing = true;
  }
  impl_->changed.notify_one();
  impl_->thread.join();
}

void OffloadThread::post(std::function<void()> work) {
  {
    const std::lock_guard lock(impl_->mutex);
    SLUICE_ASSERT(!impl_->closing);
    impl_->queue.push_back(std::move(work));
  }
  impl_->changed.notify_one();
}

}  // namespace sluice::io
