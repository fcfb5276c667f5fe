// CUDA Runtime API, "Memory Management": copies of planes and boxes. CUDA arrays cannot be made here, so none can be
// named.
#include <algorithm>

#include "client-shim/core/stream.h"
#include "client-shim/cudart/copy_box.h"
#include "client-shim/cudart/copy_kind.h"
#include "client-shim/cudart/device_attributes.h"
#include "client-shim/cudart/graph/capture_work.h"
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/session.h"

namespace rouse::cudart::impl {
namespace {

cudaError_t copy(const client::CopyShape& shape, cudaMemcpyKind kind, cudaStream_t handle,
                 client::Completion completion) {
  client::CopyKind direction{};
  client::Stream* stream = nullptr;
  if (const cudaError_t error = copyKind(kind, &direction); error != cudaSuccess) return error;
  if (const cudaError_t error = findStream(handle, &stream); error != cudaSuccess) return error;
  const auto maxPitch = static_cast<std::uint64_t>(deviceAttribute(stream->device().info(), cudaDevAttrMaxPitch));
  if (maxPitch != 0 && std::max(shape.destinationPitch, shape.sourcePitch) > maxPitch)
    return cudaErrorInvalidPitchValue;
  if (graph::anyCapture()) {
    bool done = false;
    const cudaError_t error = graph::captureCopy(*stream, parametersOf(shape, kind), completion, &done);
    if (error != cudaSuccess || done) return error;
  }
  return toCuda(client::copy(*stream, shape, direction, completion));
}

client::CopyShape plane(void* dst, std::size_t dpitch, const void* src, std::size_t spitch, std::size_t width,
                        std::size_t height) {
  client::CopyShape shape;
  shape.destination = dst;
  shape.destinationPitch = dpitch;
  shape.source = src;
  shape.sourcePitch = spitch;
  shape.width = width;
  shape.height = height;
  return shape;
}

cudaError_t copyBox(const cudaMemcpy3DParms& p, cudaStream_t stream, client::Completion completion) {
  client::CopyShape shape;
  if (const cudaError_t error = boxOf(p, &shape); error != cudaSuccess) return error;
  return copy(shape, p.kind, stream, completion);
}

cudaError_t copyBoxPeer(const cudaMemcpy3DPeerParms& p, cudaStream_t stream, client::Completion completion) {
  if (p.srcArray != nullptr || p.dstArray != nullptr) return cudaErrorNotSupported;
  client::Device* device = nullptr;
  if (const cudaError_t error = findDevice(p.srcDevice, &device); error != cudaSuccess) return error;
  if (const cudaError_t error = findDevice(p.dstDevice, &device); error != cudaSuccess) return error;
  client::CopyShape shape;
  if (const cudaError_t error = boxOf(p.dstPtr, p.dstPos, p.srcPtr, p.srcPos, p.extent, &shape); error != cudaSuccess) {
    return error;
  }
  return copy(shape, cudaMemcpyDefault, stream, completion);
}

// An operand of a batch names its memory by rows; what it leaves out is as large as the copy.
cudaError_t operand(const cudaMemcpy3DOperand& from, cudaExtent extent, cudaPitchedPtr* to) {
  if (from.type == cudaMemcpyOperandTypeArray) return cudaErrorNotSupported;
  if (from.type != cudaMemcpyOperandTypePointer) return cudaErrorInvalidValue;
  *to = {from.op.ptr.ptr, from.op.ptr.rowLength != 0 ? from.op.ptr.rowLength : extent.width, extent.width,
         from.op.ptr.layerHeight != 0 ? from.op.ptr.layerHeight : extent.height};
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaMemcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                         cudaMemcpyKind kind, cudaStream_t defaultStream) {
  return copy(plane(dst, dpitch, src, spitch, width, height), kind, defaultStream, client::Completion::finished);
}

cudaError_t cudaMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  return copy(plane(dst, dpitch, src, spitch, width, height), kind, stream, client::Completion::queued);
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p, cudaStream_t defaultStream) {
  return copyBox(*p, defaultStream, client::Completion::finished);
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t stream) {
  return copyBox(*p, stream, client::Completion::queued);
}

cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* p, cudaStream_t defaultStream) {
  return copyBoxPeer(*p, defaultStream, client::Completion::finished);
}

cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* p, cudaStream_t stream) {
  return copyBoxPeer(*p, stream, client::Completion::queued);
}

cudaError_t cudaMemcpy3DBatchAsync(size_t numOps, cudaMemcpy3DBatchOp* opList, unsigned long long flags,
                                   cudaStream_t stream) {
  if (numOps == 0 || flags != 0) return cudaErrorInvalidValue;
  if (reinterpret_cast<std::uintptr_t>(stream) <= 1) return cudaErrorInvalidValue;  // not in the legacy stream
  for (size_t i = 0; i < numOps; ++i) {
    const cudaMemcpy3DBatchOp& op = opList[i];
    cudaPitchedPtr dst{}, src{};
    client::CopyShape shape;
    if (const cudaError_t error = operand(op.dst, op.extent, &dst); error != cudaSuccess) return error;
    if (const cudaError_t error = operand(op.src, op.extent, &src); error != cudaSuccess) return error;
    if (const cudaError_t error = boxOf(dst, {}, src, {}, op.extent, &shape); error != cudaSuccess) return error;
    const cudaError_t error = copy(shape, cudaMemcpyDefault, stream, client::Completion::queued);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace rouse::cudart::impl
