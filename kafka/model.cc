#include <sluice/kafka/model.h>

#include <array>

#include <sluice/kafka/internal/model_client.h>
#include <sluice/kafka/internal/model_state.h>

namespace sluice::kafka {
namespace {

using internal::ModelAnswer;
using internal::ModelFaults;
using internal::ModelLog;
using internal::ModelState;

Bytes view(const ModelRecord::Text& text) { return text ? Bytes(std::string_view(*text)) : Bytes(); }
ModelRecord::Text copy(Bytes bytes) {
  return bytes.null() ? ModelRecord::Text() : ModelRecord::Text(std::string(bytes.view()));
}

/// Holds the broker still for one knob, and lets the handles know afterwards.
class Turn {
 public:
  explicit Turn(ModelState& state) : state_(state), lock_(state.mutex) {}
  Turn(const Turn&) = delete;
  ~Turn() { state_.settle(); }  // Before the mutex is given back.
  ModelState* operator->() const noexcept { return &state_; }
  [[nodiscard]] ModelLog& log(const TopicPartition& at) const {
    ModelLog* found = state_.log(at);
    SLUICE_ASSERT(found != nullptr);
    return *found;
  }

 private:
  ModelState& state_;
  std::lock_guard<std::mutex> lock_;
};

}  // namespace

ModelBroker::ModelBroker(ModelOptions options, io::Clock& clock)
    : state_(std::make_shared<ModelState>(std::move(options), clock)) {}
ModelBroker::~ModelBroker() = default;

std::shared_ptr<Client> ModelBroker::client(ClientOptions options) {
  return internal::model_client(state_, std::move(options));
}

// ---- topics and logs ----

void ModelBroker::create_topic(const std::string& name, std::int32_t partitions, const Properties& config) {
  const Turn turn(*state_);
  const ModelAnswer answer = turn->create_topic(name, partitions, config);
  SLUICE_ASSERT(answer == ModelAnswer::kOk);
}

void ModelBroker::delete_topic(const std::string& name) {
  const Turn turn(*state_);
  turn->delete_topic(name);
}

void ModelBroker::add_partitions(const std::string& name, std::int32_t total) {
  const Turn turn(*state_);
  ModelState::Topic* topic = turn->topic(name);
  SLUICE_ASSERT(topic != nullptr && static_cast<std::size_t>(total) >= topic->logs.size());
  topic->logs.resize(static_cast<std::size_t>(total));
}

Offset ModelBroker::append(const TopicPartition& at, const ModelRecord& record) {
  std::vector<Header> headers;
  for (const auto& [name, value] : record.headers) headers.push_back({.name = name, .value = view(value)});
  OutRecord out;
  out.key = view(record.key);
  out.value = view(record.value);
  out.headers = headers;
  out.time = record.time;
  const std::array<const OutRecord*, 1> one{&out};
  auto segment = std::make_shared<const internal::ModelSegment>(one);
  const Turn turn(*state_);
  const Offset offset(turn.log(at).end());
  const ModelAnswer answer = turn->produce({}, {}, at, segment);
  SLUICE_ASSERT(answer == ModelAnswer::kOk);
  return offset;
}

std::vector<ModelRecord> ModelBroker::records(const TopicPartition& at, bool read_committed) const {
  const Turn turn(*state_);
  const ModelLog& log = turn.log(at);
  std::vector<const ModelLog::Entry*> entries;
  (void)log.read(log.start(), read_committed, static_cast<std::size_t>(log.end()), entries);
  std::vector<ModelRecord> records;
  records.reserve(entries.size());
  for (const ModelLog::Entry* entry : entries) {
    const Record& from = entry->record;
    ModelRecord& to = records.emplace_back();
    to.key = copy(from.key);
    to.value = copy(from.value);
    for (const Header& header : from.headers) to.headers.emplace_back(header.name, copy(header.value));
    to.time = from.time;
    to.offset = from.offset;
  }
  return records;
}

Offset ModelBroker::start(const TopicPartition& at) const { return Offset(Turn(*state_).log(at).start()); }
Offset ModelBroker::end(const TopicPartition& at) const { return Offset(Turn(*state_).log(at).end()); }
Offset ModelBroker::last_stable(const TopicPartition& at) const { return Offset(Turn(*state_).log(at).last_stable()); }

void ModelBroker::delete_records(const TopicPartition& at, Offset before) {
  const Turn turn(*state_);
  turn.log(at).delete_before(before.value());
  turn->changed(at);
}

void ModelBroker::compact(const TopicPartition& at, const std::vector<Offset>& offsets) {
  const Turn turn(*state_);
  turn.log(at).compact(offsets);
}

// ---- transactions ----

ModelTransactionState ModelBroker::transaction_state(const std::string& transactional_id) const {
  const Turn turn(*state_);
  const auto at = turn->transactions.all().find(transactional_id);
  return at == turn->transactions.all().end() ? ModelTransactionState::kEmpty : at->second.state;
}

int ModelBroker::producer_epoch(const std::string& transactional_id) const {
  const Turn turn(*state_);
  const auto at = turn->transactions.all().find(transactional_id);
  return at == turn->transactions.all().end() ? -1 : at->second.epoch;
}

void ModelBroker::expire_transactions() { Turn(*state_)->expire_transactions(); }
void ModelBroker::tick() { Turn(*state_)->tick(); }
void ModelBroker::hold(ModelStep step) { Turn(*state_)->hold(step); }
void ModelBroker::release(ModelStep step) { Turn(*state_)->release(step); }

// ---- groups ----

OffsetAndMetadata ModelBroker::committed(const std::string& group, const TopicPartition& at) const {
  return Turn(*state_)->groups.committed(group, at);
}
bool ModelBroker::pending(const std::string& group, const TopicPartition& at) const {
  return Turn(*state_)->groups.pending(group, at);
}
void ModelBroker::set_committed(const std::string& group, OffsetAndMetadata offset) {
  Turn(*state_)->groups.commit(group, offset);
}
void ModelBroker::delete_group(const std::string& group) { Turn(*state_)->groups.erase(group); }
void ModelBroker::depose_coordinator(int count) { Turn(*state_)->depose(count); }

// ---- faults ----

void ModelBroker::lose_answer(ModelRequest type, int count, ModelResend resend) {
  Turn(*state_)->faults.plan(ModelFaults::Kind::kLost, type, count, resend);
}
void ModelBroker::delay(ModelRequest type, int count, ModelResend resend) {
  Turn(*state_)->faults.plan(ModelFaults::Kind::kDelayed, type, count, resend);
}
void ModelBroker::refuse(ModelRequest type, int count) {
  Turn(*state_)->faults.plan(ModelFaults::Kind::kRefused, type, count, ModelResend::kCaller);
}
void ModelBroker::release_delayed() {
  const Turn turn(*state_);
  turn->faults.arrive();
  turn->progressed();
}
void ModelBroker::drop_delayed() { Turn(*state_)->faults.drop(); }
std::size_t ModelBroker::delayed() const { return Turn(*state_)->faults.delayed(); }
std::size_t ModelBroker::faults_left() const { return Turn(*state_)->faults.planned(); }
void ModelBroker::fail_deliveries(int count) { Turn(*state_)->faults.deliveries_failing += count; }

void ModelBroker::hold_deliveries(bool held) {
  const Turn turn(*state_);
  turn->faults.deliveries_held = held;
  turn->progressed();
}

void ModelBroker::set_reachable(bool reachable) {
  const Turn turn(*state_);
  turn->faults.reachable = reachable;
  turn->progressed();
  for (internal::ModelHandle* handle : turn->handles()) reachable ? handle->on_connect() : handle->on_disconnect();
}

void ModelBroker::close_connections() {
  const Turn turn(*state_);
  for (internal::ModelHandle* handle : turn->handles()) handle->on_disconnect();
}

void ModelBroker::deny(ModelResource kind, const std::string& name) { Turn(*state_)->faults.deny(kind, name); }
void ModelBroker::allow(ModelResource kind, const std::string& name) { Turn(*state_)->faults.allow(kind, name); }

}  // namespace sluice::kafka
