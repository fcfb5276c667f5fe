// CUDA Runtime API, "Memory Management": copies of planes and boxes. CUDA arrays cannot be made here, so none can be
// named.
#include <algorithm>

#include "client-shim/core/stream.h"
#include "client-shim/cudart/copy_kind.h"
#include "client-shim/cudart/device_attributes.h"
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

// Offset of a position in pitched memory. False: it does not fit an address.
bool offsetOf(cudaPos position, std::uint64_t pitch, std::uint64_t slicePitch, std::uint64_t* offset) {
  std::uint64_t rows = 0, planes = 0;
  return !__builtin_mul_overflow(position.y, pitch, &rows) &&
         !__builtin_mul_overflow(position.z, slicePitch, &planes) && !__builtin_add_overflow(rows, planes, &rows) &&
         !__builtin_add_overflow(rows, position.x, offset);
}

cudaError_t box(cudaPitchedPtr dst, cudaPos dstPos, cudaPitchedPtr src, cudaPos srcPos, cudaExtent extent,
                client::CopyShape* shape) {
  shape->width = extent.width;
  shape->height = extent.height;
  shape->depth = extent.depth;
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return cudaSuccess;
  if (dst.ptr == nullptr || src.ptr == nullptr) return cudaErrorInvalidValue;
  // With one plane the height of the box around it does not matter.
  if (extent.depth > 1 && (extent.height > dst.ysize || extent.height > src.ysize)) return cudaErrorInvalidValue;
  shape->destinationPitch = dst.pitch;
  shape->sourcePitch = src.pitch;
  std::uint64_t dstOffset = 0, srcOffset = 0;
  if (__builtin_mul_overflow(dst.pitch, dst.ysize, &shape->destinationSlicePitch) ||
      __builtin_mul_overflow(src.pitch, src.ysize, &shape->sourceSlicePitch) ||
      !offsetOf(dstPos, dst.pitch, shape->destinationSlicePitch, &dstOffset) ||
      !offsetOf(srcPos, src.pitch, shape->sourceSlicePitch, &srcOffset)) {
    return cudaErrorInvalidValue;
  }
  shape->destination = static_cast<std::byte*>(dst.ptr) + dstOffset;
  shape->source = static_cast<const std::byte*>(src.ptr) + srcOffset;
  return cudaSuccess;
}

cudaError_t copyBox(const cudaMemcpy3DParms& p, cudaStream_t stream, client::Completion completion) {
  if (p.srcArray != nullptr || p.dstArray != nullptr) return cudaErrorNotSupported;
  client::CopyShape shape;
  if (const cudaError_t error = box(p.dstPtr, p.dstPos, p.srcPtr, p.srcPos, p.extent, &shape); error != cudaSuccess) {
    return error;
  }
  return copy(shape, p.kind, stream, completion);
}

cudaError_t copyBoxPeer(const cudaMemcpy3DPeerParms& p, cudaStream_t stream, client::Completion completion) {
  if (p.srcArray != nullptr || p.dstArray != nullptr) return cudaErrorNotSupported;
  client::Device* device = nullptr;
  if (const cudaError_t error = findDevice(p.srcDevice, &device); error != cudaSuccess) return error;
  if (const cudaError_t error = findDevice(p.dstDevice, &device); error != cudaSuccess) return error;
  client::CopyShape shape;
  if (const cudaError_t error = box(p.dstPtr, p.dstPos, p.srcPtr, p.srcPos, p.extent, &shape); error != cudaSuccess) {
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
    if (const cudaError_t error = box(dst, {}, src, {}, op.extent, &shape); error != cudaSuccess) return error;
    const cudaError_t error = copy(shape, cudaMemcpyDefault, stream, client::Completion::queued);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace rouse::cudart::impl
