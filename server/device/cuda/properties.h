// What the driver says of a GPU, as programs and operators may know it.
#pragma once

#include "server/device/cuda/gpu.h"

namespace rouse::cuda {

std::string uuidOf(const Driver& driver, CUdevice device);        // "GPU-xxxxxxxx-…"
std::string pciAddressOf(const Driver& driver, CUdevice device);  // "0000:3b:00.0"

memory::DeviceProperties describe(const Gpu& gpu, std::uint64_t memoryBytes);

}  // namespace rouse::cuda
