// NVML, "Device Queries": how GPUs reach each other, which as cudaDeviceCanAccessPeer says they do not.
#include "client-shim/nvml/call.h"
#include "client-shim/nvml/implementations.h"

namespace rouse::nvml::impl {

// Functions are not told what lies between GPUs: as far apart as can be.
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t one, nvmlDevice_t other, nvmlGpuTopologyLevel_t* level) {
  return withGpus(one, other, [&](std::uint32_t first, std::uint32_t second) {
    *level = first == second ? NVML_TOPOLOGY_INTERNAL : NVML_TOPOLOGY_SYSTEM;
    return NVML_SUCCESS;
  }, level);
}

nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t one, nvmlDevice_t other, nvmlGpuP2PCapsIndex_t what, nvmlGpuP2PStatus_t* status) {
  return withGpus(one, other, [&](std::uint32_t, std::uint32_t) {
    if (what < NVML_P2P_CAPS_INDEX_READ || what >= NVML_P2P_CAPS_INDEX_UNKNOWN) return NVML_ERROR_INVALID_ARGUMENT;
    *status = NVML_P2P_STATUS_NOT_SUPPORTED;
    return NVML_SUCCESS;
  }, status);
}

}  // namespace rouse::nvml::impl
