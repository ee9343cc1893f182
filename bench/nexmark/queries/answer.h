#pragma once

#include "nexmark/digest.h"
#include "nexmark/timed.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <sluice/engine/sink.h>

namespace sluice::nexmark {

/// What a run of a query answers, all shards together, and how long it took: from the first event that is made to the last barrier's
/// arrival at the last sink, so with the job's last checkpoint and without the engine's start. As Flink's jobs are timed.
///
/// Shard      any; a writer adds what it has at a barrier.
class Answer {
 public:
  explicit Answer(bool digests) : digests_(digests) {}
  [[nodiscard]] bool digests() const noexcept { return digests_; }

  void begin() {
    if (begun_.exchange(true)) return;
    cpu_begin_ = process_cpu_seconds();
    begin_ = std::chrono::steady_clock::now();
  }
  void add(const Digest& digest, std::uint64_t rows, std::uint64_t folded) {
    const std::lock_guard lock(mutex_);
    digest_.add(digest);
    rows_ += rows;
    folded_ ^= folded;
    end_ = std::chrono::steady_clock::now();
    cpu_end_ = process_cpu_seconds();
  }
  [[nodiscard]] const Digest& digest() const noexcept { return digest_; }
  [[nodiscard]] std::uint64_t rows() const noexcept { return digests_ ? digest_.rows() : rows_; }
  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(end_ - begin_).count(); }
  [[nodiscard]] double cpu_seconds() const noexcept { return cpu_end_ - cpu_begin_; }

 private:
  const bool digests_;
  std::atomic<bool> begun_ = false;
  std::chrono::steady_clock::time_point begin_{}, end_{};
  double cpu_begin_ = 0, cpu_end_ = 0;
  std::mutex mutex_;
  Digest digest_;
  std::uint64_t rows_ = 0, folded_ = 0;
};

/// Counts rows as the loops do, or digests them.
template <class Row>
class AnswerWriter final : public SinkWriter<Row> {
 public:
  explicit AnswerWriter(std::shared_ptr<Answer> answer) : answer_(std::move(answer)) {}
  asio::awaitable<Status> write(Batch<Row> batch, std::vector<Batch<Record>>&) override {
    if (answer_->digests()) {
      for (const Row& row : batch) digest_.emit(row);
    } else {
      for (const Row& row : batch) count_.emit(row);
    }
    co_return Status();
  }
  asio::awaitable<Status> prepare(Epoch, std::string&) override {
    answer_->add(digest_.digest, count_.rows, count_.folded);
    digest_.digest = {};
    count_ = {};
    co_return Status();
  }

 private:
  const std::shared_ptr<Answer> answer_;
  DigestRows digest_;
  CountRows count_;
};

template <class Row>
class AnswerSink final : public Sink<Row> {
 public:
  explicit AnswerSink(std::shared_ptr<Answer> answer) : answer_(std::move(answer)) {}
  std::string describe() const override { return "rows counted or digested"; }
  asio::awaitable<Status> check(Attempt&, const std::string&) override { co_return Status(); }
  std::unique_ptr<SinkWriter<Row>> writer(Attempt&, ShardId) override { return std::make_unique<AnswerWriter<Row>>(answer_); }

 private:
  const std::shared_ptr<Answer> answer_;
};

}  // namespace sluice::nexmark
