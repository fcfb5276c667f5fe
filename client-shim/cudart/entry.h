// The frame around every exported function: attach, look for latched failures, call, stop exceptions, keep the last
// error.
#pragma once

#include <cuda_runtime_api.h>

#include <new>

#include "client-shim/cudart/export.h"
#include "client-shim/cudart/graph/capture.h"
#include "client-shim/cudart/session.h"
#include "client-shim/cudart/thread_state.h"

namespace rouse::cudart {

namespace Entry {
inline constexpr unsigned none = 0;
inline constexpr unsigned session = 1;  // the process must be attached
inline constexpr unsigned latched = 2;  // returns the failure of earlier asynchronous work
inline constexpr unsigned records = 4;  // sets the thread's last error
inline constexpr unsigned device = 8;   // reaches a device: not permitted in host functions
inline constexpr unsigned unsafe = 16;  // may be forbidden while a stream captures
}  // namespace Entry

// Under `rouse run --check`: what the program may not have looked at.
void reportError(const char* function, cudaError_t error);

inline cudaStream_t perThreadIfNull(cudaStream_t stream) { return stream == nullptr ? cudaStreamPerThread : stream; }

template <unsigned flags, class Body>
inline cudaError_t call(Body&& body, [[maybe_unused]] const char* name = __builtin_FUNCTION()) noexcept {
  cudaError_t error = cudaSuccess;
  try {
    if constexpr ((flags & Entry::device) != 0) {
      if (threadState.inHostFunction) error = cudaErrorNotPermitted;
    }
    if constexpr ((flags & Entry::session) != 0) {
      if (error == cudaSuccess) error = attach();
    }
    if constexpr ((flags & Entry::unsafe) != 0) {
      if (error == cudaSuccess) error = graph::checkUnsafe();
    }
    if constexpr ((flags & Entry::latched) != 0) {
      if (error == cudaSuccess) error = takeLatched();
    }
    if (error == cudaSuccess) error = body();
  } catch (const std::bad_alloc&) {
    error = cudaErrorMemoryAllocation;
  } catch (...) {
    error =
        cudaErrorOperatingSystem;  // what the standard library throws else: locks and threads that the system refuses
  }
  if constexpr ((flags & Entry::records) != 0) {
    if (error != cudaSuccess) [[unlikely]] {
      threadState.lastError = error;
      reportError(name, error);
    }
  }
  return error;
}

// For the few functions that cannot return an error.
template <class Value, class Body>
inline Value callPlain(Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    threadState.lastError = cudaErrorOperatingSystem;
  }
  return Value();
}

}  // namespace rouse::cudart
