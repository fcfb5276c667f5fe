// CUDA Driver API, "Profiler Control": no profiler is ever attached.
#include <cuda_profiler_api.h>

#include "client-shim/cuda/call.h"
#include "client-shim/cuda/implementations.h"

namespace rouse::cuda::impl {

CUresult cuProfilerStart() {
  return call([] { return cudaProfilerStart(); });
}

CUresult cuProfilerStop() {
  return call([] { return cudaProfilerStop(); });
}

}  // namespace rouse::cuda::impl
