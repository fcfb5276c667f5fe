// CUDA Runtime API, "Memory Management": fills. Only the low byte of the value counts.
#include "client-shim/core/fill.h"
#include "client-shim/cudart/graph/capture_work.h"
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/session.h"

namespace rouse::cudart::impl {
namespace {

cudaError_t fill(void* pointer, int value, std::size_t count, cudaStream_t handle, client::Completion completion) {
  client::Stream* stream = nullptr;
  if (const cudaError_t error = findStream(handle, &stream); error != cudaSuccess) return error;
  if (graph::anyCapture()) {
    bool done = false;
    const cudaMemsetParams box{pointer, count, static_cast<std::uint8_t>(value), 1, count, 1};
    const cudaError_t error = graph::captureFill(*stream, box, 0, 1, completion, &done);
    if (error != cudaSuccess || done) return error;
  }
  return toCuda(client::fill(*stream, pointer, static_cast<std::uint8_t>(value), 1, count, completion));
}

cudaError_t fillBox(void* pointer, std::size_t pitch, std::size_t slicePitch, int value, cudaExtent extent,
                    cudaStream_t handle, client::Completion completion) {
  client::Stream* stream = nullptr;
  if (const cudaError_t error = findStream(handle, &stream); error != cudaSuccess) return error;
  if (graph::anyCapture()) {
    bool done = false;
    const cudaMemsetParams box{pointer, pitch, static_cast<std::uint8_t>(value), 1, extent.width, extent.height};
    const cudaError_t error = graph::captureFill(*stream, box, slicePitch, extent.depth, completion, &done);
    if (error != cudaSuccess || done) return error;
  }
  return toCuda(client::fill3D(*stream, pointer, pitch, slicePitch, static_cast<std::uint8_t>(value), extent.width,
                               extent.height, extent.depth, completion));
}

cudaError_t fillPitched(cudaPitchedPtr pointer, int value, cudaExtent extent, cudaStream_t stream,
                        client::Completion completion) {
  if (extent.depth > 1 && extent.height > pointer.ysize) return cudaErrorInvalidValue;
  std::size_t slicePitch = 0;
  if (__builtin_mul_overflow(pointer.pitch, pointer.ysize, &slicePitch)) return cudaErrorInvalidValue;
  return fillBox(pointer.ptr, pointer.pitch, slicePitch, value, extent, stream, completion);
}

}  // namespace

cudaError_t cudaMemset(void* devPtr, int value, size_t count, cudaStream_t defaultStream) {
  return fill(devPtr, value, count, defaultStream, client::Completion::finished);
}

cudaError_t cudaMemsetAsync(void* devPtr, int value, size_t count, cudaStream_t stream) {
  return fill(devPtr, value, count, stream, client::Completion::queued);
}

cudaError_t cudaMemset2D(void* devPtr, size_t pitch, int value, size_t width, size_t height,
                         cudaStream_t defaultStream) {
  return fillBox(devPtr, pitch, 0, value, {width, height, 1}, defaultStream, client::Completion::finished);
}

cudaError_t cudaMemset2DAsync(void* devPtr, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream) {
  return fillBox(devPtr, pitch, 0, value, {width, height, 1}, stream, client::Completion::queued);
}

cudaError_t cudaMemset3D(cudaPitchedPtr pitchedDevPtr, int value, cudaExtent extent, cudaStream_t defaultStream) {
  return fillPitched(pitchedDevPtr, value, extent, defaultStream, client::Completion::finished);
}

cudaError_t cudaMemset3DAsync(cudaPitchedPtr pitchedDevPtr, int value, cudaExtent extent, cudaStream_t stream) {
  return fillPitched(pitchedDevPtr, value, extent, stream, client::Completion::queued);
}

}  // namespace rouse::cudart::impl
