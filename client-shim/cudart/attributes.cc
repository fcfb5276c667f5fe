// cudaDeviceGetAttribute.
#include <algorithm>
#include <iterator>

#include "client-shim/cudart/device_attributes.h"
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/session.h"

namespace rouse::cudart {

namespace {

// Attributes that only the driver has names for (cuda.h, CU_DEVICE_ATTRIBUTE_…), which is asked for them as for all others.
constexpr int kVirtualMemoryManagement = 102;
// What of virtual memory management is not served: handles for other processes, of any kind, and other systems' devices; compression; multicast; memory
// of the host.
constexpr int kNotServed[] = {103, 104, 105, 107, 110, 124, 128, 132, 141, 145, 146};

}  // namespace

int deviceAttribute(const client::DeviceInfo& info, cudaDeviceAttr attribute) {
  if (attribute == kVirtualMemoryManagement) return 1;
  if (std::ranges::find(kNotServed, static_cast<int>(attribute)) != std::end(kNotServed)) return 0;
  switch (attribute) {
    // What this library does or does not do, whatever the device could.
    case cudaDevAttrComputeCapabilityMajor:
      return static_cast<int>(info.computeMajor);
    case cudaDevAttrComputeCapabilityMinor:
      return static_cast<int>(info.computeMinor);
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrManagedMemory:
    case cudaDevAttrConcurrentManagedAccess:
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrStreamPrioritiesSupported:
    case cudaDevAttrIpcEventSupport:
      return 1;
    case cudaDevAttrComputeMode:
      return cudaComputeModeDefault;
    case cudaDevAttrPageableMemoryAccess:
    case cudaDevAttrPageableMemoryAccessUsesHostPageTables:
    case cudaDevAttrCanUseHostPointerForRegisteredMem:  // registered pages have another address on the device
    case cudaDevAttrHostRegisterReadOnlySupported:
    case cudaDevAttrSparseCudaArraySupported:
    case cudaDevAttrDeferredMappingCudaArraySupported:
    case cudaDevAttrTimelineSemaphoreInteropSupported:
    case cudaDevAttrMemoryPoolSupportedHandleTypes:
    case cudaDevAttrGPUDirectRDMASupported:
    case cudaDevAttrMaxAccessPolicyWindowSize:
    case cudaDevAttrMaxPersistingL2CacheSize:
    case cudaDevAttrMpsEnabled:
    case cudaDevAttrHostNumaMemoryPoolsSupported:
    case cudaDevAttrHostMemoryPoolsSupported:
    case cudaDevAttrHostNumaMultinodeIpcSupported:
    case cudaDevAttrD3D12CigSupported:
    case cudaDevAttrVulkanCigSupported:
    case cudaDevAttrIsMultiGpuBoard:
      return 0;
    case cudaDevAttrNumaId:
    case cudaDevAttrHostNumaId:
      return -1;
    default:
      return info.attribute(static_cast<std::uint32_t>(attribute));
  }
}

namespace impl {

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attr, int device) {
  client::Device* found = nullptr;
  if (const cudaError_t error = findDevice(device, &found); error != cudaSuccess) return error;
  if (attr < cudaDevAttrMaxThreadsPerBlock || attr >= cudaDevAttrMax) return cudaErrorInvalidValue;
  *value = deviceAttribute(found->info(), attr);
  return cudaSuccess;
}

}  // namespace impl
}  // namespace rouse::cudart
