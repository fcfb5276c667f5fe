// CUDA Runtime API, "Memory Management": copies to, from and between arrays. Widths and horizontal offsets are bytes.
#include <algorithm>

#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/texture/array.h"

namespace rouse::cudart::impl {
namespace {

struct Place {
  std::size_t x = 0, y = 0;
};

// A rectangle of an array, from a byte of a row on.
cudaError_t rectangle(cudaArray_const_t handle, Place at, std::size_t width, std::size_t height, void** pointer, std::size_t* pitch) {
  const texture::Array* array = texture::findArray(handle);
  if (array == nullptr || array->stale()) return cudaErrorInvalidResourceHandle;
  const std::uint64_t row = array->extent.width * array->texelBytes();
  if (at.x > row || width > row - at.x || at.y > array->rows() || height > array->rows() - at.y) return cudaErrorInvalidValue;
  *pointer = reinterpret_cast<void*>(array->address + at.y * array->pitch + at.x);  // NOLINT(performance-no-int-to-ptr)
  *pitch = array->pitch;
  return cudaSuccess;
}

// As many bytes of an array as rows of it hold one behind another: at most three rectangles of this and of dense memory.
template <class Copy>
cudaError_t inRows(cudaArray_const_t handle, Place at, std::size_t count, Copy&& copy) {
  const texture::Array* array = texture::findArray(handle);
  if (array == nullptr || array->stale()) return cudaErrorInvalidResourceHandle;
  const std::size_t row = array->extent.width * array->texelBytes();
  std::size_t done = 0;
  while (done < count) {
    const std::size_t left = count - done;
    const bool whole = at.x == 0 && left >= row;
    const std::size_t width = whole ? row : std::min(left, row - std::min(at.x, row)), height = whole ? left / row : 1;
    if (width == 0) return cudaErrorInvalidValue;
    if (const cudaError_t error = copy(at, done, width, height); error != cudaSuccess) return error;
    done += width * height;
    at = {0, at.y + height};
  }
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaMemcpy2DToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void* src, size_t spitch, size_t width, size_t height,
                                cudaMemcpyKind kind, cudaStream_t defaultStream) {
  void* to = nullptr;
  size_t pitch = 0;
  if (const cudaError_t error = rectangle(dst, {wOffset, hOffset}, width, height, &to, &pitch); error != cudaSuccess) return error;
  return impl::cudaMemcpy2D(to, pitch, src, spitch, width, height, kind, defaultStream);
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset, const void* src, size_t spitch, size_t width,
                                     size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  void* to = nullptr;
  size_t pitch = 0;
  if (const cudaError_t error = rectangle(dst, {wOffset, hOffset}, width, height, &to, &pitch); error != cudaSuccess) return error;
  return impl::cudaMemcpy2DAsync(to, pitch, src, spitch, width, height, kind, stream);
}

cudaError_t cudaMemcpy2DFromArray(void* dst, size_t dpitch, cudaArray_const_t src, size_t wOffset, size_t hOffset, size_t width, size_t height,
                                  cudaMemcpyKind kind, cudaStream_t defaultStream) {
  void* from = nullptr;
  size_t pitch = 0;
  if (const cudaError_t error = rectangle(src, {wOffset, hOffset}, width, height, &from, &pitch); error != cudaSuccess) return error;
  return impl::cudaMemcpy2D(dst, dpitch, from, pitch, width, height, kind, defaultStream);
}

cudaError_t cudaMemcpy2DFromArrayAsync(void* dst, size_t dpitch, cudaArray_const_t src, size_t wOffset, size_t hOffset, size_t width,
                                       size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  void* from = nullptr;
  size_t pitch = 0;
  if (const cudaError_t error = rectangle(src, {wOffset, hOffset}, width, height, &from, &pitch); error != cudaSuccess) return error;
  return impl::cudaMemcpy2DAsync(dst, dpitch, from, pitch, width, height, kind, stream);
}

cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst, cudaArray_const_t src, size_t wOffsetSrc,
                                     size_t hOffsetSrc, size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t defaultStream) {
  void *to = nullptr, *from = nullptr;
  size_t pitchTo = 0, pitchFrom = 0;
  if (const cudaError_t error = rectangle(dst, {wOffsetDst, hOffsetDst}, width, height, &to, &pitchTo); error != cudaSuccess) return error;
  if (const cudaError_t error = rectangle(src, {wOffsetSrc, hOffsetSrc}, width, height, &from, &pitchFrom); error != cudaSuccess) return error;
  return impl::cudaMemcpy2D(to, pitchTo, from, pitchFrom, width, height, kind, defaultStream);
}

cudaError_t cudaMemcpyArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst, cudaArray_const_t src, size_t wOffsetSrc,
                                   size_t hOffsetSrc, size_t count, cudaMemcpyKind kind, cudaStream_t defaultStream) {
  const texture::Array *to = texture::findArray(dst), *from = texture::findArray(src);
  if (to == nullptr || from == nullptr) return cudaErrorInvalidResourceHandle;
  const std::size_t rowTo = to->extent.width * to->texelBytes(), rowFrom = from->extent.width * from->texelBytes();
  Place a{wOffsetDst, hOffsetDst}, b{wOffsetSrc, hOffsetSrc};
  while (count != 0) {
    if (a.x >= rowTo || b.x >= rowFrom) return cudaErrorInvalidValue;
    const std::size_t part = std::min({count, rowTo - a.x, rowFrom - b.x});
    const cudaError_t error = impl::cudaMemcpy2DArrayToArray(dst, a.x, a.y, src, b.x, b.y, part, 1, kind, defaultStream);
    if (error != cudaSuccess) return error;
    count -= part;
    if ((a.x += part) == rowTo) a = {0, a.y + 1};
    if ((b.x += part) == rowFrom) b = {0, b.y + 1};
  }
  return cudaSuccess;
}

