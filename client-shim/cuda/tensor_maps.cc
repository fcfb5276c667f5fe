// CUDA Driver API, "Tensor Map Object Management": a map is what the device makes of what the program says.
#include <algorithm>
#include <cstring>

#include "client-shim/cuda/call.h"
#include "client-shim/cuda/context.h"
#include "client-shim/cuda/implementations.h"
#include "client-shim/library/driver_host.h"

namespace rouse::cuda::impl {
namespace {

constexpr std::uintptr_t kAlignment = 64;

CUresult encode(const wire::TensorMapRequest& request, CUtensorMap* tensorMap) {
  static_assert(sizeof(CUtensorMap) == sizeof(wire::TensorMap));
  if (tensorMap == nullptr || reinterpret_cast<std::uintptr_t>(tensorMap) % kAlignment != 0) return CUDA_ERROR_INVALID_VALUE;
  const Context* const context = currentContext();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  wire::TensorMap made;
  const CudaError error = client::driverHost()->encodeTensorMap(context->device, request, &made);
  if (error != CudaError::success) return static_cast<CUresult>(error);
  std::memcpy(tensorMap, made.data(), made.size());
  return CUDA_SUCCESS;
}

// What both kinds have. False: a rank that no array here has room for, or an array that is missing.
bool describe(wire::TensorMapRequest& request, CUtensorMapDataType type, cuuint32_t rank, const void* address, const cuuint64_t* dims, const cuuint64_t* strides,
              const cuuint32_t* elementStrides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  if (rank == 0 || rank > wire::kMaxTensorRank || dims == nullptr || elementStrides == nullptr || (strides == nullptr && rank > 1)) return false;
  request.address = reinterpret_cast<std::uint64_t>(address);
  request.type = type;
  request.rank = rank;
  request.interleave = interleave;
  request.swizzle = swizzle;
  request.promotion = promotion;
  request.fill = fill;
  std::copy_n(dims, rank, request.dims);
  std::copy_n(strides, rank - 1, request.strides);
  std::copy_n(elementStrides, rank, request.elementStrides);
  return true;
}

}  // namespace

CUresult cuTensorMapEncodeTiled(CUtensorMap* tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank, void* globalAddress, const cuuint64_t* globalDim,
                                const cuuint64_t* globalStrides, const cuuint32_t* boxDim, const cuuint32_t* elementStrides, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill) {
  wire::TensorMapRequest request{};
  if (boxDim == nullptr || !describe(request, tensorDataType, tensorRank, globalAddress, globalDim, globalStrides, elementStrides, interleave, swizzle, l2Promotion, oobFill))
    return CUDA_ERROR_INVALID_VALUE;
  std::copy_n(boxDim, tensorRank, request.box);
  return encode(request, tensorMap);
}

CUresult cuTensorMapEncodeIm2col(CUtensorMap* tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank, void* globalAddress, const cuuint64_t* globalDim,
                                 const cuuint64_t* globalStrides, const int* pixelBoxLowerCorner, const int* pixelBoxUpperCorner, cuuint32_t channelsPerPixel,
                                 cuuint32_t pixelsPerColumn, const cuuint32_t* elementStrides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
                                 CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill) {
  wire::TensorMapRequest request{};
  if (pixelBoxLowerCorner == nullptr || pixelBoxUpperCorner == nullptr || tensorRank < 3 ||
      !describe(request, tensorDataType, tensorRank, globalAddress, globalDim, globalStrides, elementStrides, interleave, swizzle, l2Promotion, oobFill))
    return CUDA_ERROR_INVALID_VALUE;
  request.kind = wire::TensorMapKind::im2col;
  std::copy_n(pixelBoxLowerCorner, tensorRank - 2, request.lower);
  std::copy_n(pixelBoxUpperCorner, tensorRank - 2, request.upper);
  request.channels = channelsPerPixel;
  request.pixels = pixelsPerColumn;
  return encode(request, tensorMap);
}

CUresult cuTensorMapReplaceAddress(CUtensorMap* tensorMap, void* globalAddress) {
  if (tensorMap == nullptr) return CUDA_ERROR_INVALID_VALUE;
  wire::TensorMapRequest request{};
  request.kind = wire::TensorMapKind::replaceAddress;
  request.address = reinterpret_cast<std::uint64_t>(globalAddress);
  std::memcpy(request.map.data(), tensorMap, request.map.size());
  return encode(request, tensorMap);
}

}  // namespace rouse::cuda::impl
