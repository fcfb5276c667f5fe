// CUDA Driver API, "Memory Management": arrays. Flags have the runtime's numbers; sparse arrays and formats that the runtime has not are refused.
#include "client-shim/cuda/call.h"
#include "client-shim/cuda/context.h"
#include "client-shim/cuda/implementations.h"
#include "client-shim/cuda/texel.h"
#include "client-shim/library/refuse.h"

namespace rouse::cuda::impl {
namespace {

cudaArray_t same(CUarray array) { return reinterpret_cast<cudaArray_t>(array); }
cudaMipmappedArray_t same(CUmipmappedArray array) { return reinterpret_cast<cudaMipmappedArray_t>(array); }

// CUDA_ERROR_NOT_SUPPORTED, and counted for `function`: a format of the driver's that is not served.
CUresult readTexel(const char* function, CUarray_format format, unsigned channels, cudaChannelFormatDesc* texel) {
  if (texelOf(format, channels, texel)) return CUDA_SUCCESS;
  if (channels != 1 && channels != 2 && channels != 4) return CUDA_ERROR_INVALID_VALUE;
  library::refuse(function, "a format of elements that is not 8, 16 or 32 bits of each channel, unnormalised");
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult create(const char* function, CUarray* made, const CUDA_ARRAY3D_DESCRIPTOR& wanted) {
  cudaChannelFormatDesc texel;
  cudaArray_t array = nullptr;
  if (const CUresult error = readTexel(function, wanted.Format, wanted.NumChannels, &texel); error != CUDA_SUCCESS) return error;
  const cudaExtent extent{wanted.Width, wanted.Height, wanted.Depth};
  if (const CUresult error = call([&] { return cudaMalloc3DArray(&array, &texel, extent, wanted.Flags); }); error != CUDA_SUCCESS) return error;
  own(Owned::array, array);
  *made = reinterpret_cast<CUarray>(array);
  return CUDA_SUCCESS;
}

CUresult describe(CUarray array, CUDA_ARRAY3D_DESCRIPTOR* found) {
  cudaChannelFormatDesc texel;
  cudaExtent extent;
  unsigned flags = 0;
  if (const CUresult error = call([&] { return cudaArrayGetInfo(&texel, &extent, &flags, same(array)); }); error != CUDA_SUCCESS) return error;
  *found = {extent.width, extent.height, extent.depth, formatOf(texel), channelsOf(texel), flags};
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuArrayCreate_v2(CUarray* pHandle, const CUDA_ARRAY_DESCRIPTOR* pAllocateArray) {
  if (pHandle == nullptr || pAllocateArray == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return create("cuArrayCreate_v2", pHandle,
                {pAllocateArray->Width, pAllocateArray->Height, 0, pAllocateArray->Format, pAllocateArray->NumChannels, 0});
}

CUresult cuArray3DCreate_v2(CUarray* pHandle, const CUDA_ARRAY3D_DESCRIPTOR* pAllocateArray) {
  if (pHandle == nullptr || pAllocateArray == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return create("cuArray3DCreate_v2", pHandle, *pAllocateArray);
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* pArrayDescriptor, CUarray hArray) {
  return pArrayDescriptor != nullptr ? describe(hArray, pArrayDescriptor) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* pArrayDescriptor, CUarray hArray) {
  CUDA_ARRAY3D_DESCRIPTOR found;
  if (pArrayDescriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = describe(hArray, &found); error != CUDA_SUCCESS) return error;
  *pArrayDescriptor = {found.Width, found.Height, found.Format, found.NumChannels};
  return CUDA_SUCCESS;
}

CUresult cuArrayDestroy(CUarray hArray) {
  CUDA_ARRAY3D_DESCRIPTOR there;
  if (const CUresult error = describe(hArray, &there); error != CUDA_SUCCESS) return error;
  disown(Owned::array, hArray);
  return call([&] { return cudaFreeArray(same(hArray)); });
}

CUresult cuMipmappedArrayCreate(CUmipmappedArray* pHandle, const CUDA_ARRAY3D_DESCRIPTOR* pMipmappedArrayDesc, unsigned int numMipmapLevels) {
  cudaChannelFormatDesc texel;
  cudaMipmappedArray_t array = nullptr;
  if (pHandle == nullptr || pMipmappedArrayDesc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUDA_ARRAY3D_DESCRIPTOR& wanted = *pMipmappedArrayDesc;
  if (const CUresult error = readTexel("cuMipmappedArrayCreate", wanted.Format, wanted.NumChannels, &texel); error != CUDA_SUCCESS) return error;
  const cudaExtent extent{wanted.Width, wanted.Height, wanted.Depth};
  const CUresult error = call([&] { return cudaMallocMipmappedArray(&array, &texel, extent, numMipmapLevels, wanted.Flags); });
  if (error != CUDA_SUCCESS) return error;
  own(Owned::mipmappedArray, array);
  *pHandle = reinterpret_cast<CUmipmappedArray>(array);
  return CUDA_SUCCESS;
}

CUresult cuMipmappedArrayGetLevel(CUarray* pLevelArray, CUmipmappedArray hMipmappedArray, unsigned int level) {
  if (pLevelArray == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaArray_t found = nullptr;
  const CUresult error = call([&] { return cudaGetMipmappedArrayLevel(&found, same(hMipmappedArray), level); });
  if (error == CUDA_SUCCESS) *pLevelArray = reinterpret_cast<CUarray>(found);
  return error;
}

CUresult cuMipmappedArrayDestroy(CUmipmappedArray hMipmappedArray) {
  cudaArray_t there = nullptr;
  if (const CUresult error = call([&] { return cudaGetMipmappedArrayLevel(&there, same(hMipmappedArray), 0); }); error != CUDA_SUCCESS) return error;
  disown(Owned::mipmappedArray, hMipmappedArray);
  return call([&] { return cudaFreeMipmappedArray(same(hMipmappedArray)); });
}

}  // namespace rouse::cuda::impl
