#pragma once

#include <memory>
#include <string>
#include <utility>

#include <sluice/engine/internal/graph.h>
#include <sluice/engine/internal/split_times.h>
#include <sluice/engine/internal/watermark_tail.h>
#include <sluice/engine/watermarks.h>

namespace sluice::internal {

/// Where a stream gets its time.
template <class T>
class WatermarkNode final : public Node {
 public:
  WatermarkNode(std::string id, Watermarks<T> watermarks) : Node("watermarks", std::move(id)), watermarks_(std::move(watermarks)) {}
  Outlet<T> out;

  Status fault() const override {
    SLUICE_TRY(has_splits(*this));
    return watermarks_.check();
  }
  [[nodiscard]] std::unique_ptr<Tail<T>> make_tail(ShardBuild& build) const {
    SLUICE_ASSERT(build.splits != nullptr);  // fault() has looked.
    Context context = build.context;
    context.operator_id = id();
    return std::make_unique<WatermarkTail<T>>(std::move(context), build, watermarks_, out.make_tail(build));
  }

 private:
  const Watermarks<T> watermarks_;
};

}  // namespace sluice::internal
