// Work that calls would submit, as nodes of a capture. `*done`: there is nothing left to submit.
#pragma once

#include <cuda_runtime_api.h>

#include "client-shim/core/copy.h"
#include "client-shim/cudart/graph/capture.h"

namespace rouse::cudart::graph {

// cudaErrorStreamCaptureUnsupported: a call that would wait (finished).
cudaError_t captureCopy(client::Stream& stream, const cudaMemcpy3DParms& box, client::Completion completion, bool* done);
// depth planes of such boxes, slicePitch apart.
cudaError_t captureFill(client::Stream& stream, const cudaMemsetParams& box, std::size_t slicePitch, std::size_t depth,
                        client::Completion completion, bool* done);
cudaError_t captureAlloc(client::Stream& stream, std::size_t bytes, void** pointer, bool* done);
cudaError_t captureFree(client::Stream& stream, void* pointer, bool* done);

// cudaFree and cudaFreeAsync outside of captures, of what a graph has allocated: the address stays the graph's. cudaErrorInvalidValue: it
// is not allocated now. `*freed` false: it is no graph's.
cudaError_t freeAllocation(void* pointer, bool* freed);

}  // namespace rouse::cudart::graph
