#pragma once

#include <sluice/engine/context.h>

#include <cstdint>
#include <memory>

namespace sluice {

/// Records that a JSON step let pass as they were, because there was nothing to work on. One a
/// shard.
class JsonCounts {
 public:
  void open(const Context& context) {
    if (context.metrics == nullptr) return;
    missing_total_ = context.metrics->counter("sluice_json_missing_fields_total");
    other_type_total_ = context.metrics->counter("sluice_json_other_types_total");
  }
  void add_missing() noexcept {
    ++missing_;
    if (missing_total_) missing_total_->add(1);
  }
  void add_other_type() noexcept {
    ++other_type_;
    if (other_type_total_) other_type_total_->add(1);
  }
  [[nodiscard]] std::uint64_t missing() const noexcept { return missing_; }
  [[nodiscard]] std::uint64_t other_type() const noexcept { return other_type_; }

 private:
  std::uint64_t missing_ = 0, other_type_ = 0;
  std::shared_ptr<Counter> missing_total_, other_type_total_;
};

}  // namespace sluice
