#include "client-shim/cudart/copy_box.h"

#include <cstddef>
#include <cstdint>

#include "client-shim/cudart/texture/array.h"

namespace rouse::cudart {
namespace {

// Offset of a position in pitched memory. False: it does not fit an address.
bool offsetOf(cudaPos position, std::uint64_t pitch, std::uint64_t slicePitch, std::uint64_t* offset) {
  std::uint64_t rows = 0, planes = 0;
  return !__builtin_mul_overflow(position.y, pitch, &rows) &&
         !__builtin_mul_overflow(position.z, slicePitch, &planes) && !__builtin_add_overflow(rows, planes, &rows) &&
         !__builtin_add_overflow(rows, position.x, offset);
}

}  // namespace

cudaError_t boxOf(cudaPitchedPtr dst, cudaPos dstPos, cudaPitchedPtr src, cudaPos srcPos, cudaExtent extent,
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

cudaError_t boxOf(const cudaMemcpy3DParms& p, client::CopyShape* shape) {
  if (p.srcArray == nullptr && p.dstArray == nullptr) return boxOf(p.dstPtr, p.dstPos, p.srcPtr, p.srcPos, p.extent, shape);
  // Extents and an array's positions are texels then (cudaMemcpy3D).
  if ((p.srcArray != nullptr && p.srcPtr.ptr != nullptr) || (p.dstArray != nullptr && p.dstPtr.ptr != nullptr)) return cudaErrorInvalidValue;
  cudaPitchedPtr to = p.dstPtr, from = p.srcPtr;
  cudaPos toPos = p.dstPos, fromPos = p.srcPos;
  std::uint32_t texel = 0;
  const auto enter = [&](cudaArray_t array, cudaPitchedPtr* pointer, cudaPos* position) {
    if (array == nullptr) return cudaSuccess;
    const texture::Array* found = texture::findArray(array);
    if (found == nullptr) return cudaErrorInvalidResourceHandle;
    if (texel != 0 && texel != found->texelBytes()) return cudaErrorInvalidValue;
    texel = found->texelBytes();
    const cudaPos at = *position;
    *position = {};
    return texture::pitched(array, at, p.extent, pointer);
  };
  if (const cudaError_t error = enter(p.srcArray, &from, &fromPos); error != cudaSuccess) return error;
  if (const cudaError_t error = enter(p.dstArray, &to, &toPos); error != cudaSuccess) return error;
  return boxOf(to, toPos, from, fromPos, {p.extent.width * texel, p.extent.height, p.extent.depth}, shape);
}

cudaMemcpy3DParms parametersOf(const client::CopyShape& shape, cudaMemcpyKind kind) {
  const auto pitched = [&](const void* at, std::uint64_t pitch, std::uint64_t slicePitch) {
    const std::uint64_t rows = shape.depth > 1 && pitch != 0 ? slicePitch / pitch : shape.height;
    return cudaPitchedPtr{const_cast<void*>(at), pitch, shape.width, rows};
  };
  cudaMemcpy3DParms parameters{};
  parameters.dstPtr = pitched(shape.destination, shape.destinationPitch, shape.destinationSlicePitch);
  parameters.srcPtr = pitched(shape.source, shape.sourcePitch, shape.sourceSlicePitch);
  parameters.extent = {shape.width, shape.height, shape.depth};
  parameters.kind = kind;
  return parameters;
}

}  // namespace rouse::cudart
