// From an exported function to a command, or to the size that it tells: what all of them share.
#pragma once

#include <cusolverDn.h>

#include <cstddef>
#include <cstdint>

#include "schemas/base/cuda_error.h"
#include "schemas/solver/check.h"

namespace rouse::cusolver {

// What is the program's own memory.
struct HostSide {
  const void* low = nullptr;   // of the functions for any type
  const void* high = nullptr;
  void* answer = nullptr;
};

// The call with what the function fixes.
solver::Call begin(solver::Function function);

// What an answer of the runtime's is of cuSOLVER's.
cusolverStatus_t toStatus(CudaError error);

// An enumeration's number; what does not fit is none.
template <class To, class From>
To narrow(From value) {
  const auto number = static_cast<unsigned long long>(value);
  return static_cast<To>(number < 255 ? number : 254);
}

// Bytes that a program says it gives.
template <class Length>
std::uint64_t workOf(Length length, std::uint64_t bytes) {
  return length > 0 ? static_cast<std::uint64_t>(length) * bytes : 0;
}

// What has been set in a parameter object. False: it is none. Of cusolverDnParams_t null is one in which nothing has been set.
bool take(cusolverDnParams_t params, solver::Call& call);
bool take(syevjInfo_t params, solver::Call& call);
bool take(gesvdjInfo_t params, solver::Call& call);

// Checks what cuSOLVER checks, adds the handle's state, and queues. Waits for nothing, but where a result goes to the program's own memory.
cusolverStatus_t run(cusolverDnHandle_t handle, solver::Function function, solver::Call& call, const HostSide& host = {}) noexcept;

// How much memory the call would work in. Local.
cusolverStatus_t tellSize(cusolverDnHandle_t handle, solver::Function function, const solver::Call& call, int* elements) noexcept;
cusolverStatus_t tellSize(cusolverDnHandle_t handle, solver::Function function, const solver::Call& call, std::size_t* onDevice, std::size_t* onHost) noexcept;

}  // namespace rouse::cusolver
