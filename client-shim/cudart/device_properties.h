// cudaDeviceProp from what the daemon said of a device.
#pragma once

#include <cuda_runtime_api.h>

#include <string_view>

#include "client-shim/core/device_info.h"

namespace rouse::cudart {

// "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx": 16 bytes in hexadecimal, dashes anywhere.
cudaUUID_t parseUuid(std::string_view text);

// Fills every member.
void fillProperties(const client::DeviceInfo& info, cudaDeviceProp* prop);

}  // namespace rouse::cudart
