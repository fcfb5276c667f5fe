// CUDA Driver API, "Initialization", "Error Handling", "Device Management".
#include <cstring>

#include "client-shim/cuda/call.h"
#include "client-shim/cuda/error_names.h"
#include "client-shim/cuda/implementations.h"

namespace rouse::cuda::impl {

CUresult cuInit(unsigned int Flags) {
  if (Flags != 0) return CUDA_ERROR_INVALID_VALUE;
  int count = 0;
  return call([&] { return cudaGetDeviceCount(&count); });
}

CUresult cuDriverGetVersion(int* driverVersion) {
  if (driverVersion == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return call([&] { return cudaDriverGetVersion(driverVersion); });
}

CUresult cuGetErrorName(CUresult error, const char** pStr) {
  if (pStr == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pStr = errorName(error);
  return *pStr != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char** pStr) {
  if (pStr == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pStr = errorName(error) != nullptr ? cudaGetErrorString(static_cast<cudaError_t>(error)) : nullptr;
  return *pStr != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetCount(int* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return call([&] { return cudaGetDeviceCount(count); });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  int count = 0;
  if (const CUresult error = impl::cuDeviceGetCount(&count); error != CUDA_SUCCESS) return error;
  if (ordinal < 0 || ordinal >= count) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int len, CUdevice dev) {
  if (name == nullptr || len <= 0) return CUDA_ERROR_INVALID_VALUE;
  cudaDeviceProp properties;
  const CUresult error = call([&] { return cudaGetDeviceProperties(&properties, dev); });
  if (error != CUDA_SUCCESS) return error;
  std::strncpy(name, properties.name, static_cast<std::size_t>(len) - 1);
  name[len - 1] = '\0';
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice dev) {
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaDeviceProp properties;
  const CUresult error = call([&] { return cudaGetDeviceProperties(&properties, dev); });
  if (error == CUDA_SUCCESS) std::memcpy(uuid->bytes, properties.uuid.bytes, sizeof uuid->bytes);
  return error;
}

CUresult cuDeviceGetPCIBusId(char* pciBusId, int len, CUdevice dev) {
  return call([&] { return cudaDeviceGetPCIBusId(pciBusId, len, dev); });
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice dev) {
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaDeviceProp properties;
  const CUresult error = call([&] { return cudaGetDeviceProperties(&properties, dev); });
  if (error == CUDA_SUCCESS) *bytes = properties.totalGlobalMem;
  return error;
}

// The attributes' numbers are the same.
CUresult cuDeviceGetAttribute(int* pi, CUdevice_attribute attrib, CUdevice dev) {
  return call([&] { return cudaDeviceGetAttribute(pi, static_cast<cudaDeviceAttr>(attrib), dev); });
}

}  // namespace rouse::cuda::impl
