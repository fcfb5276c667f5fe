// libnvidia-ml.so.1 for machines without a GPU: one GPU at any PCI address, with an NVLink to 0000:01:00.0, one to a
// switch and one that is down. ROUSE_NVML_DOUBLE says what it pretends:
//   (unset)   all is well              init-fails  nvmlInit_v2 says that the driver is not loaded
//   no-gpu    it does not know the address         refuses  every question about the GPU is "not supported"
//   nonsense  successful answers that cannot be true
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "server/device/cuda/nvml/api.h"

using namespace rouse::cuda::nvml;

namespace {

constexpr Return kInvalidArgument = 2, kNotSupported = 3, kNotFound = 6, kDriverNotLoaded = 9;
int started = 0;
int gpu = 0;

bool pretends(std::string_view what) {
  const char* text = std::getenv("ROUSE_NVML_DOUBLE");
  return text != nullptr && text == what;
}

// What every question begins with.
Return asked(Device device) {
  if (started == 0) std::abort();  // a caller's mistake
  if (device != &gpu) return kInvalidArgument;
  return pretends("refuses") ? kNotSupported : kSuccess;
}

Return answer(Device device, unsigned* to, unsigned value) {
  if (const Return refused = asked(device); refused != kSuccess) return refused;
  *to = pretends("nonsense") ? ~0u : value;
  return kSuccess;
}

}  // namespace

#define EXPORTED extern "C" __attribute__((visibility("default"))) Return

EXPORTED nvmlInit_v2() {
  if (pretends("init-fails")) return kDriverNotLoaded;
  ++started;
  return kSuccess;
}
EXPORTED nvmlShutdown() {
  --started;
  return kSuccess;
}
EXPORTED nvmlSystemGetDriverVersion(char* version, unsigned length) {
  if (pretends("nonsense")) {
    std::memset(version, 0xff, length);  // and no NUL
  } else {
    std::strncpy(version, "580.65.06", length);
  }
  return kSuccess;
}
EXPORTED nvmlDeviceGetHandleByPciBusId_v2(const char* address, Device* device) {
  if (pretends("no-gpu") || std::strlen(address) < 12) return kNotFound;
  *device = &gpu;
  return kSuccess;
}
EXPORTED nvmlDeviceGetCurrPcieLinkGeneration(Device device, unsigned* to) { return answer(device, to, 4); }
EXPORTED nvmlDeviceGetMaxPcieLinkGeneration(Device device, unsigned* to) { return answer(device, to, 5); }
EXPORTED nvmlDeviceGetCurrPcieLinkWidth(Device device, unsigned* to) { return answer(device, to, 8); }
EXPORTED nvmlDeviceGetMaxPcieLinkWidth(Device device, unsigned* to) { return answer(device, to, 16); }

EXPORTED nvmlDeviceGetNvLinkState(Device device, unsigned link, EnableState* state) {
  if (const Return refused = asked(device); refused != kSuccess) return refused;
  if (pretends("nonsense")) {
    *state = -7;
    return kSuccess;  // for every link there is
  }
  if (link >= 3) return kInvalidArgument;
  *state = link < 2 ? 1 : 0;
  return kSuccess;
}
EXPORTED nvmlDeviceGetNvLinkRemoteDeviceType(Device device, unsigned link, RemoteDeviceType* type) {
  *type = link == 0 ? kRemoteGpu : kRemoteSwitch;
  return asked(device);
}
EXPORTED nvmlDeviceGetNvLinkRemotePciInfo_v2(Device device, unsigned link, PciInfo* pci) {
  *pci = {};
  pci->bus = link == 0 ? 1 : 0xc1;
  return asked(device);
}
EXPORTED nvmlDeviceGetCpuAffinity(Device device, unsigned words, unsigned long* set) {
  if (const Return refused = asked(device); refused != kSuccess) return refused;
  for (unsigned i = 0; i < words; ++i) set[i] = pretends("nonsense") ? 0 : i == 0 ? 0xffff0000ffff : 0;
  return kSuccess;
}
EXPORTED nvmlDeviceGetMemoryAffinity(Device device, unsigned words, unsigned long* set, AffinityScope) {
  if (const Return refused = asked(device); refused != kSuccess) return refused;
  for (unsigned i = 0; i < words; ++i) set[i] = pretends("nonsense") ? ~0ul : i == 0 ? 2 : 0;
  return kSuccess;
}
