// NVML, "Initialization and Cleanup", "Error reporting", "System Queries"; units and GPUs that are left out, of which there are none.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "client-shim/nvml/call.h"
#include "client-shim/nvml/implementations.h"

namespace rouse::nvml::impl {
namespace {

// As cudaDriverGetVersion tells (client-shim/cudart/versions.cc), and the first driver of it: the host's is none of the program's business.
constexpr int kCudaVersion = 13000;
constexpr std::string_view kDriverVersion = "580.65.06";
constexpr std::string_view kNvmlVersion = "13.580.65.06";

nvmlReturn_t ifStarted(nvmlReturn_t status) { return Library::get().started() ? status : NVML_ERROR_UNINITIALIZED; }

nvmlReturn_t none(unsigned* count) {
  if (!Library::get().started()) return NVML_ERROR_UNINITIALIZED;
  if (count == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *count = 0;
  return NVML_SUCCESS;
}

}  // namespace

nvmlReturn_t nvmlInit() { return Library::get().start(); }
nvmlReturn_t nvmlInit_v2() { return Library::get().start(); }

// Nothing is attached in any case.
nvmlReturn_t nvmlInitWithFlags(unsigned flags) {
  if ((flags & ~static_cast<unsigned>(NVML_INIT_FLAG_NO_GPUS | NVML_INIT_FLAG_NO_ATTACH)) != 0) return NVML_ERROR_INVALID_ARGUMENT;
  return Library::get().start();
}

nvmlReturn_t nvmlShutdown() { return Library::get().stop(); }

const char* nvmlErrorString(nvmlReturn_t result) {
  switch (result) {
    case NVML_SUCCESS: return "success";
    case NVML_ERROR_UNINITIALIZED: return "NVML is not initialized";
    case NVML_ERROR_INVALID_ARGUMENT: return "invalid argument";
    case NVML_ERROR_NOT_SUPPORTED: return "not supported";
    case NVML_ERROR_NO_PERMISSION: return "no permission";
    case NVML_ERROR_ALREADY_INITIALIZED: return "already initialized";
    case NVML_ERROR_NOT_FOUND: return "not found";
    case NVML_ERROR_INSUFFICIENT_SIZE: return "insufficient size";
    case NVML_ERROR_INSUFFICIENT_POWER: return "insufficient external power";
    case NVML_ERROR_DRIVER_NOT_LOADED: return "driver not loaded: no daemon of the pool answers";
    case NVML_ERROR_TIMEOUT: return "timeout";
    case NVML_ERROR_IRQ_ISSUE: return "interrupt request issue";
    case NVML_ERROR_LIBRARY_NOT_FOUND: return "library not found";
    case NVML_ERROR_FUNCTION_NOT_FOUND: return "function not found";
    case NVML_ERROR_CORRUPTED_INFOROM: return "corrupted infoROM";
    case NVML_ERROR_GPU_IS_LOST: return "the GPU is lost";
    case NVML_ERROR_RESET_REQUIRED: return "the GPU requires a reset";
    case NVML_ERROR_OPERATING_SYSTEM: return "the operating system has blocked the request";
    case NVML_ERROR_LIB_RM_VERSION_MISMATCH: return "driver/library version mismatch: the daemon is of another build";
    case NVML_ERROR_IN_USE: return "the GPU is in use";
    case NVML_ERROR_MEMORY: return "insufficient memory";
    case NVML_ERROR_NO_DATA: return "no data";
    case NVML_ERROR_VGPU_ECC_NOT_SUPPORTED: return "not supported with ECC enabled";
    case NVML_ERROR_INSUFFICIENT_RESOURCES: return "insufficient resources";
    case NVML_ERROR_FREQ_NOT_SUPPORTED: return "the frequency is not supported";
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH: return "the version of an argument is not supported";
    case NVML_ERROR_DEPRECATED: return "deprecated";
    case NVML_ERROR_NOT_READY: return "not ready: GPUs are being started";
    case NVML_ERROR_GPU_NOT_FOUND: return "no GPU was found";
    case NVML_ERROR_INVALID_STATE: return "invalid state";
    case NVML_ERROR_RESET_TYPE_NOT_SUPPORTED: return "a reset of this type is not supported";
    case NVML_ERROR_UNKNOWN: break;
  }
  return "unknown error";
}

nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned length) {
  const nvmlReturn_t status = ifStarted(NVML_SUCCESS);
  return status == NVML_SUCCESS ? give(kDriverVersion, version, length) : status;
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char* version, unsigned length) { return give(kNvmlVersion, version, length); }

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version) {
  if (version == nullptr) return NVML_ERROR_INVALID_ARGUMENT;
  *version = kCudaVersion;
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) { return impl::nvmlSystemGetCudaDriverVersion(version); }

// The program's file, or what it calls itself; cut to what there is room for.
nvmlReturn_t nvmlSystemGetProcessName(unsigned pid, char* name, unsigned length) {
  if (!Library::get().started()) return NVML_ERROR_UNINITIALIZED;
  if (name == nullptr || length == 0) return NVML_ERROR_INVALID_ARGUMENT;
  char path[64], text[4096];
  for (const char* file : {"cmdline", "comm"}) {
    std::snprintf(path, sizeof path, "/proc/%u/%s", pid, file);
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno == EACCES ? NVML_ERROR_NO_PERMISSION : NVML_ERROR_NOT_FOUND;
    const ssize_t bytes = ::read(fd, text, sizeof text - 1);
    ::close(fd);
    if (bytes < 0) return NVML_ERROR_NOT_FOUND;
    text[bytes] = '\0';
    text[std::strcspn(text, "\n")] = '\0';
    if (text[0] != '\0') break;
  }
  std::snprintf(name, length, "%s", text);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlUnitGetCount(unsigned* count) { return none(count); }
nvmlReturn_t nvmlGetExcludedDeviceCount(unsigned* count) { return none(count); }

}  // namespace rouse::nvml::impl
