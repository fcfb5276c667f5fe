// NVML, "Device Queries": a GPU's way to the host, and how GPUs reach each other, which as cudaDeviceCanAccessPeer says they do not.
#include "client-shim/nvml/call.h"
#include "client-shim/nvml/implementations.h"

namespace rouse::nvml::impl {
namespace {

// Of the link to the host, as the node's NVML told it when the GPU's executor was started.
nvmlReturn_t giveLink(nvmlDevice_t device, std::uint32_t client::ManagedGpu::*what, unsigned* to) {
  return withGpu(device, [&](const client::ManagedGpu&, std::uint32_t index) {
    client::ManagedGpu gpu;
    const nvmlReturn_t status = Library::get().now(index, client::Asked::all, &gpu);
    return status == NVML_SUCCESS ? giveKnown(gpu.*what, to) : status;
  }, to);
}

}  // namespace

nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t device, unsigned* to) { return giveLink(device, &client::ManagedGpu::pcieGeneration, to); }
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t device, unsigned* to) { return giveLink(device, &client::ManagedGpu::pcieWidth, to); }
nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t device, unsigned* to) { return giveLink(device, &client::ManagedGpu::pcieGenerationAtMost, to); }
nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t device, unsigned* to) { return giveLink(device, &client::ManagedGpu::pcieWidthAtMost, to); }

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
