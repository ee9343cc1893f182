// Goal: no text makes the reader crash, hang or go past its limits, and what it finds without
// problems can be built. Method: libFuzzer with the address and undefined-behaviour sanitizers;
//   tools/test --fuzz, or by hand:
//   cmake --preset fuzz && cmake --build --preset fuzz --target pipeline_file_fuzz
//   build/fuzz/bin/pipeline_file_fuzz -max_total_time=60 -max_len=8192 CORPUS tests/pipelines
#include "pipeline_file/builder.h"
#include "pipeline_file/load.h"
#include "pipeline_file/plan.h"
#include "pipeline_file/run_tests.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice::tools;
  // No directory of secrets: a text must not choose which file of this machine is read.
  const Loaded loaded = load_text({reinterpret_cast<const char*>(data), size}, "fuzz.yaml",
                                  "/nonexistent", Overlay());
  for (const Problem& problem : loaded.problems.sorted()) {
    if (problem.text().empty()) __builtin_trap();
  }
  if (!loaded.problems.ok()) return 0;
  if (!build_job(loaded.pipeline).check().ok()) __builtin_trap();
  if (plan_text(loaded.pipeline, true).empty()) __builtin_trap();
  (void)run_tests(loaded.pipeline);
  return 0;
}
