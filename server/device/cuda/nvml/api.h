// NVML as far as it is used here: declared by hand, since CUDA toolkits need not come with nvml.h. Names, types and
// numbers are those of the NVML API Reference (docs.nvidia.com/deploy/nvml-api: "Device Queries", "NvLink Methods",
// "CPU and Memory Affinity", "Device Structs"). NVML promises that a function keeps its meaning and layout and that
// what changes gets a new suffix ("_v2"), so what is declared here stays true of every later library.
#pragma once

#include <cstdint>

namespace rouse::cuda::nvml {

using Return = int;  // nvmlReturn_t
inline constexpr Return kSuccess = 0;
using Device = void*;          // nvmlDevice_t
using EnableState = int;       // nvmlEnableState_t: 1 is NVML_FEATURE_ENABLED
using RemoteDeviceType = int;  // nvmlIntNvLinkDeviceType_t
inline constexpr RemoteDeviceType kRemoteGpu = 0, kRemoteSwitch = 2;
using AffinityScope = unsigned int;  // nvmlAffinityScope_t
inline constexpr AffinityScope kScopeNode = 0;
inline constexpr unsigned kMostLinks = 64;  // NVML_NVLINK_MAX_LINKS is 18; a link beyond a GPU's is an invalid argument

struct PciInfo {  // nvmlPciInfo_t
  char busIdLegacy[16];
  unsigned int domain, bus, device, pciDeviceId, pciSubSystemId;
  char busId[32];
};
static_assert(sizeof(PciInfo) == 68);

// Each may be missing: a library older than the function. Only init and deviceByPciAddress are needed for any of it.
struct Functions {
  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  Return (*driverVersion)(char* version, unsigned length) = nullptr;
  Return (*deviceByPciAddress)(const char* address, Device*) = nullptr;
  Return (*pcieGeneration)(Device, unsigned*) = nullptr;
  Return (*pcieGenerationAtMost)(Device, unsigned*) = nullptr;
  Return (*pcieWidth)(Device, unsigned*) = nullptr;
  Return (*pcieWidthAtMost)(Device, unsigned*) = nullptr;
  Return (*nvlinkState)(Device, unsigned link, EnableState*) = nullptr;
  Return (*nvlinkRemoteType)(Device, unsigned link, RemoteDeviceType*) = nullptr;
  Return (*nvlinkRemotePci)(Device, unsigned link, PciInfo*) = nullptr;
  Return (*cpuAffinity)(Device, unsigned words, unsigned long* set) = nullptr;
  Return (*memoryAffinity)(Device, unsigned words, unsigned long* set, AffinityScope) = nullptr;
};

// Under which name the library exports each.
template <class Visitor>
void forEachFunction(Functions& table, Visitor&& visit) {
  visit("nvmlInit_v2", table.init);
  visit("nvmlShutdown", table.shutdown);
  visit("nvmlSystemGetDriverVersion", table.driverVersion);
  visit("nvmlDeviceGetHandleByPciBusId_v2", table.deviceByPciAddress);
  visit("nvmlDeviceGetCurrPcieLinkGeneration", table.pcieGeneration);
  visit("nvmlDeviceGetMaxPcieLinkGeneration", table.pcieGenerationAtMost);
  visit("nvmlDeviceGetCurrPcieLinkWidth", table.pcieWidth);
  visit("nvmlDeviceGetMaxPcieLinkWidth", table.pcieWidthAtMost);
  visit("nvmlDeviceGetNvLinkState", table.nvlinkState);
  visit("nvmlDeviceGetNvLinkRemoteDeviceType", table.nvlinkRemoteType);
  visit("nvmlDeviceGetNvLinkRemotePciInfo_v2", table.nvlinkRemotePci);
  visit("nvmlDeviceGetCpuAffinity", table.cpuAffinity);
  visit("nvmlDeviceGetMemoryAffinity", table.memoryAffinity);
}

}  // namespace rouse::cuda::nvml
