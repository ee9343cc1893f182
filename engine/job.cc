#include <sluice/engine/job.h>

#include <algorithm>

namespace sluice {

Status Job::check() const {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  };
  if (name_.empty() || name_.size() > 64 || !std::ranges::all_of(name_, allowed)) {
    return Status(Code::kInvalid, fmt::format("job name \"{}\": 1 to 64 of A-Z a-z 0-9 . _ - are allowed, as topics are named after it", name_));
  }
  SLUICE_TRY(options.check());
  return graph_->check();
}

}  // namespace sluice
