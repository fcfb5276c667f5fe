#include "server/device/cpu/library_loader.h"

#include <dlfcn.h>

#include <filesystem>
#include <string>

namespace rouse::cpu {
namespace {

Result<library::Prepare> load() {
  Dl_info self{};
  if (::dladdr(reinterpret_cast<const void*>(&load), &self) == 0 || self.dli_fname == nullptr)
    return Error{CudaError::notSupported, "the CPU device does not know where its libraries are"};
  // Beside the back end; or where back ends are, seen from a program that has this one linked in.
  const std::filesystem::path folder = std::filesystem::path(self.dli_fname).parent_path();
  std::string failure;
  for (const std::filesystem::path& place : {folder, folder.parent_path() / "lib/rouse-backends", folder.parent_path() / "rouse-backends"}) {
    void* handle = ::dlopen((place / "librouse-library-cpu.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      if (failure.empty()) failure = ::dlerror();
      continue;
    }
    void* symbol = ::dlsym(handle, library::kPrepareSymbol);
    if (symbol == nullptr) return Error{CudaError::notSupported, "librouse-library-cpu.so is not of this version"};
    return reinterpret_cast<library::Prepare>(symbol);
  }
  return Error{CudaError::notSupported, "libraries on the CPU device: " + failure};
}

}  // namespace

Result<library::Prepare> preparedBy() {
  static const Result<library::Prepare> loaded = load();
  return loaded;
}

}  // namespace rouse::cpu
