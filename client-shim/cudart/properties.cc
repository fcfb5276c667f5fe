// cudaGetDeviceProperties. Everything comes from the attributes: the two never disagree.
#include <cstdio>
#include <cstring>
#include <string_view>

#include "client-shim/cudart/device_attributes.h"
#include "client-shim/cudart/device_properties.h"
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/session.h"

namespace rouse::cudart {

cudaUUID_t parseUuid(std::string_view text) {
  cudaUUID_t uuid{};
  if (text.starts_with("GPU-")) text.remove_prefix(4);
  std::size_t digits = 0;
  for (const char c : text) {
    int nibble = 0;
    if (c >= '0' && c <= '9') {
      nibble = c - '0';
    } else if (c >= 'a' && c <= 'f') {
      nibble = c - 'a' + 10;
    } else if (c >= 'A' && c <= 'F') {
      nibble = c - 'A' + 10;
    } else {
      continue;
    }
    if (digits == 2 * sizeof(uuid.bytes)) break;
    char& byte = uuid.bytes[digits / 2];
    byte = static_cast<char>(digits % 2 == 0 ? nibble << 4 : static_cast<unsigned char>(byte) | nibble);
    ++digits;
  }
  return uuid;
}

void fillProperties(const client::DeviceInfo& info, cudaDeviceProp* prop) {
  std::memset(prop, 0, sizeof(*prop));
  const auto get = [&](cudaDeviceAttr attribute) { return deviceAttribute(info, attribute); };
  const auto size = [&](cudaDeviceAttr attribute) { return static_cast<std::size_t>(get(attribute)); };

  std::snprintf(prop->name, sizeof(prop->name), "%s", info.name.c_str());
  prop->uuid = parseUuid(info.uuid);
  prop->totalGlobalMem = info.memoryBytes;
  prop->major = static_cast<int>(info.computeMajor);
  prop->minor = static_cast<int>(info.computeMinor);

  prop->sharedMemPerBlock = size(cudaDevAttrMaxSharedMemoryPerBlock);
  prop->sharedMemPerBlockOptin = size(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  prop->sharedMemPerMultiprocessor = size(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  prop->reservedSharedMemPerBlock = size(cudaDevAttrReservedSharedMemoryPerBlock);
  prop->regsPerBlock = get(cudaDevAttrMaxRegistersPerBlock);
  prop->regsPerMultiprocessor = get(cudaDevAttrMaxRegistersPerMultiprocessor);
  prop->warpSize = get(cudaDevAttrWarpSize);
  prop->memPitch = size(cudaDevAttrMaxPitch);
  prop->maxThreadsPerBlock = get(cudaDevAttrMaxThreadsPerBlock);
  prop->maxThreadsPerMultiProcessor = get(cudaDevAttrMaxThreadsPerMultiProcessor);
  prop->maxBlocksPerMultiProcessor = get(cudaDevAttrMaxBlocksPerMultiprocessor);
  prop->multiProcessorCount = get(cudaDevAttrMultiProcessorCount);
  prop->maxThreadsDim[0] = get(cudaDevAttrMaxBlockDimX);
  prop->maxThreadsDim[1] = get(cudaDevAttrMaxBlockDimY);
  prop->maxThreadsDim[2] = get(cudaDevAttrMaxBlockDimZ);
  prop->maxGridSize[0] = get(cudaDevAttrMaxGridDimX);
  prop->maxGridSize[1] = get(cudaDevAttrMaxGridDimY);
  prop->maxGridSize[2] = get(cudaDevAttrMaxGridDimZ);
  prop->totalConstMem = size(cudaDevAttrTotalConstantMemory);
  prop->l2CacheSize = get(cudaDevAttrL2CacheSize);
  prop->persistingL2CacheMaxSize = get(cudaDevAttrMaxPersistingL2CacheSize);
  prop->accessPolicyMaxWindowSize = get(cudaDevAttrMaxAccessPolicyWindowSize);
  prop->globalL1CacheSupported = get(cudaDevAttrGlobalL1CacheSupported);
  prop->localL1CacheSupported = get(cudaDevAttrLocalL1CacheSupported);
  prop->memoryBusWidth = get(cudaDevAttrGlobalMemoryBusWidth);
  prop->asyncEngineCount = get(cudaDevAttrAsyncEngineCount);
  prop->concurrentKernels = get(cudaDevAttrConcurrentKernels);
  prop->cooperativeLaunch = get(cudaDevAttrCooperativeLaunch);
  prop->clusterLaunch = get(cudaDevAttrClusterLaunch);
  prop->streamPrioritiesSupported = get(cudaDevAttrStreamPrioritiesSupported);
  prop->computePreemptionSupported = get(cudaDevAttrComputePreemptionSupported);
  prop->unifiedFunctionPointers = 0;

  prop->integrated = get(cudaDevAttrIntegrated);
  prop->ECCEnabled = get(cudaDevAttrEccEnabled);
  prop->tccDriver = get(cudaDevAttrTccDriver);
  prop->pciBusID = get(cudaDevAttrPciBusId);
  prop->pciDeviceID = get(cudaDevAttrPciDeviceId);
  prop->pciDomainID = get(cudaDevAttrPciDomainId);
  prop->gpuPciDeviceID = static_cast<unsigned>(get(cudaDevAttrGpuPciDeviceId));
  prop->gpuPciSubsystemID = static_cast<unsigned>(get(cudaDevAttrGpuPciSubsystemId));
  prop->isMultiGpuBoard = get(cudaDevAttrIsMultiGpuBoard);
  prop->multiGpuBoardGroupID = get(cudaDevAttrMultiGpuBoardGroupID);

  prop->unifiedAddressing = get(cudaDevAttrUnifiedAddressing);
  prop->canMapHostMemory = get(cudaDevAttrCanMapHostMemory);
  prop->managedMemory = get(cudaDevAttrManagedMemory);
  prop->concurrentManagedAccess = get(cudaDevAttrConcurrentManagedAccess);
  prop->directManagedMemAccessFromHost = get(cudaDevAttrDirectManagedMemAccessFromHost);
  prop->pageableMemoryAccess = get(cudaDevAttrPageableMemoryAccess);
  prop->pageableMemoryAccessUsesHostPageTables = get(cudaDevAttrPageableMemoryAccessUsesHostPageTables);
  prop->hostNativeAtomicSupported = get(cudaDevAttrHostNativeAtomicSupported);
  prop->canUseHostPointerForRegisteredMem = get(cudaDevAttrCanUseHostPointerForRegisteredMem);
  prop->hostRegisterSupported = get(cudaDevAttrHostRegisterSupported);
  prop->hostRegisterReadOnlySupported = get(cudaDevAttrHostRegisterReadOnlySupported);
  prop->memoryPoolsSupported = get(cudaDevAttrMemoryPoolsSupported);
  prop->memoryPoolSupportedHandleTypes = static_cast<unsigned>(get(cudaDevAttrMemoryPoolSupportedHandleTypes));
  prop->sparseCudaArraySupported = get(cudaDevAttrSparseCudaArraySupported);
  prop->deferredMappingCudaArraySupported = get(cudaDevAttrDeferredMappingCudaArraySupported);
  prop->timelineSemaphoreInteropSupported = get(cudaDevAttrTimelineSemaphoreInteropSupported);
  prop->gpuDirectRDMASupported = get(cudaDevAttrGPUDirectRDMASupported);
  prop->gpuDirectRDMAFlushWritesOptions = static_cast<unsigned>(get(cudaDevAttrGPUDirectRDMAFlushWritesOptions));
  prop->gpuDirectRDMAWritesOrdering = get(cudaDevAttrGPUDirectRDMAWritesOrdering);
  prop->ipcEventSupported = get(cudaDevAttrIpcEventSupport);
  prop->deviceNumaConfig = get(cudaDevAttrNumaConfig);
  prop->deviceNumaId = get(cudaDevAttrNumaId);
  prop->hostNumaId = get(cudaDevAttrHostNumaId);
  prop->mpsEnabled = get(cudaDevAttrMpsEnabled);
  prop->hostNumaMultinodeIpcSupported = get(cudaDevAttrHostNumaMultinodeIpcSupported);

  prop->textureAlignment = size(cudaDevAttrTextureAlignment);
  prop->texturePitchAlignment = size(cudaDevAttrTexturePitchAlignment);
  prop->surfaceAlignment = size(cudaDevAttrSurfaceAlignment);
  prop->maxTexture1D = get(cudaDevAttrMaxTexture1DWidth);
  prop->maxTexture1DMipmap = get(cudaDevAttrMaxTexture1DMipmappedWidth);
  prop->maxTexture2D[0] = get(cudaDevAttrMaxTexture2DWidth);
  prop->maxTexture2D[1] = get(cudaDevAttrMaxTexture2DHeight);
  prop->maxTexture2DMipmap[0] = get(cudaDevAttrMaxTexture2DMipmappedWidth);
  prop->maxTexture2DMipmap[1] = get(cudaDevAttrMaxTexture2DMipmappedHeight);
  prop->maxTexture2DLinear[0] = get(cudaDevAttrMaxTexture2DLinearWidth);
  prop->maxTexture2DLinear[1] = get(cudaDevAttrMaxTexture2DLinearHeight);
  prop->maxTexture2DLinear[2] = get(cudaDevAttrMaxTexture2DLinearPitch);
  prop->maxTexture2DGather[0] = get(cudaDevAttrMaxTexture2DGatherWidth);
  prop->maxTexture2DGather[1] = get(cudaDevAttrMaxTexture2DGatherHeight);
  prop->maxTexture3D[0] = get(cudaDevAttrMaxTexture3DWidth);
  prop->maxTexture3D[1] = get(cudaDevAttrMaxTexture3DHeight);
  prop->maxTexture3D[2] = get(cudaDevAttrMaxTexture3DDepth);
  prop->maxTexture3DAlt[0] = get(cudaDevAttrMaxTexture3DWidthAlt);
  prop->maxTexture3DAlt[1] = get(cudaDevAttrMaxTexture3DHeightAlt);
  prop->maxTexture3DAlt[2] = get(cudaDevAttrMaxTexture3DDepthAlt);
  prop->maxTextureCubemap = get(cudaDevAttrMaxTextureCubemapWidth);
  prop->maxTexture1DLayered[0] = get(cudaDevAttrMaxTexture1DLayeredWidth);
  prop->maxTexture1DLayered[1] = get(cudaDevAttrMaxTexture1DLayeredLayers);
  prop->maxTexture2DLayered[0] = get(cudaDevAttrMaxTexture2DLayeredWidth);
  prop->maxTexture2DLayered[1] = get(cudaDevAttrMaxTexture2DLayeredHeight);
  prop->maxTexture2DLayered[2] = get(cudaDevAttrMaxTexture2DLayeredLayers);
  prop->maxTextureCubemapLayered[0] = get(cudaDevAttrMaxTextureCubemapLayeredWidth);
  prop->maxTextureCubemapLayered[1] = get(cudaDevAttrMaxTextureCubemapLayeredLayers);
  prop->maxSurface1D = get(cudaDevAttrMaxSurface1DWidth);
  prop->maxSurface2D[0] = get(cudaDevAttrMaxSurface2DWidth);
  prop->maxSurface2D[1] = get(cudaDevAttrMaxSurface2DHeight);
  prop->maxSurface3D[0] = get(cudaDevAttrMaxSurface3DWidth);
  prop->maxSurface3D[1] = get(cudaDevAttrMaxSurface3DHeight);
  prop->maxSurface3D[2] = get(cudaDevAttrMaxSurface3DDepth);
  prop->maxSurface1DLayered[0] = get(cudaDevAttrMaxSurface1DLayeredWidth);
  prop->maxSurface1DLayered[1] = get(cudaDevAttrMaxSurface1DLayeredLayers);
  prop->maxSurface2DLayered[0] = get(cudaDevAttrMaxSurface2DLayeredWidth);
  prop->maxSurface2DLayered[1] = get(cudaDevAttrMaxSurface2DLayeredHeight);
  prop->maxSurface2DLayered[2] = get(cudaDevAttrMaxSurface2DLayeredLayers);
  prop->maxSurfaceCubemap = get(cudaDevAttrMaxSurfaceCubemapWidth);
  prop->maxSurfaceCubemapLayered[0] = get(cudaDevAttrMaxSurfaceCubemapLayeredWidth);
  prop->maxSurfaceCubemapLayered[1] = get(cudaDevAttrMaxSurfaceCubemapLayeredLayers);
}

namespace impl {

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* prop, int device) {
  client::Device* found = nullptr;
  if (const cudaError_t error = findDevice(device, &found); error != cudaSuccess) return error;
  fillProperties(found->info(), prop);
  return cudaSuccess;
}

}  // namespace impl
}  // namespace rouse::cudart
