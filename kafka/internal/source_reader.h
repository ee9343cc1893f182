#pragma once

#include <sluice/engine/source.h>
#include <sluice/kafka/internal/partition_reader.h>
#include <sluice/kafka/serde.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace sluice::kafka::internal {

/// Turns fetches into batches of T: one split and one share of the fetch's memory each.
template <class T, class D>
class KafkaReader final : public SourceReader<T> {
 public:
  KafkaReader(std::shared_ptr<SourceCore> core, D deserializer)
      : reader_(std::move(core)), deserializer_(std::move(deserializer)) {}

  asio::awaitable<Status> open(const Context& context, std::vector<SplitPosition> starts,
                               io::Event& arrival) override {
    Context mine = context;
    return reader_.open(std::move(mine), std::move(starts), &arrival);
  }
  asio::awaitable<Result<Polled>> poll(SourceOutput<T>& out) override {
    if (reader_.ended()) co_return Polled::kEnd;
    Result<kafka::Fetch> fetch = reader_.fetch();
    if (!fetch.ok()) co_return fetch.status();
    Status converted;
    if (!fetch->runs.empty()) converted = convert(*fetch, out);
    if (!converted.ok()) co_return converted;
    reader_.take_ended(out.ended);
    co_return fetch->runs.empty() ? Polled::kNothing : Polled::kData;
  }
  std::vector<SplitPosition> positions() const override { return reader_.positions(); }
  asio::awaitable<Status> add(SplitPosition start) override {
    return reader_.add(std::move(start));
  }
  bool pause(const Split& split, bool on) override { return reader_.pause(split, on); }
  void checkpoint_complete(Epoch) override { reader_.checkpoint_complete(); }
  asio::awaitable<Status> close() override { return reader_.close(); }

 private:
  static constexpr bool kWhole =
      std::same_as<T, Record> && std::same_as<D, kafka::RecordDeserializer>;

  Status convert(kafka::Fetch& fetch, SourceOutput<T>& out) {
    reader_.start_poll();
    const std::size_t payload = payload_of(fetch.records);
    // Small fetches of one partition, the usual ones under light load, are one batch.
    const bool one = fetch.runs.size() == 1 && fetch.records.size() <= Batch<T>::kRecordsMax &&
                     payload <= Batch<T>::kBytesMax;
    if constexpr (kWhole) {
      if (one) {
        const kafka::FetchedRun& run = fetch.runs.front();
        const std::span<const Record> taken = reader_.take(run, fetch.records);
        if (taken.size() == fetch.records.size() && !taken.empty()) {
          Batch<Record> batch;
          batch.set_split(reader_.part(run.assignment).split);
          batch.times().reserve(taken.size());
          for (const Record& record : taken) batch.times().push_back(record.time);
          batch.records() = std::move(fetch.records);
          batch.own(std::move(fetch.memory), fetch.bytes);
          out.batches.push_back(std::move(batch));
          return {};
        }
        return cut(run, taken, fetch, payload, out);
      }
    }
    for (const kafka::FetchedRun& run : fetch.runs) {
      const std::span<const Record> taken = reader_.take(run, fetch.records);
      if (one) {
        SLUICE_TRY(make(run, taken, fetch.memory, fetch.bytes, out));
      } else {
        SLUICE_TRY(cut(run, taken, fetch, payload, out));
      }
    }
    return {};
  }
  static std::size_t payload_of(std::span<const Record> records) noexcept {
    std::size_t bytes = 0;
    for (const Record& record : records) bytes += record.key.size() + record.value.size();
    return bytes;
  }
  /// A run as several batches.
  Status cut(const kafka::FetchedRun& run, std::span<const Record> records,
             const kafka::Fetch& fetch, std::size_t payload, SourceOutput<T>& out) {
    while (!records.empty()) {
      std::size_t count = 0, bytes = 0;
      const std::size_t most = std::min(records.size(), Batch<T>::kRecordsMax);
      while (count < most && bytes < Batch<T>::kBytesMax) {
        bytes += records[count].key.size() + records[count].value.size();
        ++count;
      }
      // Half by payload, half by number: the client's overhead goes with each record, and an empty
      // fetch divides by nothing.
      const double part =
          0.5 * static_cast<double>(count) / static_cast<double>(fetch.records.size()) +
          0.5 * (payload == 0 ? 0.0 : static_cast<double>(bytes) / static_cast<double>(payload));
      const auto share = static_cast<std::size_t>(static_cast<double>(fetch.bytes) * part);
      SLUICE_TRY(make(run, records.first(count), fetch.memory, share, out));
      records = records.subspan(count);
    }
    return {};
  }
  Status make(const kafka::FetchedRun& run, std::span<const Record> records, const Memory& memory,
              std::size_t share, SourceOutput<T>& out) {
    if (records.empty()) return {};
    const PartitionReader::Part& part = reader_.part(run.assignment);
    Batch<T> batch;
    batch.set_split(part.split);
    batch.own(memory, share);
    std::vector<T>& values = batch.records();
    std::vector<EventTime>& times = batch.times();
    times.reserve(records.size());
    if constexpr (kWhole) {
      values.assign(records.begin(), records.end());
      for (const Record& record : records) times.push_back(record.time);
    } else {
      values.reserve(records.size());
      std::shared_ptr<Arena> arena;
      if constexpr (DeserializerWithArena<D, T>) arena = std::make_shared<Arena>();
      Status why;
      for (const Record& record : records) {
        T& value = values.emplace_back();
        const Read outcome = read(record, arena.get(), value, why);
        if (outcome == Read::kTaken) [[likely]] {
          times.push_back(record.time);
          continue;
        }
        values.pop_back();
        if (outcome == Read::kMalformed)
          SLUICE_TRY(reader_.refuse(part, record, why, memory, out.rejected));
      }
      if (arena && arena->bytes() != 0) batch.own(arena, arena->bytes());
    }
    if (!batch.empty()) out.batches.push_back(std::move(batch));
    return {};
  }
  /// A deserializer is user code: what it throws is one more way to refuse a record.
  [[gnu::always_inline]] Read read(const Record& record, [[maybe_unused]] Arena* arena, T& value,
                                   Status& why) {
    try {
      const auto call = [&]() -> decltype(auto) {
        if constexpr (DeserializerWithArena<D, T>) {
          return deserializer_(record, *arena, value);
        } else {
          return deserializer_(record, value);
        }
      };
      return read_outcome(call, why);
    } catch (const std::exception& thrown) {
      why = Status(Code::kCorrupt, "the deserializer threw:", thrown.what());
      return Read::kMalformed;
    }
  }

  PartitionReader reader_;
  D deserializer_;
};

}  // namespace sluice::kafka::internal
