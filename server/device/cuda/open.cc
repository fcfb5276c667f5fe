// The entry point of the back end (memory/device.h).
#include "server/device/cuda/device.h"

// Returns a C++ object, by design: both sides are built together.
#ifdef __clang__
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage"
#endif

extern "C" __attribute__((visibility("default"))) rouse::Result<std::unique_ptr<rouse::memory::Device>>
rouse_open_device(const rouse::memory::DeviceOptions& options) {
  return rouse::cuda::CudaDevice::open(options);
}
