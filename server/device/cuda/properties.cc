#include "server/device/cuda/properties.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>

#include "server/device/cuda/allocation_plan.h"

namespace rouse::cuda {
namespace {

constexpr int kAttributes = 148;  // cudaDevAttrMax of CUDA 13.0 is one less

// CUDA Runtime API, cudaDeviceAttr: what a GPU may well do and programs do not get through Rouse. The numbers are the
// driver's, too.
constexpr int kNotServed[] = {
    88,   // PageableMemoryAccess: the program's own pages are in another process
    91,   // CanUseHostPointerForRegisteredMem: registered memory has an address of its own for kernels
    99,   // HostRegisterSupported, read-only registration included: see 91
    100,  // PageableMemoryAccessUsesHostPageTables
    102,  // virtual memory management and its handles: the client core does it
    103, 104, 105,
    113,  // HostRegisterReadOnlySupported
    116,  // GPUDirectRDMA
    119,  // MemoryPoolSupportedHandleTypes
    121,  // DeferredMappingCudaArraySupported
    125,  // IpcEventSupport
};

}  // namespace

std::string uuidOf(const Driver& driver, CUdevice device) {
  CUuuid uuid{};
  driver.cuDeviceGetUuid(&uuid, device);
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    std::array<char, 4> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += digits.data();
    if (i == 3 || i == 5 || i == 7 || i == 9) text += '-';
  }
  return text;
}

std::string pciAddressOf(const Driver& driver, CUdevice device) {
  std::array<char, 32> pci{};
  driver.cuDeviceGetPCIBusId(pci.data(), pci.size(), device);
  std::string text = pci.data();
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

memory::DeviceProperties describe(const Gpu& gpu, std::uint64_t memoryBytes) {
  const Driver& driver = gpu.driver();
  memory::DeviceProperties properties;
  std::array<char, 256> name{};
  driver.cuDeviceGetName(name.data(), name.size(), gpu.device());
  properties.name = name.data();

  properties.uuid = uuidOf(driver, gpu.device());
  properties.pciAddress = pciAddressOf(driver, gpu.device());
  std::size_t physical = 0;
  if (driver.cuDeviceTotalMem(&physical, gpu.device()) == CUDA_SUCCESS) properties.physicalBytes = physical;

  properties.memoryBytes = memoryBytes;
  properties.attributes.assign(kAttributes, 0);
  for (int attribute = 1; attribute < kAttributes; ++attribute)
    properties.attributes[static_cast<std::size_t>(attribute)] =
        gpu.attribute(static_cast<CUdevice_attribute>(attribute));
  for (const int attribute : kNotServed) properties.attributes[static_cast<std::size_t>(attribute)] = 0;
  properties.computeMajor =
      static_cast<std::uint32_t>(properties.attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR]);
  properties.computeMinor =
      static_cast<std::uint32_t>(properties.attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR]);
  properties.placesVariables = true;
  properties.leavesProcessors = true;
  properties.mapsTogether = AllocationPlan::kLargest;
  properties.dnnVersion = library::cuda::RealLibraries::dnnVersion();
  return properties;
}

}  // namespace rouse::cuda
