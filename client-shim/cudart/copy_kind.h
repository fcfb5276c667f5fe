// Directions of copies as programs give them.
#pragma once

#include <cuda_runtime_api.h>

#include "client-shim/core/copy.h"

namespace rouse::cudart {

// cudaErrorInvalidMemcpyDirection for what is none.
inline cudaError_t copyKind(cudaMemcpyKind kind, client::CopyKind* direction) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return cudaErrorInvalidMemcpyDirection;
  *direction = static_cast<client::CopyKind>(kind);  // same numbers
  return cudaSuccess;
}
static_assert(static_cast<int>(client::CopyKind::byAddress) == cudaMemcpyDefault);
static_assert(static_cast<int>(client::CopyKind::deviceToHost) == cudaMemcpyDeviceToHost);

}  // namespace rouse::cudart
