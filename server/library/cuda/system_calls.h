// A call of cuSOLVER's sparse part as calls of NVIDIA's cuSOLVER 12. That looks at the pattern of a matrix on the host, and believes it: so it gets a copy of ours, which has been looked through.
// What lies in an info object's memory is a copy of the matrix, and what is solved by it is factorised each time. Tested before a double; what NVIDIA's library takes is known from a
// GPU only.
#pragma once

#include <cusolverSp.h>

#include <cstdint>
#include <functional>

#include "schemas/base/result.h"
#include "schemas/systems/check.h"
#include "server/library/cuda/sparse_api.h"

struct CUstream_st;

namespace rouse::library::cuda {

#define ROUSE_SYSTEM_TYPED_NAMES(name, letter)            \
  name(cusolverSp##letter##csrlsvqr)                      \
  name(cusolverSp##letter##csrlsvchol)                    \
  name(cusolverSp##letter##csreigvsi)                     \
  name(cusolverSp##letter##csrqrBufferInfoBatched)        \
  name(cusolverSp##letter##csrqrsvBatched)
#define ROUSE_SYSTEM_NAMES(name)        \
  name(cusolverSpCreate)                \
  name(cusolverSpDestroy)               \
  name(cusolverSpSetStream)             \
  name(cusolverSpCreateCsrqrInfo)       \
  name(cusolverSpDestroyCsrqrInfo)      \
  name(cusolverSpXcsrqrAnalysisBatched) \
  ROUSE_SYSTEM_TYPED_NAMES(name, S)     \
  ROUSE_SYSTEM_TYPED_NAMES(name, D)     \
  ROUSE_SYSTEM_TYPED_NAMES(name, C)     \
  ROUSE_SYSTEM_TYPED_NAMES(name, Z)

struct SystemApi {
#define ROUSE_SYSTEM_MEMBER(name) decltype(&::name) name = nullptr;
  ROUSE_SYSTEM_NAMES(ROUSE_SYSTEM_MEMBER)
#undef ROUSE_SYSTEM_MEMBER
};

// What a call needs of the executor beside the libraries.
struct SystemMemory {
  // So many bytes of the device's, of its own; there are two.
  std::function<Result<std::uint64_t>(std::uint64_t bytes, int which)> take;
  // Bytes from one address to another, of the device's or of the executor's own; behind what is queued, and it has happened when it returns.
  std::function<Status(std::uint64_t to, std::uint64_t from, std::uint64_t bytes)> copy;
};
inline constexpr int kSystemMemories = 2;

// The call has been checked. What the library refuses is an error that names its function and status. It waits for the GPU.
Status runSystem(const SystemApi& api, const SparseApi& sparse, cusolverSpHandle_t handle, systems::Function function, const systems::Call& call, const SystemMemory& memory);

}  // namespace rouse::library::cuda
