#include "server/executor/backend.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>

#include "server/installation/installation.h"

namespace rouse::executor {

Result<std::unique_ptr<memory::Device>> openDevice(const std::string& directory, const std::string& kind,
                                                   const memory::DeviceOptions& options) {
  const bool plain = !kind.empty() && std::all_of(kind.begin(), kind.end(),
                                                  [](unsigned char c) { return std::islower(c) || std::isdigit(c); });
  if (!plain) return Error{CudaError::noDevice, "device kind '" + kind + "': lower-case letters and digits only"};
  const std::string path = directory + "/librouse-device-" + kind + ".so";
  // Said by itself, since packages bring back ends one by one.
  if (::access(path.c_str(), F_OK) != 0) return Error{CudaError::noDevice, "back end " + kind + ": " + path + " is not there (package " + (kind == "cpu" ? "rouse-device-cpu" : "rouse-server") + ")"};
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return Error{CudaError::noDevice, std::string("back end ") + kind + ": " + ::dlerror()};
  void* symbol = ::dlsym(library, memory::kOpenDeviceSymbol);
  if (symbol == nullptr) return Error{CudaError::noDevice, path + " has no " + memory::kOpenDeviceSymbol};
  return reinterpret_cast<memory::OpenDevice>(symbol)(options);
}

std::string defaultBackendDirectory() { return installation::ownParts().backends; }

}  // namespace rouse::executor
