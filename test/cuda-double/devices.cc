// The driver and its devices.
#include <cstdio>
#include <cstring>

#include "test/cuda-double/implementations.h"
#include "test/cuda-double/simulation.h"
#include "test/cuda-double/state.h"

namespace rouse::cuda_double::impl {
namespace {

// As drivers do: cut off, with the NUL that ends it.
CUresult write(const std::string& text, char* to, int length) {
  if (length <= 0) return violation(CUDA_ERROR_INVALID_VALUE, "no-room", "length " + std::to_string(length));
  std::snprintf(to, static_cast<std::size_t>(length), "%s", text.c_str());
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuDriverGetVersion(int* driverVersion) {
  *driverVersion = simulation::driverVersion();
  return CUDA_SUCCESS;
}

CUresult cuInit(unsigned int Flags) {
  if (Flags != 0) return violation(CUDA_ERROR_INVALID_VALUE, "flags", "cuInit takes 0");
  return state().initialize();
}

CUresult cuDeviceGetCount(int* count) {
  *count = simulation::devices();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  // Asking is how a program finds out: no rule broken.
  if (ordinal < 0 || ordinal >= simulation::devices()) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int len, CUdevice dev) {
  Gpu* gpu = state().gpu(dev);
  return gpu != nullptr ? write("Rouse CUDA double", name, len) : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice dev) {
  Gpu* gpu = state().gpu(dev);
  if (gpu == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  // "GPU-" and sixteen bytes in hexadecimal, with dashes between.
  std::string digits;
  for (const char c : gpu->device->properties().uuid.substr(4)) {
    if (c != '-') digits += c;
  }
  for (std::size_t i = 0; i < sizeof uuid->bytes; ++i) {
    uuid->bytes[i] = static_cast<char>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
  }
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* pciBusId, int len, CUdevice dev) {
  Gpu* gpu = state().gpu(dev);
  return gpu != nullptr ? write(gpu->device->properties().pciAddress, pciBusId, len) : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDeviceTotalMem(size_t* bytes, CUdevice dev) {
  Gpu* gpu = state().gpu(dev);
  if (gpu == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  *bytes = gpu->memoryBytes;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* pi, CUdevice_attribute attrib, CUdevice dev) {
  Gpu* gpu = state().gpu(dev);
  if (gpu == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  // Callers walk over all numbers there are.
  if (attrib <= 0 || attrib >= CU_DEVICE_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
  *pi = gpu->attribute(attrib);
  return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int* canAccessPeer, CUdevice dev, CUdevice peerDev) {
  if (state().gpu(dev) == nullptr || state().gpu(peerDev) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  *canAccessPeer = simulation::peers() && dev != peerDev ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attrib, CUdevice srcDevice, CUdevice dstDevice) {
  if (state().gpu(srcDevice) == nullptr || state().gpu(dstDevice) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (srcDevice == dstDevice) {
    return violation(CUDA_ERROR_INVALID_DEVICE, "own-peer", "device " + std::to_string(srcDevice) + " and itself");
  }
  const bool yes =
      attrib == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED || attrib == CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED;
  *value = simulation::peers() && yes ? 1 : 0;
  return CUDA_SUCCESS;
}

}  // namespace rouse::cuda_double::impl
