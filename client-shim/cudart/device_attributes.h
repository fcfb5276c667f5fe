// Attributes of a device as programs see them: the device's own, except where this library decides.
#pragma once

#include <cuda_runtime_api.h>

#include "client-shim/core/device_info.h"

namespace rouse::cudart {

// 0 for what is not known.
int deviceAttribute(const client::DeviceInfo& info, cudaDeviceAttr attribute);

}  // namespace rouse::cudart
