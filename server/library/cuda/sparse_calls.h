// A call of cuSPARSE as calls of NVIDIA's: its descriptors are made, the size of the memory to work in is asked for, what is to be prepared is prepared, and all but the
// result is ended. Tested before a double; what NVIDIA's library takes is known from a GPU only.
#pragma once

#include <functional>

#include "schemas/base/result.h"
#include "schemas/sparse/check.h"
#include "server/library/cuda/sparse_api.h"

namespace rouse::library::cuda {

// So many bytes of the executor's to work in; there are several such memories, so that a function can have them together.
using SparseMemory = std::function<Result<std::uint64_t>(std::uint64_t bytes, int which)>;
inline constexpr int kSparseMemories = 3;

// Whether NVIDIA's functions may wait for the GPU before they return: analyses and counts do.
bool waitsForDevice(sparse::Function function);

// The call has been checked, and an answer's memory is the host's (named_memory.h). What the library refuses is an error that names its function and status.
Status runSparse(const SparseApi& api, cusparseHandle_t handle, sparse::Function function, const sparse::Call& call, const SparseMemory& memory);

}  // namespace rouse::library::cuda
