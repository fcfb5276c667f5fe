// CUDA Runtime API, "Execution Control": what a kernel needs, and what it may use.
#include <algorithm>
#include <cstring>

#include "client-shim/cudart/device_attributes.h"
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/module_registry.h"
#include "client-shim/cudart/session.h"
#include "schemas/base/cluster.h"

namespace rouse::cudart::impl {
namespace {

cudaError_t setMaxDynamicShared(const client::Device& device, client::Kernel& kernel, int value) {
  const int most = std::max(deviceAttribute(device.info(), cudaDevAttrMaxSharedMemoryPerBlockOptin),
                            deviceAttribute(device.info(), cudaDevAttrMaxSharedMemoryPerBlock));
  if (value < 0 || value > most - static_cast<int>(kernel.staticSharedBytes)) return cudaErrorInvalidValue;
  kernel.maxDynamicSharedBytes.store(static_cast<std::uint32_t>(value), std::memory_order_relaxed);
  return cudaSuccess;
}

// Whether the three go together is looked at when it is launched.
cudaError_t setCluster(client::Kernel& kernel, std::uint32_t dimension, int value) {
  if (kernel.clusterIsCompiled) return cudaErrorNotPermitted;
  if (value < 0 || static_cast<std::uint32_t>(value) > kMostClusterBlocks) return cudaErrorInvalidValue;
  const std::uint32_t shift = 8 * dimension, others = ~(std::uint32_t{0xff} << shift);
  std::uint32_t kept = kernel.cluster.load(std::memory_order_relaxed);
  while (!kernel.cluster.compare_exchange_weak(kept, (kept & others) | static_cast<std::uint32_t>(value) << shift, std::memory_order_relaxed)) {
  }
  return cudaSuccess;
}

cudaError_t setAttribute(const void* func, client::Device& device, cudaFuncAttribute attr, int value) {
  client::Kernel* kernel = nullptr;
  if (const cudaError_t error = findKernel(func, device, &kernel); error != cudaSuccess) return error;
  switch (attr) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
      return setMaxDynamicShared(device, *kernel, value);
    case cudaFuncAttributePreferredSharedMemoryCarveout:
      if (value < cudaSharedmemCarveoutDefault || value > cudaSharedmemCarveoutMaxShared) return cudaErrorInvalidValue;
      ModuleRegistry::get().findFunction(func)->sharedCarveout = value;
      return cudaSuccess;
    case cudaFuncAttributeRequiredClusterWidth:
    case cudaFuncAttributeRequiredClusterHeight:
    case cudaFuncAttributeRequiredClusterDepth:
      return setCluster(*kernel, static_cast<std::uint32_t>(attr - cudaFuncAttributeRequiredClusterWidth), value);
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
      if (value != 0 && value != 1) return cudaErrorInvalidValue;
      kernel->mayExceedPortableClusters.store(value != 0, std::memory_order_relaxed);
      return cudaSuccess;
    case cudaFuncAttributeClusterSchedulingPolicyPreference:  // where a cluster's blocks run is the device's choice
      if (value < cudaClusterSchedulingPolicyDefault || value > cudaClusterSchedulingPolicyLoadBalancing) return cudaErrorInvalidValue;
      ModuleRegistry::get().findFunction(func)->clusterScheduling = value;
      return cudaSuccess;
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attr, const void* func) {
  client::Kernel* kernel = nullptr;
  if (const cudaError_t error = findKernel(func, currentDevice(), &kernel); error != cudaSuccess) return error;
  std::memset(attr, 0, sizeof(*attr));
  attr->sharedSizeBytes = kernel->staticSharedBytes;
  attr->constSizeBytes = kernel->constantBytes;
  attr->localSizeBytes = kernel->localBytes;
  attr->maxThreadsPerBlock = static_cast<int>(kernel->maxThreadsPerBlock);
  attr->numRegs = static_cast<int>(kernel->registers);
  attr->ptxVersion = static_cast<int>(kernel->ptxVersion);
  attr->binaryVersion = static_cast<int>(kernel->binaryVersion);
  attr->maxDynamicSharedSizeBytes = static_cast<int>(kernel->maxDynamicSharedBytes.load(std::memory_order_relaxed));
  const ClusterShape cluster = ClusterShape::unpack(kernel->cluster.load(std::memory_order_relaxed));
  attr->clusterDimMustBeSet = kernel->clusterMustBeSet || !cluster.none() ? 1 : 0;
  attr->requiredClusterWidth = static_cast<int>(cluster.x);
  attr->requiredClusterHeight = static_cast<int>(cluster.y);
  attr->requiredClusterDepth = static_cast<int>(cluster.z);
  attr->nonPortableClusterSizeAllowed = kernel->mayExceedPortableClusters.load(std::memory_order_relaxed) ? 1 : 0;
  attr->clusterSchedulingPolicyPreference = ModuleRegistry::get().findFunction(func)->clusterScheduling;
  attr->preferredShmemCarveout = ModuleRegistry::get().findFunction(func)->sharedCarveout;
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void* func, cudaFuncAttribute attr, int value) {
  return setAttribute(func, currentDevice(), attr, value);
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attr, int value, int device) {
  client::Device* found = nullptr;
  if (const cudaError_t error = findDevice(device, &found); error != cudaSuccess) return error;
  return setAttribute(kernel, *found, attr, value);
}

// Preferences between L1 cache and shared memory: a device is free to ignore them ("the runtime will use the requested
// configuration if possible"), ours have nothing to divide.
cudaError_t cudaFuncSetCacheConfig(const void* func, cudaFuncCache cacheConfig) {
  if (cacheConfig < cudaFuncCachePreferNone || cacheConfig > cudaFuncCachePreferEqual) return cudaErrorInvalidValue;
  client::Kernel* kernel = nullptr;
  return findKernel(func, currentDevice(), &kernel);
}

cudaError_t cudaFuncSetSharedMemConfig(const void* func, cudaSharedMemConfig config) {
  if (config < cudaSharedMemBankSizeDefault || config > cudaSharedMemBankSizeEightByte) return cudaErrorInvalidValue;
  client::Kernel* kernel = nullptr;
  return findKernel(func, currentDevice(), &kernel);
}

cudaError_t cudaFuncGetName(const char** name, const void* func) {
  const Function* function = ModuleRegistry::get().findFunction(func);
  if (function == nullptr) return noKernel(func);
  *name = function->name.c_str();
  return cudaSuccess;
}

cudaError_t cudaFuncGetParamInfo(const void* func, size_t paramIndex, size_t* paramOffset, size_t* paramSize) {
  client::Kernel* kernel = nullptr;
  if (const cudaError_t error = findKernel(func, currentDevice(), &kernel); error != cudaSuccess) return error;
  if (paramIndex >= kernel->parameters.size()) return cudaErrorInvalidValue;
  *paramOffset = kernel->parameters[paramIndex].offset;
  if (paramSize != nullptr) *paramSize = kernel->parameters[paramIndex].bytes;
  return cudaSuccess;
}

}  // namespace rouse::cudart::impl
