// CUDA Driver API, "Initialization", "Error Handling", "Device Management".
#include <cstring>

#include "client-shim/cuda/call.h"
#include "client-shim/cuda/error_names.h"
#include "client-shim/cuda/implementations.h"
#include "client-shim/cuda/texel.h"

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

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice dev) { return impl::cuDeviceGetUuid_v2(uuid, dev); }

CUresult cuDeviceGetByPCIBusId(CUdevice* dev, const char* pciBusId) {
  return call([&] { return cudaDeviceGetByPCIBusId(dev, pciBusId); });
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice dev) {
  const CUresult error = call([&] { return cudaDeviceGetAttribute(major, cudaDevAttrComputeCapabilityMajor, dev); });
  return error != CUDA_SUCCESS ? error : call([&] { return cudaDeviceGetAttribute(minor, cudaDevAttrComputeCapabilityMinor, dev); });
}

CUresult cuDeviceGetProperties(CUdevprop* prop, CUdevice dev) {
  if (prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
  cudaDeviceProp properties;
  int clock = 0;
  if (const CUresult error = call([&] { return cudaGetDeviceProperties(&properties, dev); }); error != CUDA_SUCCESS) return error;
  if (const CUresult error = call([&] { return cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, dev); }); error != CUDA_SUCCESS) return error;
  *prop = {};
  prop->maxThreadsPerBlock = properties.maxThreadsPerBlock;
  std::memcpy(prop->maxThreadsDim, properties.maxThreadsDim, sizeof prop->maxThreadsDim);
  std::memcpy(prop->maxGridSize, properties.maxGridSize, sizeof prop->maxGridSize);
  prop->sharedMemPerBlock = static_cast<int>(properties.sharedMemPerBlock);
  prop->totalConstantMemory = static_cast<int>(properties.totalConstMem);
  prop->SIMDWidth = properties.warpSize;
  prop->memPitch = static_cast<int>(properties.memPitch);
  prop->regsPerBlock = properties.regsPerBlock;
  prop->clockRate = clock;
  prop->textureAlign = static_cast<int>(properties.textureAlignment);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t* maxWidthInElements, CUarray_format format, unsigned numChannels, CUdevice dev) {
  cudaChannelFormatDesc texel;
  if (!texelOf(format, numChannels, &texel)) return CUDA_ERROR_INVALID_VALUE;
  return call([&] { return cudaDeviceGetTexture1DLinearMaxWidth(maxWidthInElements, &texel, dev); });
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool_out, CUdevice dev) {
  return call([&] { return cudaDeviceGetDefaultMemPool(pool_out, dev); });
}

CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice dev) {
  return call([&] { return cudaDeviceGetMemPool(pool, dev); });
}

CUresult cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool) {
  return call([&] { return cudaDeviceSetMemPool(dev, pool); });
}

CUresult cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void* value) {
  return call([&] { return cudaDeviceGetGraphMemAttribute(device, static_cast<cudaGraphMemAttributeType>(attr), value); });
}

CUresult cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void* value) {
  return call([&] { return cudaDeviceSetGraphMemAttribute(device, static_cast<cudaGraphMemAttributeType>(attr), value); });
}

CUresult cuDeviceGraphMemTrim(CUdevice device) {
  return call([&] { return cudaDeviceGraphMemTrim(device); });
}

// The attributes' numbers are the same.
CUresult cuDeviceGetAttribute(int* pi, CUdevice_attribute attrib, CUdevice dev) {
  return call([&] { return cudaDeviceGetAttribute(pi, static_cast<cudaDeviceAttr>(attrib), dev); });
}

}  // namespace rouse::cuda::impl
