#include "server/device/cuda/driver/load.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "memory/start_failure.h"

namespace rouse::cuda {
namespace {

std::string versionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Where the functions really came from: a name without a slash is looked up along several paths.
std::string pathOf(void* function, const std::string& name) {
  Dl_info info{};
  return dladdr(function, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : name;
}

Error unusable(const std::string& library, const std::string& reason, bool chosen) {
  return {memory::kNoDriver, "no CUDA driver: " + reason +
                                 (chosen ? "; correct " + std::string(kDriverVariable) + "=" + library + " or unset it"
                                         : "; install NVIDIA's driver (for CUDA " + versionText(kMinimumDriver) +
                                               " or newer), or use the cpu device")};
}

Error tooOld(int version, const std::string& path) {
  return {memory::kDriverTooOld, "CUDA driver in " + path + " supports CUDA " + versionText(version) +
                                     ", Rouse needs " + versionText(kMinimumDriver) +
                                     " or newer; install a newer NVIDIA driver"};
}

Error missing(const std::string& function, const std::string& path) {
  return {CudaError::symbolNotFound, "CUDA driver in " + path + " has no function " + function +
                                         ", which every driver of CUDA " + versionText(kMinimumDriver) +
                                         " has; install NVIDIA's driver again, or point " + kDriverVariable + " to it"};
}

}  // namespace

Result<std::unique_ptr<Driver>> loadDriver() {
  const char* chosen = std::getenv(kDriverVariable);
  if (chosen != nullptr && *chosen == '\0') chosen = nullptr;
  const std::string name = chosen != nullptr ? chosen : kDriverLibrary;
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return unusable(name, reason != nullptr ? reason : name, chosen != nullptr);
  }

  // The version first: what an old driver lacks is explained by its age.
  auto getVersion = reinterpret_cast<decltype(Driver::cuDriverGetVersion)>(dlsym(library, "cuDriverGetVersion"));
  if (getVersion == nullptr) {
    dlclose(library);  // whatever it is, not a driver
    return missing("cuDriverGetVersion", name);
  }
  const std::string path = pathOf(reinterpret_cast<void*>(getVersion), name);
  int version = 0;
  if (const CUresult result = getVersion(&version); result != CUDA_SUCCESS) {
    return unusable(name, "cuDriverGetVersion of " + path + " returned " + std::to_string(result), chosen != nullptr);
  }
  if (version < kMinimumDriver) return tooOld(version, path);

  auto driver = std::make_unique<Driver>();
  const char* absent = nullptr;
  forEachFunction(*driver, [&]<class Function>(const char* function, Function& pointer) {
    pointer = reinterpret_cast<Function>(dlsym(library, function));
    if (pointer == nullptr && absent == nullptr) absent = function;
  });
  if (absent != nullptr) return missing(absent, path);
  return driver;
}

}  // namespace rouse::cuda