cudaError_t cudaMemcpyToArray(cudaArray_t dst, size_t wOffset, size_t hOffset, const void* src, size_t count, cudaMemcpyKind kind,
                              cudaStream_t defaultStream) {
  return inRows(dst, {wOffset, hOffset}, count, [&](Place at, size_t done, size_t width, size_t height) {
    return impl::cudaMemcpy2DToArray(dst, at.x, at.y, static_cast<const std::byte*>(src) + done, width, width, height, kind, defaultStream);
  });
}

cudaError_t cudaMemcpyToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset, const void* src, size_t count, cudaMemcpyKind kind,
                                   cudaStream_t stream) {
  return inRows(dst, {wOffset, hOffset}, count, [&](Place at, size_t done, size_t width, size_t height) {
    return impl::cudaMemcpy2DToArrayAsync(dst, at.x, at.y, static_cast<const std::byte*>(src) + done, width, width, height, kind, stream);
  });
}

cudaError_t cudaMemcpyFromArray(void* dst, cudaArray_const_t src, size_t wOffset, size_t hOffset, size_t count, cudaMemcpyKind kind,
                                cudaStream_t defaultStream) {
  return inRows(src, {wOffset, hOffset}, count, [&](Place at, size_t done, size_t width, size_t height) {
    return impl::cudaMemcpy2DFromArray(static_cast<std::byte*>(dst) + done, width, src, at.x, at.y, width, height, kind, defaultStream);
  });
}

cudaError_t cudaMemcpyFromArrayAsync(void* dst, cudaArray_const_t src, size_t wOffset, size_t hOffset, size_t count, cudaMemcpyKind kind,
                                     cudaStream_t stream) {
  return inRows(src, {wOffset, hOffset}, count, [&](Place at, size_t done, size_t width, size_t height) {
    return impl::cudaMemcpy2DFromArrayAsync(static_cast<std::byte*>(dst) + done, width, src, at.x, at.y, width, height, kind, stream);
  });
}

}  // namespace rouse::cudart::impl
