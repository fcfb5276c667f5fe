// NVML, "Device Queries": what a GPU has and how it is set, as the runtime's attributes say. None is part of another (MIG).
#include "client-shim/nvml/call.h"
#include "client-shim/nvml/implementations.h"

namespace rouse::nvml::impl {
namespace {

constexpr struct {
  std::uint32_t major, minor;  // from there on
  unsigned architecture;
  int coresOfProcessor;  // for 32-bit floats
} kArchitectures[] = {{12, 0, NVML_DEVICE_ARCH_BLACKWELL, 128}, {10, 0, NVML_DEVICE_ARCH_BLACKWELL, 128}, {9, 0, NVML_DEVICE_ARCH_HOPPER, 128},
                      {8, 9, NVML_DEVICE_ARCH_ADA, 128},        {8, 6, NVML_DEVICE_ARCH_AMPERE, 128},     {8, 0, NVML_DEVICE_ARCH_AMPERE, 64},
                      {7, 5, NVML_DEVICE_ARCH_TURING, 64},      {7, 0, NVML_DEVICE_ARCH_VOLTA, 64}};

auto* architectureOf(const client::ManagedGpu& gpu) {
  for (const auto& each : kArchitectures)
    if (gpu.computeMajor == each.major && gpu.computeMinor >= each.minor) return &each;
  return static_cast<decltype(&kArchitectures[0])>(nullptr);
}

template <class To>
nvmlReturn_t giveAlways(nvmlDevice_t device, To value, To* to) {
  return withGpu(device, [&](const client::ManagedGpu&, std::uint32_t) {
    *to = value;
    return NVML_SUCCESS;
  }, to);
}

}  // namespace

nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, nvmlComputeMode_t* mode) { return giveAlways(device, NVML_COMPUTEMODE_DEFAULT, mode); }

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major, int* minor) {
  return withGpu(device, [&](const client::ManagedGpu& gpu, std::uint32_t) {
    *major = static_cast<int>(gpu.computeMajor);
    *minor = static_cast<int>(gpu.computeMinor);
    return NVML_SUCCESS;
  }, major, minor);
}

nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, nvmlDeviceArchitecture_t* architecture) {
  return withGpu(device, [&](const client::ManagedGpu& gpu, std::uint32_t) {
    const auto* known = architectureOf(gpu);
    *architecture = known != nullptr ? known->architecture : NVML_DEVICE_ARCH_UNKNOWN;
    return NVML_SUCCESS;
  }, architecture);
}

nvmlReturn_t nvmlDeviceGetNumGpuCores(nvmlDevice_t device, unsigned* cores) {
  return withGpu(device, [&](const client::ManagedGpu& gpu, std::uint32_t) {
    const auto* known = architectureOf(gpu);
    return giveKnown(known != nullptr ? gpu.processors * known->coresOfProcessor : 0, cores);
  }, cores);
}

nvmlReturn_t nvmlDeviceGetMemoryBusWidth(nvmlDevice_t device, unsigned* bits) {
  return withGpu(device, [&](const client::ManagedGpu& gpu, std::uint32_t) { return giveKnown(gpu.memoryBusBits, bits); }, bits);
}

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t* current, nvmlEnableState_t* pending) {
  return withGpu(device, [&](const client::ManagedGpu& gpu, std::uint32_t) {
    *current = *pending = gpu.ecc ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
    return NVML_SUCCESS;
  }, current, pending);
}

// Megahertz. Those of other parts are not known.
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned* clock) {
  return withGpu(device, [&](const client::ManagedGpu& gpu, std::uint32_t) {
    switch (type) {
      case NVML_CLOCK_GRAPHICS:
      case NVML_CLOCK_SM: return giveKnown(gpu.clockKHz / 1000, clock);
      case NVML_CLOCK_MEM: return giveKnown(gpu.memoryClockKHz / 1000, clock);
      case NVML_CLOCK_VIDEO: return NVML_ERROR_NOT_SUPPORTED;
      default: return NVML_ERROR_INVALID_ARGUMENT;
    }
  }, clock);
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned* current, unsigned* pending) {
  return withGpu(device, [&](const client::ManagedGpu&, std::uint32_t) {
    *current = *pending = NVML_DEVICE_MIG_DISABLE;
    return NVML_SUCCESS;
  }, current, pending);
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned* count) { return giveAlways(device, 0u, count); }
nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned* is) { return giveAlways(device, 0u, is); }

}  // namespace rouse::nvml::impl
