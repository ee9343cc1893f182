#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <sluice/kafka/internal/model_faults.h>
#include <sluice/kafka/internal/model_groups.h>
#include <sluice/kafka/internal/model_log.h>
#include <sluice/kafka/internal/model_transactions.h>
#include <sluice/kafka/model.h>

namespace sluice::kafka::internal {

/// A client's handle, as the broker sees it. Called with the mutex held; rings bells, never waits.
class ModelHandle {
 public:
  virtual ~ModelHandle() = default;
  /// The partition's log, or what is readable of it, changed.
  virtual void on_log(const TopicPartition&) {}
  /// What was refused or held back may go through now.
  virtual void on_progress() {}
  virtual void on_disconnect() {}
  virtual void on_connect() {}
};

/// The broker: what each request does, and the steps that follow a decision. Everything but `mutex` needs the mutex held.
/// A request is executed at once and as a whole; whether its answer arrives is decided in ModelFaults.
class ModelState {
 public:
  using Identity = ModelTransactions::Identity;
  struct Topic {
    std::vector<ModelLog> logs;
    std::size_t message_bytes_max = 0;
    bool log_append_time = false;
  };

  ModelState(ModelOptions given, io::Clock& time);
  std::mutex mutex;

  // ---- requests ----
  [[nodiscard]] ModelAnswer init_producer(const std::string& id, std::chrono::milliseconds timeout, Identity& given);
  [[nodiscard]] ModelAnswer add_partition(const std::string& id, Identity who, const TopicPartition& at);
  [[nodiscard]] ModelAnswer add_offsets(const std::string& id, Identity who, const std::string& group);
  [[nodiscard]] ModelAnswer commit_offsets(const std::string& id, Identity who, const std::string& group,
                                           const std::vector<OffsetAndMetadata>& offsets);
  [[nodiscard]] ModelAnswer produce(const std::string& id, const ModelStamp& stamp, const TopicPartition& at,
                                    const ModelSegmentPtr& segment);
  [[nodiscard]] ModelAnswer end_transaction(const std::string& id, Identity who, bool commit);
  [[nodiscard]] ModelAnswer create_topic(const std::string& name, std::int32_t partitions, const Properties& config);
  [[nodiscard]] ModelAnswer fetch_offsets(const std::string& group, std::vector<OffsetAndMetadata>& asked);
  [[nodiscard]] ModelAnswer commit_offsets(const std::string& group, const std::vector<OffsetAndMetadata>& offsets);
  /// All of these exist and none is denied.
  [[nodiscard]] ModelAnswer check(const TopicPartition& at) const;

  // ---- what is there ----
  [[nodiscard]] Topic* topic(const std::string& name);
  [[nodiscard]] ModelLog* log(const TopicPartition& at);
  [[nodiscard]] std::map<std::string, Topic>& topics() noexcept { return topics_; }
  [[nodiscard]] std::optional<std::string> setting(const std::string& name) const;
  [[nodiscard]] EventTime now() const;

  // ---- what happens by itself ----
  /// Times out transactions by the clock, and takes every step that is not held.
  void tick();
  /// Tells the handles, once no call is in the middle of something.
  void settle();
  void hold(ModelStep step) { held_.insert(step); }
  void release(ModelStep step);
  void expire_transactions();
  void delete_topic(const std::string& name);
  void changed(const TopicPartition& at);
  void progressed() noexcept { progressed_ = true; }
  void add(ModelHandle* handle) { handles_.push_back(handle); }
  void remove(ModelHandle* handle) { std::erase(handles_, handle); }
  [[nodiscard]] const std::vector<ModelHandle*>& handles() const noexcept { return handles_; }
  void depose(int count);

  const ModelOptions options;
  io::Clock& clock;
  ModelFaults faults;
  ModelTransactions transactions;
  ModelGroups groups;

 private:
  void follow_decisions();
  /// Writes the markers that are not held; true when some were.
  bool write_markers(ModelTransaction& transaction);
  [[nodiscard]] bool held(ModelStep step) const { return held_.contains(step); }

  std::map<std::string, Topic> topics_;
  std::set<ModelStep> held_;
  std::vector<ModelHandle*> handles_;  // In the order of their making: by address, no two runs would be the same.
  std::optional<ModelGroups> deposed_;
  int deposed_answers_ = 0;
  bool progressed_ = false;
};

}  // namespace sluice::kafka::internal
