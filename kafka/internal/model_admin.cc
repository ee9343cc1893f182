#include <sluice/kafka/internal/model_admin.h>

#include <fmt/format.h>

namespace sluice::kafka::internal {

Status ModelAdmin::ask(ModelRequest type, std::string_view attempted, const std::function<ModelAnswer()>& request) {
  const ModelFaults::Reply reply = connection_->send(type, request);
  state_.settle();
  return connection_->status(reply.answer, attempted);
}

Result<std::vector<TopicMetadata>> ModelAdmin::topics_now(const std::vector<std::string>& names) {
  const std::lock_guard lock(state_.mutex);
  Status asked = ask(ModelRequest::kMetadata, "look up topics", [] { return ModelAnswer::kOk; });
  if (!asked.ok()) return asked;
  std::vector<TopicMetadata> found;
  for (const std::string& name : names) found.push_back({.name = name, .partitions = 0, .status = {}});
  for (const auto& [name, topic] : state_.topics()) {
    if (names.empty()) found.push_back({.name = name, .partitions = 0, .status = {}});
  }
  for (TopicMetadata& topic : found) {
    if (state_.faults.denied(ModelResource::kTopic, topic.name)) {
      topic.status = connection_->status(ModelAnswer::kDenied, "describe topic " + topic.name);
    } else if (const ModelState::Topic* there = state_.topic(topic.name); there != nullptr) {
      topic.partitions = static_cast<std::int32_t>(there->logs.size());
    }
  }
  // A list of everything leaves out what one may not see.
  if (names.empty()) std::erase_if(found, [](const TopicMetadata& topic) { return !topic.status.ok(); });
  return found;
}

Status ModelAdmin::create_now(const std::string& name, std::int32_t partitions, std::int32_t replication,
                              const Properties& config) {
  const std::lock_guard lock(state_.mutex);
  if (replication != -1 && (replication < 1 || replication > state_.options.brokers)) {
    return Status(Code::kInvalid, fmt::format("could not create topic {} at {}: a replication factor of {} with {} brokers; "
                                              "correct the setting that it names",
                                              name, connection_->name(), replication, state_.options.brokers));
  }
  return ask(ModelRequest::kCreateTopics, "create topic " + name, [state = &state_, name, partitions, config] {
    return state->create_topic(name, partitions, config);
  });
}

Result<std::vector<Offset>> ModelAdmin::offsets_now(const std::vector<TopicPartition>& partitions, OffsetKind kind,
                                                    EventTime time, bool read_committed) {
  const std::lock_guard lock(state_.mutex);
  Status asked = ask(ModelRequest::kListOffsets, "look up offsets", [state = &state_] {
    state->tick();
    return ModelAnswer::kOk;
  });
  if (!asked.ok()) return asked;
  std::vector<Offset> found;
  for (const TopicPartition& at : partitions) {
    const ModelAnswer checked = state_.check(at);
    if (checked != ModelAnswer::kOk) {
      return connection_->status(checked, fmt::format("look up offsets of {}-{}", at.topic, at.partition));
    }
    const ModelLog& log = *state_.log(at);
    switch (kind) {
      case OffsetKind::kEarliest: found.emplace_back(log.start()); break;
      case OffsetKind::kLatest: found.emplace_back(log.readable_end(read_committed)); break;
      case OffsetKind::kAtTime: found.emplace_back(log.at_time(time, read_committed)); break;
    }
  }
  return found;
}

Result<std::vector<OffsetAndMetadata>> ModelAdmin::committed_now(const std::string& group,
                                                                 const std::vector<TopicPartition>& partitions) {
  const std::lock_guard lock(state_.mutex);
  const auto found = std::make_shared<std::vector<OffsetAndMetadata>>();  // The request may outlive this call.
  for (const TopicPartition& at : partitions) found->push_back({.partition = at, .offset = -1, .metadata = {}});
  Status asked = ask(ModelRequest::kOffsetFetch, "read offsets of group " + group, [state = &state_, group, found] {
    return state->fetch_offsets(group, *found);
  });
  if (!asked.ok()) return asked;
  return std::move(*found);
}

Status ModelAdmin::commit_now(const std::string& group, const std::vector<OffsetAndMetadata>& offsets) {
  const std::lock_guard lock(state_.mutex);
  for (const OffsetAndMetadata& offset : offsets) SLUICE_ASSERT(offset.offset >= 0);
  return ask(ModelRequest::kOffsetCommit, "commit offsets of group " + group, [state = &state_, group, offsets] {
    return state->commit_offsets(group, offsets);
  });
}

Result<std::optional<std::string>> ModelAdmin::setting_now(const std::string& name) {
  const std::lock_guard lock(state_.mutex);
  Status asked = ask(ModelRequest::kDescribeConfigs, "read the brokers' " + name, [] { return ModelAnswer::kOk; });
  if (!asked.ok()) return asked;
  return state_.setting(name);
}

asio::awaitable<Result<std::vector<TopicMetadata>>> ModelAdmin::topics(std::vector<std::string> names, io::Monotonic) {
  Result<std::vector<TopicMetadata>> found = topics_now(names);
  co_await model_answered();
  co_return found;
}
asio::awaitable<Status> ModelAdmin::create_topic(std::string name, std::int32_t partitions, std::int32_t replication,
                                                 Properties config, io::Monotonic) {
  Status created = create_now(name, partitions, replication, config);
  co_await model_answered();
  co_return created;
}
asio::awaitable<Result<std::vector<Offset>>> ModelAdmin::offsets(std::vector<TopicPartition> partitions, OffsetKind kind,
                                                                 EventTime time, bool read_committed, io::Monotonic) {
  Result<std::vector<Offset>> found = offsets_now(partitions, kind, time, read_committed);
  co_await model_answered();
  co_return found;
}
asio::awaitable<Result<std::vector<OffsetAndMetadata>>> ModelAdmin::committed(std::string group,
                                                                              std::vector<TopicPartition> partitions,
                                                                              io::Monotonic) {
  Result<std::vector<OffsetAndMetadata>> found = committed_now(group, partitions);
  co_await model_answered();
  co_return found;
}
asio::awaitable<Status> ModelAdmin::commit_offsets(std::string group, std::vector<OffsetAndMetadata> offsets, io::Monotonic) {
  Status done = commit_now(group, offsets);
  co_await model_answered();
  co_return done;
}
asio::awaitable<Result<std::optional<std::string>>> ModelAdmin::broker_setting(std::string name, io::Monotonic) {
  Result<std::optional<std::string>> value = setting_now(name);
  co_await model_answered();
  co_return value;
}
asio::awaitable<Status> ModelAdmin::close() {
  co_await model_answered();
  co_return Status();
}

}  // namespace sluice::kafka::internal
