// cudaMemcpy3D's way to describe a copy, as the client core's.
#pragma once

#include <cuda_runtime_api.h>

#include "client-shim/core/copy.h"

namespace rouse::cudart {

// cudaErrorInvalidValue: a box that leaves its rows or planes, or no memory. An empty extent is an empty shape.
cudaError_t boxOf(const cudaMemcpy3DParms& parameters, client::CopyShape* shape);
cudaError_t boxOf(cudaPitchedPtr dst, cudaPos dstPos, cudaPitchedPtr src, cudaPos srcPos, cudaExtent extent,
                  client::CopyShape* shape);

// The other way round.
cudaMemcpy3DParms parametersOf(const client::CopyShape& shape, cudaMemcpyKind kind);

}  // namespace rouse::cudart
