// CUDA Driver API, "Execution Control [DEPRECATED]": launches of before CUDA 4, whose shape and arguments are set
// beforehand and stay with the function (PyCUDA's prepared calls). Like CUDA's they are for one thread at a time: what
// two set for one function at once is both's.
#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>

#include "client-shim/cuda/call.h"
#include "client-shim/cuda/functions.h"
#include "client-shim/cuda/implementations.h"

namespace rouse::cuda::impl {
namespace {

constexpr std::size_t kMostBytes = 32764;  // of a kernel's parameters

struct Prepared {
  unsigned block[3] = {};
  unsigned sharedBytes = 0, bytes = 0;
  std::array<std::byte, kMostBytes> arguments{};
};

// Made at the first use, never destroyed: programs call from exit handlers.
struct PreparedOnes {
  std::mutex mutex;
  std::map<CUfunction, Prepared> of;
};
PreparedOnes& preparedOnes() {
  static PreparedOnes& made = *new PreparedOnes;
  return made;
}

// Runs `body` with what is set for a function, under the lock.
template <class Body>
CUresult withPrepared(CUfunction function, Body&& body) try {
  cudaFuncAttributes facts;
  if (const CUresult error = call([&] { return cudaFuncGetAttributes(&facts, kernelOf(function)); });
      error != CUDA_SUCCESS)
    return error;
  const std::lock_guard lock(preparedOnes().mutex);
  return body(preparedOnes().of[function]);
} catch (const std::bad_alloc&) {
  return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult setArgument(CUfunction function, int offset, const void* value, std::size_t bytes) {
  if (offset < 0 || value == nullptr || bytes > kMostBytes || static_cast<std::size_t>(offset) > kMostBytes - bytes)
    return CUDA_ERROR_INVALID_VALUE;
  return withPrepared(function, [&](Prepared& prepared) {
    std::memcpy(prepared.arguments.data() + offset, value, bytes);
    return CUDA_SUCCESS;
  });
}

CUresult launchPrepared(CUfunction function, int width, int height, CUstream stream) {
  if (width <= 0 || height <= 0) return CUDA_ERROR_INVALID_VALUE;
  return withPrepared(function, [&](Prepared& prepared) {
    std::size_t bytes = prepared.bytes;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, prepared.arguments.data(), CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                     CU_LAUNCH_PARAM_END};
    const unsigned* const block = prepared.block;
    return impl::cuLaunchKernel(function, static_cast<unsigned>(width), static_cast<unsigned>(height), 1, block[0],
                                block[1], block[2], prepared.sharedBytes, stream, nullptr, extra);
  });
}

}  // namespace

CUresult cuFuncSetBlockShape(CUfunction hfunc, int x, int y, int z) {
  if (x <= 0 || y <= 0 || z <= 0) return CUDA_ERROR_INVALID_VALUE;
  return withPrepared(hfunc, [&](Prepared& prepared) {
    prepared.block[0] = static_cast<unsigned>(x);
    prepared.block[1] = static_cast<unsigned>(y);
    prepared.block[2] = static_cast<unsigned>(z);
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncSetSharedSize(CUfunction hfunc, unsigned int bytes) {
  return withPrepared(hfunc, [&](Prepared& prepared) {
    prepared.sharedBytes = bytes;
    return CUDA_SUCCESS;
  });
}

CUresult cuParamSetSize(CUfunction hfunc, unsigned int numbytes) {
  if (numbytes > kMostBytes) return CUDA_ERROR_INVALID_VALUE;
  return withPrepared(hfunc, [&](Prepared& prepared) {
    prepared.bytes = numbytes;
    return CUDA_SUCCESS;
  });
}

CUresult cuParamSeti(CUfunction hfunc, int offset, unsigned int value) {
  return setArgument(hfunc, offset, &value, sizeof value);
}

CUresult cuParamSetf(CUfunction hfunc, int offset, float value) {
  return setArgument(hfunc, offset, &value, sizeof value);
}

CUresult cuParamSetv(CUfunction hfunc, int offset, void* ptr, unsigned int numbytes) {
  return setArgument(hfunc, offset, ptr, numbytes);
}

CUresult cuLaunch(CUfunction f) { return launchPrepared(f, 1, 1, nullptr); }

CUresult cuLaunchGrid(CUfunction f, int grid_width, int grid_height) {
  return launchPrepared(f, grid_width, grid_height, nullptr);
}

CUresult cuLaunchGridAsync(CUfunction f, int grid_width, int grid_height, CUstream hStream) {
  return launchPrepared(f, grid_width, grid_height, hStream);
}

}  // namespace rouse::cuda::impl
