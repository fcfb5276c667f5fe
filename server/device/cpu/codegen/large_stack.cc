#include "server/device/cpu/codegen/large_stack.h"

#include <pthread.h>

#include <cstring>
#include <exception>

namespace rouse::cpu::codegen {
namespace {

struct Work {
  const std::function<void()>& run;
  std::exception_ptr thrown;
};

void* begin(void* opaque) {
  auto& work = *static_cast<Work*>(opaque);
  try {
    work.run();
  } catch (...) {
    work.thrown = std::current_exception();
  }
  return nullptr;
}

}  // namespace

Status onLargeStack(const std::function<void()>& run) {
  Work work{run, nullptr};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_t thread{};
  int error = pthread_attr_setstacksize(&attributes, kStackBytes);
  if (error == 0) error = pthread_create(&thread, &attributes, &begin, &work);
  pthread_attr_destroy(&attributes);
  if (error != 0)
    return Error{CudaError::memoryAllocation, "no thread with a stack of " + std::to_string(kStackBytes) + " bytes to compile on: " + std::strerror(error)};
  pthread_join(thread, nullptr);
  if (work.thrown) std::rethrow_exception(work.thrown);
  return {};
}

}  // namespace rouse::cpu::codegen
