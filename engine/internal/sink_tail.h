#pragma once

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include <sluice/engine/internal/stage.h>
#include <sluice/engine/internal/tail.h>
#include <sluice/engine/sink.h>
#include <sluice/io/base/kill_point.h>

namespace sluice::internal {

/// The end of a stage: a writer, and in front of it the hold buffer of the commit protocol. Behind barrier N nothing is handed
/// over before the coordinator says that N+1 has begun; batches wait here, by reference, up to `hold_bytes_max`, then the stage
/// waits and with it the sources.
template <class T>
class SinkTail final : public Tail<T>, public Holder {
 public:
  SinkTail(Context context, std::size_t hold_bytes_max, bool holds, std::unique_ptr<SinkWriter<T>> writer,
           std::unique_ptr<Tail<Record>> rejected)
      : context_(std::move(context)),
        hold_bytes_max_(hold_bytes_max),
        holds_(holds),
        writer_(std::move(writer)),
        rejected_(std::move(rejected)),
        released_(context_.executor),
        held_total_(context_.metrics->counter("sluice_held_batches_total")),
        records_(context_.metrics->counter("sluice_sink_records_total")) {}

  asio::awaitable<Status> open() override {
    Status opened = co_await rejected_->open();
    if (!opened.ok()) co_return opened;
    opened = co_await writer_->open(context_);
    co_return opened;
  }
  asio::awaitable<Status> push(Batch<T> batch) override {
    if (holding_) {
      Status let_go = co_await flush_if_released();
      if (!let_go.ok()) co_return let_go;
    }
    if (!holding_) {
      Status written = co_await write(std::move(batch));
      co_return written;
    }
    held_bytes_ += batch.weight();
    held_.push_back(std::move(batch));
    held_total_->add(1);
    while (holding_ && held_bytes_ >= hold_bytes_max_) {
      Status waited = co_await released_.wait();
      if (!waited.ok()) co_return waited;
      Status flushed = co_await flush_if_released();
      if (!flushed.ok()) co_return flushed;
    }
    co_return Status();
  }
  asio::awaitable<Status> control(Control control, CheckpointData& acknowledged) override {
    if (control.kind == Control::Kind::kBarrier) {
      // One checkpoint at a time: the next barrier is only asked for when this sink was told to let go.
      Status let_go = co_await flush_if_released();
      if (!let_go.ok()) co_return let_go;
      SLUICE_ASSERT(!holding_);
      PreparedOutput prepared{context_.operator_id, context_.shard, {}};
      Status done = co_await writer_->prepare(control.epoch, prepared.bytes);
      if (!done.ok()) co_return done;
      if (!prepared.bytes.empty()) acknowledged.prepared.push_back(std::move(prepared));
      holding_ = holds_;
      kill_point("barrier.passed");
    }
    Status passed = co_await rejected_->control(control, acknowledged);
    co_return passed;
  }
  asio::awaitable<Status> wake() override {
    Status flushed = co_await flush_if_released();
    if (!flushed.ok()) co_return flushed;
    flushed = co_await rejected_->wake();
    co_return flushed;
  }
  io::Monotonic deadline() override { return rejected_->deadline(); }
  asio::awaitable<Status> tick(io::Monotonic now) override { return rejected_->tick(now); }
  void notify(Epoch epoch, bool complete) override { rejected_->notify(epoch, complete); }
  asio::awaitable<Status> close() override {
    held_.clear();
    Status mine = co_await writer_->close();
    Status closed = co_await rejected_->close();
    co_return mine.ok() ? closed : mine;
  }
  void request_release() override {
    release_requested_ = true;
    released_.set();
  }

 private:
  asio::awaitable<Status> flush_if_released() {
    if (!release_requested_) co_return Status();
    release_requested_ = false;
    while (!held_.empty()) {
      Batch<T> batch = std::move(held_.front());
      held_.pop_front();
      Status written = co_await write(std::move(batch));
      if (!written.ok()) co_return written;
    }
    held_bytes_ = 0;
    if (holding_) kill_point("hold.released");
    holding_ = false;
    co_return Status();
  }
  asio::awaitable<Status> write(Batch<T> batch) {
    records_->add(batch.size());
    rejects_.clear();
    Status written = co_await writer_->write(std::move(batch), rejects_);
    if (!written.ok()) co_return written;
    for (Batch<Record>& reject : rejects_) {
      Status pushed = co_await rejected_->push(std::move(reject));
      if (!pushed.ok()) co_return pushed;
    }
    co_return Status();
  }

  const Context context_;
  const std::size_t hold_bytes_max_;
  const bool holds_;
  std::unique_ptr<SinkWriter<T>> writer_;
  std::unique_ptr<Tail<Record>> rejected_;
  bool holding_ = false;
  bool release_requested_ = false;
  std::deque<Batch<T>> held_;
  std::size_t held_bytes_ = 0;
  std::vector<Batch<Record>> rejects_;
  io::Event released_;
  std::shared_ptr<Counter> held_total_;
  std::shared_ptr<Counter> records_;
};

}  // namespace sluice::internal
