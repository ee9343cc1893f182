#pragma once

#include <optional>
#include <utility>

#include <sluice/io/base/status.h>

namespace sluice {

/// A value, or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor): `return value;`
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    SLUICE_ASSERT(!status_.ok());
  }

  [[nodiscard]] bool ok() const noexcept { return value_.has_value(); }
  [[nodiscard]] const Status& status() const& noexcept { return status_; }
  [[nodiscard]] Status status() && noexcept { return std::move(status_); }
  [[nodiscard]] Code code() const noexcept { return status_.code(); }

  T& operator*() & {
    SLUICE_ASSERT(ok());
    return *value_;
  }
  const T& operator*() const& {
    SLUICE_ASSERT(ok());
    return *value_;
  }
  T&& operator*() && {
    SLUICE_ASSERT(ok());
    return *std::move(value_);
  }
  T* operator->() {
    SLUICE_ASSERT(ok());
    return &*value_;
  }
  const T* operator->() const {
    SLUICE_ASSERT(ok());
    return &*value_;
  }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace sluice
