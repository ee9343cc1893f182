// Under the thread sanitizer only. librdkafka starts its threads with C11's thrd_create, which
// g++ 12's sanitizer does not see: such a thread has no state of the sanitizer and crashes at its first
// allocation. A program's own definition is the one that its libraries call; this one goes the way
// that the sanitizer watches.
#include <pthread.h>
#include <threads.h>

#include <cstdint>
#include <memory>

namespace {

struct Start {
  thrd_start_t call;
  void* argument;
};

void* run(void* given) {
  const std::unique_ptr<Start> start(static_cast<Start*>(given));
  return reinterpret_cast<void*>(static_cast<std::intptr_t>(start->call(start->argument)));
}

}  // namespace

extern "C" int thrd_create(thrd_t* thread, thrd_start_t call, void* argument) {
  auto start = std::make_unique<Start>(Start{call, argument});
  if (pthread_create(thread, nullptr, &run, start.get()) != 0) return thrd_error;
  (void)start.release();  // The thread's.
  return thrd_success;
}

extern "C" int thrd_join(thrd_t thread, int* result) {
  void* returned = nullptr;
  if (pthread_join(thread, &returned) != 0) return thrd_error;
  if (result != nullptr) *result = static_cast<int>(reinterpret_cast<std::intptr_t>(returned));
  return thrd_success;
}
