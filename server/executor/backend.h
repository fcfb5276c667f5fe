// Back ends are shared objects, loaded on demand: an executor for one kind of device carries nothing of the others.
#pragma once

#include <memory>
#include <string>

#include "memory/device.h"

namespace rouse::executor {

// Opens DIRECTORY/librouse-device-KIND.so and makes its device. The library stays loaded for the life of the process.
Result<std::unique_ptr<memory::Device>> openDevice(const std::string& directory, const std::string& kind,
                                                   const memory::DeviceOptions& options);

// Where this program's installation has its back ends (server/installation).
std::string defaultBackendDirectory();

}  // namespace rouse::executor
