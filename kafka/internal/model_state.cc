#include <sluice/kafka/internal/model_state.h>

#include <algorithm>
#include <charconv>

namespace sluice::kafka::internal {
namespace {

constexpr std::size_t kMetadataBytesMax = 4096;

const std::map<std::string, std::string>& defaults() {
  static const std::map<std::string, std::string> values = {
      {"transaction.max.timeout.ms", "900000"}, {"message.max.bytes", "1048588"}, {"offset.metadata.max.bytes", "4096"},
      {"offsets.retention.minutes", "10080"},   {"num.partitions", "1"},          {"default.replication.factor", "1"},
      {"auto.create.topics.enable", "false"},
  };
  return values;
}

std::int64_t number(const std::string& text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

ModelState::ModelState(ModelOptions given, io::Clock& time) : options(std::move(given)), clock(time) {}

EventTime ModelState::now() const { return std::chrono::floor<EventDuration>(clock.wall()); }

std::optional<std::string> ModelState::setting(const std::string& name) const {
  if (const auto at = options.settings.find(name); at != options.settings.end()) return at->second;
  if (const auto at = defaults().find(name); at != defaults().end()) return at->second;
  return std::nullopt;
}

ModelState::Topic* ModelState::topic(const std::string& name) {
  const auto at = topics_.find(name);
  return at == topics_.end() ? nullptr : &at->second;
}

ModelLog* ModelState::log(const TopicPartition& at) {
  Topic* found = topic(at.topic);
  if (found == nullptr || at.partition < 0 || static_cast<std::size_t>(at.partition) >= found->logs.size()) return nullptr;
  return &found->logs[static_cast<std::size_t>(at.partition)];
}

ModelAnswer ModelState::check(const TopicPartition& at) const {
  if (faults.denied(ModelResource::kTopic, at.topic)) return ModelAnswer::kDenied;
  const auto found = topics_.find(at.topic);
  const bool there = found != topics_.end() && at.partition >= 0 &&
                     static_cast<std::size_t>(at.partition) < found->second.logs.size();
  return there ? ModelAnswer::kOk : ModelAnswer::kUnknownTopic;
}

// ---- requests ----

ModelAnswer ModelState::init_producer(const std::string& id, std::chrono::milliseconds timeout, Identity& given) {
  tick();
  if (faults.denied(ModelResource::kTransactionalId, id)) return ModelAnswer::kDenied;
  if (timeout.count() <= 0 || timeout.count() > number(*setting("transaction.max.timeout.ms"))) return ModelAnswer::kTimeout;
  const ModelAnswer answer = transactions.init(id, timeout, given);
  follow_decisions();
  return answer;
}

ModelAnswer ModelState::add_partition(const std::string& id, Identity who, const TopicPartition& at) {
  tick();
  if (const ModelAnswer checked = check(at); checked != ModelAnswer::kOk) return checked;
  return transactions.add_partition(id, who, at, clock.now());
}

ModelAnswer ModelState::add_offsets(const std::string& id, Identity who, const std::string& group) {
  tick();
  if (faults.denied(ModelResource::kGroup, group)) return ModelAnswer::kDenied;
  return transactions.add_group(id, who, group, clock.now());
}

ModelAnswer ModelState::commit_offsets(const std::string& id, Identity who, const std::string& group,
                                       const std::vector<OffsetAndMetadata>& offsets) {
  tick();
  for (const OffsetAndMetadata& offset : offsets) {
    if (const ModelAnswer checked = check(offset.partition); checked != ModelAnswer::kOk) return checked;
    if (offset.metadata.size() > kMetadataBytesMax) return ModelAnswer::kBadRequest;
  }
  if (options.verify_transactions && !groups.holds(group, who.producer)) {
    const ModelAnswer verified = transactions.verify(id, who, nullptr, &group);
    if (verified != ModelAnswer::kOk) return verified;
  }
  return groups.commit(group, who.producer, who.epoch, offsets);
}

ModelAnswer ModelState::produce(const std::string& id, const ModelStamp& stamp, const TopicPartition& at,
                                const ModelSegmentPtr& segment) {
  tick();
  if (const ModelAnswer checked = check(at); checked != ModelAnswer::kOk) return checked;
  ModelLog& to = *log(at);
  if (options.verify_transactions && stamp.transactional && !to.open(stamp.producer)) {
    const ModelAnswer verified = transactions.verify(id, {stamp.producer, stamp.epoch}, &at, nullptr);
    if (verified != ModelAnswer::kOk) return verified;
  }
  const ModelAnswer answer = to.append(stamp, segment, now(), topic(at.topic)->log_append_time);
  changed(at);
  return answer;
}

ModelAnswer ModelState::end_transaction(const std::string& id, Identity who, bool commit) {
  tick();
  const ModelAnswer answer = transactions.end(id, who, commit);
  follow_decisions();
  return answer;
}

ModelAnswer ModelState::create_topic(const std::string& name, std::int32_t partitions, const Properties& config) {
  tick();
  if (faults.denied(ModelResource::kTopic, name)) return ModelAnswer::kDenied;
  if (topics_.contains(name)) return ModelAnswer::kOk;
  if (partitions < 1) return ModelAnswer::kBadRequest;
  const auto said = [&](const std::string& key, std::string otherwise) {
    const auto at = config.find(key);
    return at == config.end() ? otherwise : at->second;
  };
  Topic& made = topics_[name];
  made.logs.resize(static_cast<std::size_t>(partitions));
  made.message_bytes_max = static_cast<std::size_t>(number(said("max.message.bytes", *setting("message.max.bytes"))));
  made.log_append_time = said("message.timestamp.type", "CreateTime") == "LogAppendTime";
  return ModelAnswer::kOk;
}

ModelAnswer ModelState::fetch_offsets(const std::string& group, std::vector<OffsetAndMetadata>& asked) {
  tick();
  if (faults.denied(ModelResource::kGroup, group)) return ModelAnswer::kDenied;
  if (deposed_answers_ > 0) {
    --deposed_answers_;
    return deposed_->fetch(group, asked);
  }
  return groups.fetch(group, asked);
}

ModelAnswer ModelState::commit_offsets(const std::string& group, const std::vector<OffsetAndMetadata>& offsets) {
  tick();
  if (faults.denied(ModelResource::kGroup, group)) return ModelAnswer::kDenied;
  for (const OffsetAndMetadata& offset : offsets) {
    if (const ModelAnswer checked = check(offset.partition); checked != ModelAnswer::kOk) return checked;
    if (offset.metadata.size() > kMetadataBytesMax) return ModelAnswer::kBadRequest;
  }
  for (const OffsetAndMetadata& offset : offsets) groups.commit(group, offset);
  return ModelAnswer::kOk;
}

// ---- what happens by itself ----

void ModelState::tick() {
  transactions.expire(clock.now(), false);
  follow_decisions();
}

void ModelState::expire_transactions() {
  transactions.expire(clock.now(), true);
  follow_decisions();
}

void ModelState::follow_decisions() {
  for (bool moved = true; moved;) {
    moved = !held(ModelStep::kOffsets) && groups.settle();
    for (auto& [id, transaction] : transactions.all()) {
      if (transaction.completing() && write_markers(transaction)) moved = true;
    }
    if (moved) progressed_ = true;
  }
}

bool ModelState::write_markers(ModelTransaction& transaction) {
  const bool commit = transaction.commits();
  bool any = false;
  if (!held(ModelStep::kLogMarkers)) {
    for (const TopicPartition& at : transaction.partitions) {
      any = true;
      ModelLog* marked = log(at);
      if (marked == nullptr) continue;  // Deleted meanwhile.
      marked->mark(transaction.producer, transaction.epoch, commit, now());
      changed(at);
    }
    transaction.partitions.clear();
  }
  if (!held(ModelStep::kOffsetMarkers)) {
    const std::size_t left = std::erase_if(transaction.groups, [&](const std::string& group) {
      return groups.mark(group, transaction.producer, transaction.epoch, commit);
    });
    any = any || left != 0;
  }
  if (!transaction.partitions.empty() || !transaction.groups.empty()) return any;
  transaction.state = commit ? ModelTransactionState::kCompleteCommit : ModelTransactionState::kCompleteAbort;
  return true;
}

void ModelState::release(ModelStep step) {
  held_.erase(step);
  follow_decisions();
}

void ModelState::settle() {
  while (std::exchange(progressed_, false)) {
    for (ModelHandle* handle : handles_) handle->on_progress();
  }
}

void ModelState::changed(const TopicPartition& at) {
  for (ModelHandle* handle : handles_) handle->on_log(at);
}

void ModelState::delete_topic(const std::string& name) {
  const auto at = topics_.find(name);
  if (at == topics_.end()) return;
  const auto partitions = static_cast<std::int32_t>(at->second.logs.size());
  topics_.erase(at);
  groups.erase_topic(name);
  for (std::int32_t i = 0; i < partitions; ++i) changed({name, i});
}

void ModelState::depose(int count) {
  deposed_ = groups;
  deposed_answers_ = count;
}

}  // namespace sluice::kafka::internal
