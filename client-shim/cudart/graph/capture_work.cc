#include "client-shim/cudart/graph/capture_work.h"

#include "client-shim/cudart/copy_box.h"
#include "client-shim/cudart/session.h"

namespace rouse::cudart::graph {
namespace {

// Calls that wait, on whatever stream.
cudaError_t enter(client::Stream& stream, client::Completion completion, Capturing* capturing) {
  if (const cudaError_t error = intercept(stream, capturing); error != cudaSuccess) return error;
  if (completion == client::Completion::queued) return cudaSuccess;
  return *capturing ? refuseCaptured(stream) : cudaSuccess;
}

}  // namespace

cudaError_t captureCopy(client::Stream& stream, const cudaMemcpy3DParms& box, client::Completion completion, bool* done) {
  Capturing capturing;
  if (const cudaError_t error = enter(stream, completion, &capturing); error != cudaSuccess) return error;
  if (!capturing) return completion == client::Completion::finished ? checkUnsafe() : cudaSuccess;
  *done = true;
  if (box.extent.width == 0 || box.extent.height == 0 || box.extent.depth == 0) return cudaSuccess;
  CopyParams params;
  if (const cudaError_t error = readCopy(box, &params); error != cudaSuccess) return error;
  (void)capturing.add(params);
  return cudaSuccess;
}

cudaError_t captureFill(client::Stream& stream, const cudaMemsetParams& box, std::size_t slicePitch, std::size_t depth,
                        client::Completion completion, bool* done) {
  Capturing capturing;
  if (const cudaError_t error = enter(stream, completion, &capturing); error != cudaSuccess || !capturing) return error;
  *done = true;
  for (std::size_t plane = 0; plane < depth && box.width != 0 && box.height != 0; ++plane) {
    cudaMemsetParams part = box;
    if (box.dst != nullptr) part.dst = static_cast<std::byte*>(box.dst) + plane * slicePitch;
    FillParams params;
    if (const cudaError_t error = readFill(part, &params); error != cudaSuccess) return error;
    (void)capturing.add(params);
  }
  return cudaSuccess;
}

cudaError_t captureAlloc(client::Stream& stream, std::size_t bytes, void** pointer, bool* done) {
  Capturing capturing;
  if (const cudaError_t error = intercept(stream, &capturing); error != cudaSuccess || !capturing) return error;
  *done = true;
  AllocParams params;
  if (const cudaError_t error = allocate(stream.device(), bytes, &params.allocation); error != cudaSuccess) return error;
  params.wish.poolProps.allocType = cudaMemAllocationTypePinned;
  params.wish.poolProps.location = {cudaMemLocationTypeDevice, static_cast<int>(stream.device().index())};
  params.wish.bytesize = bytes;
  params.wish.dptr = *pointer = reinterpret_cast<void*>(params.allocation->address);  // NOLINT(performance-no-int-to-ptr)
  (void)capturing.add(std::move(params));
  return cudaSuccess;
}

cudaError_t captureFree(client::Stream& stream, void* pointer, bool* done) {
  Capturing capturing;
  if (const cudaError_t error = intercept(stream, &capturing); error != cudaSuccess || !capturing) return error;
  *done = true;
  // What no graph has allocated would be freed again by each launch.
  if (!findAllocation(pointer)) return cudaErrorInvalidValue;
  (void)capturing.add(FreeParams{pointer});
  return cudaSuccess;
}

cudaError_t freeAllocation(void* pointer, bool* freed) {
  const auto lock = lockGraphs();
  const auto allocation = findAllocation(pointer);
  if (!allocation) return cudaSuccess;
  if (!allocation->live) return cudaErrorInvalidValue;
  *freed = true;
  setLive(allocation, false);
  return cudaSuccess;
}

}  // namespace rouse::cudart::graph
