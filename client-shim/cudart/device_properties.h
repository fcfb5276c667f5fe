// cudaDeviceProp from what the daemon said of a device.
#pragma once

#include <cuda_runtime_api.h>

#include "client-shim/core/device_info.h"

namespace rouse::cudart {

// Fills every member.
void fillProperties(const client::DeviceInfo& info, cudaDeviceProp* prop);

}  // namespace rouse::cudart
