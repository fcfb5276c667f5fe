// From an exported function to a command: what all of them share.
#pragma once

#include <cublas_v2.h>

#include "client-shim/cublas/handle.h"
#include "schemas/blas/check.h"

namespace rouse::cublas {

// What may be the program's own memory, as the handle's pointer mode says; `info` always is.
struct HostSide {
  const void* alpha = nullptr;
  const void* beta = nullptr;
  void* result = nullptr;
  const void* parameters = nullptr;  // of rotm
  int* info = nullptr;               // of a factorisation: which parameter is wrong
  void* rotation[5] = {};            // as Call::rotation
};

// The call with the types that the function fixes.
blas::Call begin(blas::Function function);

// An enumeration's number; what does not fit is none.
template <class To, class From>
To narrow(From value) {
  const auto number = static_cast<unsigned long long>(value);
  return static_cast<To>(number < 255 ? number : 254);
}

// Checks what cuBLAS checks, adds the handle's state, and queues. Waits for nothing, but where a result goes to the program's own memory.
cublasStatus_t run(cublasHandle_t handle, blas::Function function, blas::Call& call, const HostSide& host) noexcept;

}  // namespace rouse::cublas
