// Copies of boxes, as the driver and as the runtime describe them.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace rouse::cuda {

// CUDA_ERROR_INVALID_VALUE: no such kind of memory, rows shorter than what is copied of them, or bytes that are not whole elements of an array.
CUresult boxOf(const CUDA_MEMCPY3D& copy, cudaMemcpy3DParms* box);

// What boxOf() was given, or means the same: pitches and heights are told also where nothing is counted by them.
CUresult copyOf(const cudaMemcpy3DParms& box, CUDA_MEMCPY3D* copy);

// finished: waits as the driver's synchronous copies do. `stream` null: the legacy stream, or a stream.
CUresult copyBox(const CUDA_MEMCPY3D& copy, CUstream stream, bool finished);

}  // namespace rouse::cuda
