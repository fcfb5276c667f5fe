// What the daemon says of a virtual device when the process attaches.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schemas/base/range.h"

namespace rouse::client {

struct DeviceInfo {
  std::string name;
  std::string uuid;        // "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
  std::string pciAddress;  // "0000:3b:00.0"
  std::uint64_t memoryBytes = 0;
  std::uint32_t computeMajor = 0, computeMinor = 0;
  std::vector<std::int32_t> attributes;  // index: cudaDeviceAttr
  bool placesVariables = false;          // variables of modules, but for managed ones, lie where the executor says, outside the window
  bool leavesProcessors = false;         // its work takes none of the node's processors
  std::uint32_t dnnVersion = 0;          // of the cuDNN that calls go to; 0: none of NVIDIA's

  AddressRange window;            // addresses of this virtual device
  std::uint64_t memoryLimit = 0;  // bytes this process may reserve
  bool spin = false;              // waiting may spin: cores are not scarce

  // 0 for what the device did not say.
  std::int32_t attribute(std::uint32_t index) const { return index < attributes.size() ? attributes[index] : 0; }
};

}  // namespace rouse::client
