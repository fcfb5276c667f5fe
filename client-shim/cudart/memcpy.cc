// CUDA Runtime API, "Memory Management": copies of one range.
#include "client-shim/cudart/copy_kind.h"
#include "client-shim/cudart/graph/capture_work.h"
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/session.h"

namespace rouse::cudart::impl {
namespace {

cudaError_t copy(void* dst, const void* src, std::size_t count, cudaMemcpyKind kind, cudaStream_t handle,
                 client::Completion completion) {
  client::CopyKind direction{};
  client::Stream* stream = nullptr;
  if (const cudaError_t error = copyKind(kind, &direction); error != cudaSuccess) return error;
  if (const cudaError_t error = findStream(handle, &stream); error != cudaSuccess) return error;
  if (graph::anyCapture()) {
    bool done = false;
    const cudaError_t error = graph::captureCopy(*stream, graph::flatCopy(dst, src, count, kind), completion, &done);
    if (error != cudaSuccess || done) return error;
  }
  return toCuda(client::copy(*stream, dst, src, count, direction, completion));
}

cudaError_t copyPeer(void* dst, int dstDevice, const void* src, int srcDevice, std::size_t count, cudaStream_t stream,
                     client::Completion completion) {
  client::Device* device = nullptr;
  if (const cudaError_t error = findDevice(dstDevice, &device); error != cudaSuccess) return error;
  if (const cudaError_t error = findDevice(srcDevice, &device); error != cudaSuccess) return error;
  return copy(dst, src, count, cudaMemcpyDefault, stream, completion);
}

}  // namespace

cudaError_t cudaMemcpy(void* dst, const void* src, size_t count, cudaMemcpyKind kind, cudaStream_t defaultStream) {
  return copy(dst, src, count, kind, defaultStream, client::Completion::finished);
}

cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t count, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy(dst, src, count, kind, stream, client::Completion::queued);
}

cudaError_t cudaMemcpyPeer(void* dst, int dstDevice, const void* src, int srcDevice, size_t count) {
  return copyPeer(dst, dstDevice, src, srcDevice, count, cudaStreamLegacy, client::Completion::finished);
}

cudaError_t cudaMemcpyPeerAsync(void* dst, int dstDevice, const void* src, int srcDevice, size_t count,
                                cudaStream_t stream) {
  return copyPeer(dst, dstDevice, src, srcDevice, count, stream, client::Completion::queued);
}

// Stream order satisfies every access order that an attribute may ask for: pageable sources have been read on return.
cudaError_t cudaMemcpyBatchAsync(void* const* dsts, const void* const* srcs, const size_t* sizes, size_t count,
                                 cudaMemcpyAttributes* attrs, size_t* attrsIdxs, size_t numAttrs, cudaStream_t stream) {
  if (count == 0 || numAttrs == 0 || numAttrs > count || attrsIdxs[0] != 0) return cudaErrorInvalidValue;
  if (reinterpret_cast<std::uintptr_t>(stream) <= 1) return cudaErrorInvalidValue;  // not in the legacy stream
  for (size_t i = 0; i < numAttrs; ++i) {
    if (attrsIdxs[i] >= count || (i > 0 && attrsIdxs[i] <= attrsIdxs[i - 1])) return cudaErrorInvalidValue;
    if (attrs[i].srcAccessOrder < cudaMemcpySrcAccessOrderStream ||
        attrs[i].srcAccessOrder > cudaMemcpySrcAccessOrderAny) {
      return cudaErrorInvalidValue;
    }
  }
  for (size_t i = 0; i < count; ++i) {
    const cudaError_t error = copy(dsts[i], srcs[i], sizes[i], cudaMemcpyDefault, stream, client::Completion::queued);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace rouse::cudart::impl
