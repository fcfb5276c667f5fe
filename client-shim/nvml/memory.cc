// NVML, "Device Queries": memory, as cudaMemGetInfo tells of it. What is not free may be other functions'; nothing is reserved for a driver.
#include <algorithm>

#include "client-shim/nvml/call.h"
#include "client-shim/nvml/implementations.h"

namespace rouse::nvml::impl {

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  return withGpu(device, [&](const client::ManagedGpu&, std::uint32_t index) {
    client::ManagedGpu now;
    const nvmlReturn_t status = Library::get().now(index, client::Asked::facts, &now);
    if (status == NVML_SUCCESS) *memory = {now.totalBytes, now.freeBytes, now.totalBytes - std::min(now.totalBytes, now.freeBytes)};
    return status;
  }, memory);
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  return withGpu(device, [&](const client::ManagedGpu&, std::uint32_t) {
    if (memory->version != nvmlMemory_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvmlMemory_t plain;
    const nvmlReturn_t status = impl::nvmlDeviceGetMemoryInfo(device, &plain);
    if (status == NVML_SUCCESS) *memory = {.version = nvmlMemory_v2, .total = plain.total, .reserved = 0, .free = plain.free, .used = plain.used};
    return status;
  }, memory);
}

}  // namespace rouse::nvml::impl
