// Tensor maps, as the device makes them.
#pragma once

#include "schemas/base/cuda_error.h"
#include "schemas/wire/tensor_map.h"

namespace rouse::client {

class Device;

// A round trip the first time; what has been asked before is known. invalidValue, notSupported: the device's answer. Any thread.
CudaError encodeTensorMap(Device& device, const wire::TensorMapRequest& request, wire::TensorMap* map);

}  // namespace rouse::client
