// Cooperative launches: whether a grid fits.
#pragma once

#include <cuda_runtime_api.h>

#include "client-shim/core/device.h"
#include "client-shim/core/launch.h"

namespace rouse::cudart {

// A cooperative grid's blocks wait for each other: all must be resident at once. cudaErrorCooperativeLaunchTooLarge if they cannot be.
cudaError_t checkCooperative(const client::Device& device, const client::Kernel& kernel, const client::LaunchShape& shape);

}  // namespace rouse::cudart
