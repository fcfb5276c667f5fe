// Fills of device memory.
#include "test/cuda-double/implementations.h"
#include "test/cuda-double/ranges.h"
#include "test/cuda-double/state.h"

namespace rouse::cuda_double {
namespace {

CUresult fill(CUstream handle, memory::FillShape shape) {
  const auto stream = streamOf(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (shape.width == 0 || shape.height == 0) return CUDA_SUCCESS;
  const std::uint64_t bytes = shape.width * shape.elementBytes;
  if (!isAligned(shape.destination, shape.elementBytes) || !isAligned(shape.pitch, shape.elementBytes)) {
    return violation(CUDA_ERROR_INVALID_VALUE, "alignment",
                     hex(shape.destination) + " with pitch " + hex(shape.pitch) + " for elements of " +
                         std::to_string(shape.elementBytes) + " bytes");
  }
  if (shape.height > 1 && shape.pitch < bytes) {
    return violation(CUDA_ERROR_INVALID_VALUE, "pitch", hex(shape.pitch) + ", rows of " + hex(bytes));
  }
  Rows rows;
  rows.base = shape.destination;
  rows.pitch = shape.pitch;
  rows.width = bytes;
  rows.height = shape.height;
  if (!usable(rows, Expect::device, "destination")) return CUDA_ERROR_INVALID_VALUE;
  stream->push({[raw = stream.get(), shape] {
                  return raw->onDevice(
                      [&](memory::Context& context, memory::Stream& queue) { context.fill(queue, shape); });
                },
                {rows.span()}});
  return CUDA_SUCCESS;
}

memory::FillShape shapeOf(CUdeviceptr to, std::uint32_t value, std::uint32_t elementBytes, size_t width,
                          size_t pitch = 0, size_t height = 1) {
  memory::FillShape shape;
  shape.destination = to;
  shape.pitch = pitch;
  shape.width = width;
  shape.height = height;
  shape.value = value;
  shape.elementBytes = elementBytes;
  return shape;
}

}  // namespace

namespace impl {

CUresult cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream) {
  return fill(hStream, shapeOf(dstDevice, uc, 1, N));
}

CUresult cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream) {
  return fill(hStream, shapeOf(dstDevice, us, 2, N));
}

CUresult cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream) {
  return fill(hStream, shapeOf(dstDevice, ui, 4, N));
}

CUresult cuMemsetD2D8Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height,
                           CUstream hStream) {
  return fill(hStream, shapeOf(dstDevice, uc, 1, Width, dstPitch, Height));
}

CUresult cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height,
                            CUstream hStream) {
  return fill(hStream, shapeOf(dstDevice, us, 2, Width, dstPitch, Height));
}

CUresult cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height,
                            CUstream hStream) {
  return fill(hStream, shapeOf(dstDevice, ui, 4, Width, dstPitch, Height));
}

}  // namespace impl
}  // namespace rouse::cuda_double
