// CUDA Driver API, "Texture Object Management", "Surface Object Management".
#include <algorithm>
#include <cstring>

#include "client-shim/cuda/call.h"
#include "client-shim/cuda/context.h"
#include "client-shim/cuda/implementations.h"
#include "client-shim/cuda/texel.h"

namespace rouse::cuda::impl {
namespace {

// A resource, and what its elements are.
CUresult read(const CUDA_RESOURCE_DESC& from, cudaResourceDesc* to, cudaChannelFormatDesc* texel) {
  *to = {};
  switch (from.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
      to->resType = cudaResourceTypeArray;
      to->res.array.array = reinterpret_cast<cudaArray_t>(from.res.array.hArray);
      return call([&] { return cudaGetChannelDesc(texel, to->res.array.array); });
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: {
      cudaArray_t level = nullptr;
      to->resType = cudaResourceTypeMipmappedArray;
      to->res.mipmap.mipmap = reinterpret_cast<cudaMipmappedArray_t>(from.res.mipmap.hMipmappedArray);
      const CUresult error = call([&] { return cudaGetMipmappedArrayLevel(&level, to->res.mipmap.mipmap, 0); });
      return error == CUDA_SUCCESS ? call([&] { return cudaGetChannelDesc(texel, level); }) : error;
    }
    case CU_RESOURCE_TYPE_LINEAR:
      if (!texelOf(from.res.linear.format, from.res.linear.numChannels, texel)) return CUDA_ERROR_INVALID_VALUE;
      to->resType = cudaResourceTypeLinear;
      to->res.linear.devPtr = pointer(from.res.linear.devPtr);
      to->res.linear.desc = *texel;
      to->res.linear.sizeInBytes = from.res.linear.sizeInBytes;
      return CUDA_SUCCESS;
    case CU_RESOURCE_TYPE_PITCH2D:
      if (!texelOf(from.res.pitch2D.format, from.res.pitch2D.numChannels, texel)) return CUDA_ERROR_INVALID_VALUE;
      to->resType = cudaResourceTypePitch2D;
      to->res.pitch2D.devPtr = pointer(from.res.pitch2D.devPtr);
      to->res.pitch2D.desc = *texel;
      to->res.pitch2D.width = from.res.pitch2D.width;
      to->res.pitch2D.height = from.res.pitch2D.height;
      to->res.pitch2D.pitchInBytes = from.res.pitch2D.pitchInBytes;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

void write(const cudaResourceDesc& from, CUDA_RESOURCE_DESC* to) {
  *to = {};
  switch (from.resType) {
    case cudaResourceTypeArray:
      to->resType = CU_RESOURCE_TYPE_ARRAY;
      to->res.array.hArray = reinterpret_cast<CUarray>(from.res.array.array);
      return;
    case cudaResourceTypeMipmappedArray:
      to->resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
      to->res.mipmap.hMipmappedArray = reinterpret_cast<CUmipmappedArray>(from.res.mipmap.mipmap);
      return;
    case cudaResourceTypeLinear:
      to->resType = CU_RESOURCE_TYPE_LINEAR;
      to->res.linear.devPtr = address(from.res.linear.devPtr);
      to->res.linear.format = formatOf(from.res.linear.desc);
      to->res.linear.numChannels = channelsOf(from.res.linear.desc);
      to->res.linear.sizeInBytes = from.res.linear.sizeInBytes;
      return;
    case cudaResourceTypePitch2D:
      to->resType = CU_RESOURCE_TYPE_PITCH2D;
      to->res.pitch2D.devPtr = address(from.res.pitch2D.devPtr);
      to->res.pitch2D.format = formatOf(from.res.pitch2D.desc);
      to->res.pitch2D.numChannels = channelsOf(from.res.pitch2D.desc);
      to->res.pitch2D.width = from.res.pitch2D.width;
      to->res.pitch2D.height = from.res.pitch2D.height;
      to->res.pitch2D.pitchInBytes = from.res.pitch2D.pitchInBytes;
      return;
  }
}

// The driver turns integers of 8 and 16 bits into floats unless it is told not to, and leaves others as they are; the runtime does as it is told.
bool convertible(const cudaChannelFormatDesc& texel) { return texel.f != cudaChannelFormatKindFloat && texel.x <= 16; }

cudaTextureDesc read(const CUDA_TEXTURE_DESC& from, const cudaChannelFormatDesc& texel) {
  cudaTextureDesc to{};
  for (int i = 0; i < 3; ++i) to.addressMode[i] = static_cast<cudaTextureAddressMode>(from.addressMode[i]);
  to.filterMode = static_cast<cudaTextureFilterMode>(from.filterMode);
  to.readMode = (from.flags & CU_TRSF_READ_AS_INTEGER) == 0 && convertible(texel) ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
  to.sRGB = (from.flags & CU_TRSF_SRGB) != 0;
  std::copy(std::begin(from.borderColor), std::end(from.borderColor), to.borderColor);
  to.normalizedCoords = (from.flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
  to.maxAnisotropy = from.maxAnisotropy;
  to.mipmapFilterMode = static_cast<cudaTextureFilterMode>(from.mipmapFilterMode);
  to.mipmapLevelBias = from.mipmapLevelBias;
  to.minMipmapLevelClamp = from.minMipmapLevelClamp;
  to.maxMipmapLevelClamp = from.maxMipmapLevelClamp;
  to.disableTrilinearOptimization = (from.flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION) != 0;
  to.seamlessCubemap = (from.flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0;
  return to;
}

CUDA_TEXTURE_DESC write(const cudaTextureDesc& from, const cudaChannelFormatDesc& texel) {
  CUDA_TEXTURE_DESC to{};
  for (int i = 0; i < 3; ++i) to.addressMode[i] = static_cast<CUaddress_mode>(from.addressMode[i]);
  to.filterMode = static_cast<CUfilter_mode>(from.filterMode);
  if (from.readMode == cudaReadModeElementType && convertible(texel)) to.flags |= CU_TRSF_READ_AS_INTEGER;
  if (from.normalizedCoords != 0) to.flags |= CU_TRSF_NORMALIZED_COORDINATES;
  if (from.sRGB != 0) to.flags |= CU_TRSF_SRGB;
  if (from.disableTrilinearOptimization != 0) to.flags |= CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION;
  if (from.seamlessCubemap != 0) to.flags |= CU_TRSF_SEAMLESS_CUBEMAP;
  std::copy(std::begin(from.borderColor), std::end(from.borderColor), to.borderColor);
  to.maxAnisotropy = from.maxAnisotropy;
  to.mipmapFilterMode = static_cast<CUfilter_mode>(from.mipmapFilterMode);
  to.mipmapLevelBias = from.mipmapLevelBias;
  to.minMipmapLevelClamp = from.minMipmapLevelClamp;
  to.maxMipmapLevelClamp = from.maxMipmapLevelClamp;
  return to;
}

constexpr unsigned kTextureFlags = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB | CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION |
                                   CU_TRSF_SEAMLESS_CUBEMAP;

}  // namespace

CUresult cuTexObjectCreate(CUtexObject* pTexObject, const CUDA_RESOURCE_DESC* pResDesc, const CUDA_TEXTURE_DESC* pTexDesc,
                           const CUDA_RESOURCE_VIEW_DESC* pResViewDesc) {
  if (pTexObject == nullptr || pResDesc == nullptr || pTexDesc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (pResDesc->flags != 0 || (pTexDesc->flags & ~kTextureFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  cudaResourceDesc resource;
  cudaChannelFormatDesc texel;
  if (const CUresult error = read(*pResDesc, &resource, &texel); error != CUDA_SUCCESS) return error;
  const cudaTextureDesc texture = read(*pTexDesc, texel);
  cudaResourceViewDesc view{};
  if (pResViewDesc != nullptr) {
    view.format = static_cast<cudaResourceViewFormat>(pResViewDesc->format);
    view.width = pResViewDesc->width;
    view.height = pResViewDesc->height;
    view.depth = pResViewDesc->depth;
    view.firstMipmapLevel = pResViewDesc->firstMipmapLevel;
    view.lastMipmapLevel = pResViewDesc->lastMipmapLevel;
    view.firstLayer = pResViewDesc->firstLayer;
    view.lastLayer = pResViewDesc->lastLayer;
  }
  cudaTextureObject_t object = 0;
  const CUresult error = call([&] { return cudaCreateTextureObject(&object, &resource, &texture, pResViewDesc != nullptr ? &view : nullptr); });
  if (error != CUDA_SUCCESS) return error;
  own(Owned::texture, object);
  *pTexObject = object;
  return CUDA_SUCCESS;
}

CUresult cuTexObjectDestroy(CUtexObject texObject) {
  disown(Owned::texture, texObject);
  return call([&] { return cudaDestroyTextureObject(texObject); });
}

CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC* pResDesc, CUtexObject texObject) {
  cudaResourceDesc found;
  if (pResDesc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult error = call([&] { return cudaGetTextureObjectResourceDesc(&found, texObject); });
  if (error == CUDA_SUCCESS) write(found, pResDesc);
  return error;
}

CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC* pTexDesc, CUtexObject texObject) {
  CUDA_RESOURCE_DESC resource;
  cudaResourceDesc same;
  cudaTextureDesc found;
  cudaChannelFormatDesc texel;
  if (pTexDesc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = call([&] { return cudaGetTextureObjectTextureDesc(&found, texObject); }); error != CUDA_SUCCESS) return error;
  if (const CUresult error = impl::cuTexObjectGetResourceDesc(&resource, texObject); error != CUDA_SUCCESS) return error;
  if (const CUresult error = read(resource, &same, &texel); error != CUDA_SUCCESS) return error;
  *pTexDesc = write(found, texel);
  return CUDA_SUCCESS;
}

CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC* pResViewDesc, CUtexObject texObject) {
  cudaResourceViewDesc found;
  if (pResViewDesc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = call([&] { return cudaGetTextureObjectResourceViewDesc(&found, texObject); }); error != CUDA_SUCCESS) return error;
  *pResViewDesc = {};
  pResViewDesc->format = static_cast<CUresourceViewFormat>(found.format);
  pResViewDesc->width = found.width;
  pResViewDesc->height = found.height;
  pResViewDesc->depth = found.depth;
  pResViewDesc->firstMipmapLevel = found.firstMipmapLevel;
  pResViewDesc->lastMipmapLevel = found.lastMipmapLevel;
  pResViewDesc->firstLayer = found.firstLayer;
  pResViewDesc->lastLayer = found.lastLayer;
  return CUDA_SUCCESS;
}

CUresult cuSurfObjectCreate(CUsurfObject* pSurfObject, const CUDA_RESOURCE_DESC* pResDesc) {
  cudaResourceDesc resource;
  cudaChannelFormatDesc texel;
  if (pSurfObject == nullptr || pResDesc == nullptr || pResDesc->flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = read(*pResDesc, &resource, &texel); error != CUDA_SUCCESS) return error;
  cudaSurfaceObject_t object = 0;
  if (const CUresult error = call([&] { return cudaCreateSurfaceObject(&object, &resource); }); error != CUDA_SUCCESS) return error;
  own(Owned::surface, object);
  *pSurfObject = object;
  return CUDA_SUCCESS;
}

CUresult cuSurfObjectDestroy(CUsurfObject surfObject) {
  disown(Owned::surface, surfObject);
  return call([&] { return cudaDestroySurfaceObject(surfObject); });
}

CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC* pResDesc, CUsurfObject surfObject) {
  cudaResourceDesc found;
  if (pResDesc == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult error = call([&] { return cudaGetSurfaceObjectResourceDesc(&found, surfObject); });
  if (error == CUDA_SUCCESS) write(found, pResDesc);
  return error;
}

}  // namespace rouse::cuda::impl
