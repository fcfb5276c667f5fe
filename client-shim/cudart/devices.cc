// CUDA Runtime API, "Device Management": which device, how many, and waiting for one.
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "client-shim/cudart/graph/capture.h"
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/module_registry.h"
#include "client-shim/cudart/session.h"
#include "schemas/base/pci_address.h"
#include "schemas/wire/layout.h"

namespace rouse::cudart::impl {
namespace {

// cudaSetDeviceFlags, by device. Waiting here adapts by itself, so the scheduling flags are only remembered.
std::array<std::atomic<unsigned>, wire::kMaxDevices> deviceFlags;

bool validDeviceFlags(unsigned flags) {
  const unsigned schedule = flags & cudaDeviceScheduleMask;
  return (flags & ~static_cast<unsigned>(cudaDeviceMask)) == 0 && (schedule & (schedule - 1)) == 0;
}

}  // namespace

// Says 0 where there is none, as well as failing.
cudaError_t cudaGetDeviceCount(int* count) {
  const cudaError_t error = attach();
  *count = error == cudaSuccess ? static_cast<int>(client::Process::get().deviceCount()) : 0;
  return error;
}

cudaError_t cudaGetDevice(int* device) {
  *device = currentDeviceIndex();
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  client::Device* found = nullptr;
  if (const cudaError_t error = findDevice(device, &found); error != cudaSuccess) return error;
  enterDevice(*found);
  return toCuda(found->asyncError());
}

cudaError_t cudaInitDevice(int device, unsigned int flags, unsigned int initFlags) {
  client::Device* found = nullptr;
  if (const cudaError_t error = findDevice(device, &found); error != cudaSuccess) return error;
  if ((initFlags & ~static_cast<unsigned>(cudaInitDeviceFlagsAreValid)) != 0) return cudaErrorInvalidValue;
  if ((initFlags & cudaInitDeviceFlagsAreValid) != 0) {
    if (!validDeviceFlags(flags)) return cudaErrorInvalidValue;
    deviceFlags[static_cast<std::size_t>(device)] = flags;
  }
  return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned int flags) {
  if (!validDeviceFlags(flags)) return cudaErrorInvalidValue;
  deviceFlags[currentDevice().index()] = flags;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  // Host memory can always be mapped, asked for or not.
  *flags = deviceFlags[currentDevice().index()] | cudaDeviceMapHost;
  return cudaSuccess;
}

cudaError_t cudaSetValidDevices(int* device_arr, int len) {
  const int count = static_cast<int>(client::Process::get().deviceCount());
  if (len < 0 || len > count) return cudaErrorInvalidValue;
  for (int i = 0; i < len; ++i) {
    if (device_arr[i] < 0 || device_arr[i] >= count) return cudaErrorInvalidDevice;
  }
  setDefaultDevice(len > 0 ? device_arr[0] : 0);
  return cudaSuccess;
}

// The device that meets most of what the program has filled in: the first among equals.
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* prop) {
  const int count = static_cast<int>(client::Process::get().deviceCount());
  int best = 0, bestScore = -1;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp have;
    if (const cudaError_t error = impl::cudaGetDeviceProperties(&have, i); error != cudaSuccess) return error;
    int score = 0;
    score += prop->name[0] != '\0' && std::strncmp(prop->name, have.name, sizeof(have.name)) == 0;
    score += prop->major != 0 && (have.major > prop->major || (have.major == prop->major && have.minor >= prop->minor));
    score += prop->totalGlobalMem != 0 && have.totalGlobalMem >= prop->totalGlobalMem;
    score += prop->multiProcessorCount != 0 && have.multiProcessorCount >= prop->multiProcessorCount;
    score += prop->sharedMemPerBlock != 0 && have.sharedMemPerBlock >= prop->sharedMemPerBlock;
    if (score > bestScore) {
      best = i;
      bestScore = score;
    }
  }
  *device = best;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* pciBusId) {
  PciAddress wanted;
  if (!parsePciAddress(pciBusId, &wanted)) return cudaErrorInvalidValue;
  client::Process& process = client::Process::get();
  for (std::uint32_t i = 0; i < process.deviceCount(); ++i) {
    PciAddress address;
    if (parsePciAddress(process.device(i).info().pciAddress.c_str(), &address) && address == wanted) {
      *device = static_cast<int>(i);
      return cudaSuccess;
    }
  }
  return cudaErrorInvalidDevice;
}

cudaError_t cudaDeviceGetPCIBusId(char* pciBusId, int len, int device) {
  client::Device* found = nullptr;
  if (const cudaError_t error = findDevice(device, &found); error != cudaSuccess) return error;
  const std::string& address = found->info().pciAddress;
  if (len < 1 || static_cast<std::size_t>(len) <= address.size()) return cudaErrorInvalidValue;
  std::snprintf(pciBusId, static_cast<std::size_t>(len), "%s", address.c_str());
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  if (graph::anyCapture())
    if (const cudaError_t error = graph::checkUnsafeSlowly(true); error != cudaSuccess) return error;
  return toCuda(currentDevice().synchronize());
}

cudaError_t cudaDeviceReset() {
  if (graph::anyCapture())
    if (const cudaError_t error = graph::checkUnsafeSlowly(true); error != cudaSuccess) return error;
  client::Device& device = currentDevice();
  const CudaError error = device.reset();
  ModuleRegistry::get().forgetDevice(device.index());
  deviceFlags[device.index()] = 0;
  setDeviceBegun(device.index(), false);
  if (error == CudaError::success) threadState.lastError = cudaSuccess;
  return toCuda(error);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
  if (leastPriority != nullptr) *leastPriority = client::kLeastPriority;
  if (greatestPriority != nullptr) *greatestPriority = client::kGreatestPriority;
  return cudaSuccess;
}

// There are no persisting lines (cudaDevAttrMaxPersistingL2CacheSize is 0), so none is left after this.
cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }

}  // namespace rouse::cudart::impl
