#include <sluice/kafka/internal/model_faults.h>

namespace sluice::kafka::internal {

ModelFaults::Reply ModelFaults::send(ModelRequest type, const std::function<ModelAnswer()>& request) {
  if (!reachable) return {ModelAnswer::kUnreachable, true};
  std::deque<Fault>& faults = faults_[type];
  if (faults.empty()) return {request(), false};
  const Fault fault = faults.front();
  faults.pop_front();
  switch (fault.kind) {
    case Kind::kRefused:
      return {ModelAnswer::kMoved, false};
    case Kind::kLost:
      (void)request();
      break;
    case Kind::kDelayed:
      delayed_.push_back(request);
      break;
  }
  return {fault.resend == ModelResend::kLibrary ? request() : ModelAnswer::kNone, true};
}

void ModelFaults::plan(Kind kind, ModelRequest type, int count, ModelResend resend) {
  for (int i = 0; i < count; ++i) faults_[type].push_back({kind, resend});
}

std::size_t ModelFaults::planned() const {
  std::size_t left = 0;
  for (const auto& [type, faults] : faults_) left += faults.size();
  return left;
}

void ModelFaults::arrive() {
  const std::deque<std::function<ModelAnswer()>> arriving = std::exchange(delayed_, {});
  for (const std::function<ModelAnswer()>& request : arriving) (void)request();
}

bool ModelFaults::take_failed_delivery() {
  if (deliveries_failing == 0) return false;
  --deliveries_failing;
  return true;
}

}  // namespace sluice::kafka::internal
