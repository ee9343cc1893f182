#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sluice/engine/codec.h>
#include <sluice/engine/context.h>
#include <sluice/engine/split.h>
#include <sluice/io/base/status.h>

namespace sluice {

/// What an operator remembers between batches, as the runtime sees it at a barrier and at a restore.
/// Shard: its operator's. A restore hands every shard the bytes of every old shard, in one order, and each container keeps
/// what belongs here: that is how a job goes on with another number of shards.
class State {
 public:
  virtual ~State() = default;
  /// Before a restore and the operator's own open(): where it runs.
  virtual void open(const Context&) {}
  [[nodiscard]] virtual std::string type() const = 0;  ///< compared at restore
  /// Whether it can be restored from what was written as `type`.
  [[nodiscard]] virtual bool reads(const std::string& type) const { return type == this->type(); }
  virtual void save(std::string& out) const = 0;
  [[nodiscard]] virtual Status restore(std::string_view bytes, const Context& context) = 0;
};

/// The states of one operator, by name: `void declare(StateSet& states) { states.add("counts", counts_); }`
class StateSet {
 public:
  void add(std::string name, State& state) { states_.emplace_back(std::move(name), &state); }
  [[nodiscard]] const std::vector<std::pair<std::string, State*>>& all() const noexcept { return states_; }

 private:
  std::vector<std::pair<std::string, State*>> states_;
};

/// A value for each source split; goes where its split goes.
template <class V>
class SplitState final : public State {
 public:
  V& operator[](const Split& split) { return values_[split]; }
  [[nodiscard]] const std::map<Split, V>& all() const noexcept { return values_; }

  [[nodiscard]] std::string type() const override { return "split<" + Codec<V>::name() + ">"; }
  void save(std::string& out) const override {
    for (const auto& [split, value] : values_) {
      Codec<std::string>::write(split.name, out);
      Codec<std::int32_t>::write(split.partition, out);
      Codec<V>::write(value, out);
    }
  }
  [[nodiscard]] Status restore(std::string_view bytes, const Context& context) override {
    while (!bytes.empty()) {
      Split split;
      V value{};
      if (!Codec<std::string>::read(bytes, split.name) || !Codec<std::int32_t>::read(bytes, split.partition) ||
          !Codec<V>::read(bytes, value)) {
        return Status(Code::kCorrupt, "state of operator", context.operator_id, "ends in the middle of an entry");
      }
      if (context.owns(split)) values_.insert_or_assign(std::move(split), std::move(value));
    }
    return {};
  }

 private:
  std::map<Split, V> values_;
};

/// A list that belongs to the operator, not to a key: entries are dealt out among the shards at a restore (kSplit), or every
/// shard gets all of them (kUnion).
template <class V>
class ListState final : public State {
 public:
  enum class Redistribution : std::uint8_t { kSplit, kUnion };
  explicit ListState(Redistribution redistribution = Redistribution::kSplit) : redistribution_(redistribution) {}
  std::vector<V>& values() noexcept { return values_; }

  [[nodiscard]] std::string type() const override { return "list<" + Codec<V>::name() + ">"; }
  void save(std::string& out) const override {
    for (const V& value : values_) Codec<V>::write(value, out);
  }
  [[nodiscard]] Status restore(std::string_view bytes, const Context& context) override {
    while (!bytes.empty()) {
      V value{};
      if (!Codec<V>::read(bytes, value)) {
        return Status(Code::kCorrupt, "state of operator", context.operator_id, "ends in the middle of an entry");
      }
      const bool here = seen_++ % context.parallelism == context.shard.value();
      if (here || redistribution_ == Redistribution::kUnion) values_.push_back(std::move(value));
    }
    return {};
  }

 private:
  const Redistribution redistribution_;
  std::vector<V> values_;
  std::uint64_t seen_ = 0;
};

}  // namespace sluice
