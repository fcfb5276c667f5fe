// Why programs may keep in memory what is true on one GPU alone: addresses of code, which the driver places, and blocks of the device
// heap, which is the CUDA context's. In doubt they may.
#pragma once

#include <span>
#include <string>

#include "server/device/cuda/module_images.h"

namespace rouse::cuda {

// Empty: no kernel of the module handles either. Pure; the images come from clients.
std::string moduleTies(std::span<const ModuleImage> images);

}  // namespace rouse::cuda
