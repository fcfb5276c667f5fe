// What the driver says of a GPU, as programs may know it.
#pragma once

#include "server/device/cuda/gpu.h"

namespace rouse::cuda {

memory::DeviceProperties describe(const Gpu& gpu, std::uint64_t memoryBytes);

}  // namespace rouse::cuda
