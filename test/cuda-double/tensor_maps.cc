// Tensor maps: the CPU device's, which runs the kernels.
#include <algorithm>
#include <cstring>

#include "test/cuda-double/implementations.h"
#include "test/cuda-double/state.h"

namespace rouse::cuda_double::impl {
namespace {

constexpr std::uintptr_t kAlignment = 64;

CUresult encode(const wire::TensorMapRequest& request, CUtensorMap* map) {
  if (reinterpret_cast<std::uintptr_t>(map) % kAlignment != 0) return violation(CUDA_ERROR_INVALID_VALUE, "alignment", "of a tensor map");
  Gpu& gpu = here()->gpu;
  const std::lock_guard lock(gpu.deviceMutex);
  const auto made = gpu.device->encode(request);
  if (!made) return static_cast<CUresult>(made.error().code);
  std::memcpy(map, made->data(), made->size());
  return CUDA_SUCCESS;
}

wire::TensorMapRequest describe(CUtensorMapDataType type, cuuint32_t rank, const void* address, const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* elementStrides,
                                CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  wire::TensorMapRequest request{};
  request.address = reinterpret_cast<std::uint64_t>(address);
  request.type = type;
  request.rank = rank;
  request.interleave = interleave;
  request.swizzle = swizzle;
  request.promotion = promotion;
  request.fill = fill;
  if (rank == 0 || rank > wire::kMaxTensorRank) return request;  // refused for that
  std::copy_n(dims, rank, request.dims);
  std::copy_n(elementStrides, rank, request.elementStrides);
  if (strides != nullptr) std::copy_n(strides, rank - 1, request.strides);
  return request;
}

}  // namespace

CUresult cuTensorMapEncodeTiled(CUtensorMap* tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank, void* globalAddress, const cuuint64_t* globalDim,
                                const cuuint64_t* globalStrides, const cuuint32_t* boxDim, const cuuint32_t* elementStrides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill) {
  auto request = describe(tensorDataType, tensorRank, globalAddress, globalDim, globalStrides, elementStrides, interleave, swizzle, l2Promotion, oobFill);
  if (tensorRank <= wire::kMaxTensorRank) std::copy_n(boxDim, tensorRank, request.box);
  return encode(request, tensorMap);
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap* tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank, void* globalAddress, const cuuint64_t* globalDim,
                                 const cuuint64_t* globalStrides, const int*, const int*, cuuint32_t channelsPerPixel, cuuint32_t pixelsPerColumn, const cuuint32_t* elementStrides,
                                 CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill) {
  auto request = describe(tensorDataType, tensorRank, globalAddress, globalDim, globalStrides, elementStrides, interleave, swizzle, l2Promotion, oobFill);
  request.kind = wire::TensorMapKind::im2col;
  request.channels = channelsPerPixel;
  request.pixels = pixelsPerColumn;
  return encode(request, tensorMap);
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* tensorMap, void* globalAddress) {
  wire::TensorMapRequest request{};
  request.kind = wire::TensorMapKind::replaceAddress;
  request.address = reinterpret_cast<std::uint64_t>(globalAddress);
  std::memcpy(request.map.data(), tensorMap, request.map.size());
  return encode(request, tensorMap);
}

}  // namespace rouse::cuda_double::impl
