// CUDA Runtime API, "Device Management": limits of a device's context, and preferences about its caches.
#include <algorithm>
#include <array>
#include <atomic>

#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/session.h"
#include "schemas/wire/layout.h"

namespace rouse::cudart::impl {
namespace {

// cudaDeviceSetCacheConfig, by device: a preference that devices may ignore.
std::array<std::atomic<cudaFuncCache>, wire::kMaxDevices> cachePreference;

// Hints to caches: how much of the second level is set aside (none can be: cudaDeviceProp::persistingL2CacheMaxSize), and the most bytes of a fetch
// into it (CUDA C++ Programming Guide, "Device Memory L2 Access Management").
constexpr std::size_t kLargestFetch = 128;
struct FetchGranularity {
  std::atomic<std::size_t> bytes{64};
};
std::array<FetchGranularity, wire::kMaxDevices> fetchGranularity;

// cudaErrorUnsupportedLimit for what our devices do not have, cudaErrorInvalidValue for what is no limit at all.
cudaError_t coreLimit(cudaLimit limit, client::Limit* found) {
  switch (limit) {
    case cudaLimitStackSize:
      *found = client::Limit::stackBytes;
      return cudaSuccess;
    case cudaLimitPrintfFifoSize:
      *found = client::Limit::printfBytes;
      return cudaSuccess;
    case cudaLimitMallocHeapSize:
      *found = client::Limit::heapBytes;
      return cudaSuccess;
    case cudaLimitDevRuntimeSyncDepth:
    case cudaLimitDevRuntimePendingLaunchCount:
    case cudaLimitMaxL2FetchGranularity:  // not the core's: hints
    case cudaLimitPersistingL2CacheSize:
      return cudaErrorUnsupportedLimit;
  }
  return cudaErrorInvalidValue;
}

}  // namespace

cudaError_t cudaDeviceGetLimit(size_t* pValue, cudaLimit limit) {
  if (limit == cudaLimitPersistingL2CacheSize || limit == cudaLimitMaxL2FetchGranularity) {
    *pValue = limit == cudaLimitPersistingL2CacheSize ? 0 : fetchGranularity[currentDevice().index()].bytes.load();
    return cudaSuccess;
  }
  client::Limit found{};
  if (const cudaError_t error = coreLimit(limit, &found); error != cudaSuccess) return error;
  *pValue = currentDevice().limit(found);
  return cudaSuccess;
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  if (limit == cudaLimitPersistingL2CacheSize) return cudaSuccess;  // as much as there can be: none
  if (limit == cudaLimitMaxL2FetchGranularity) {
    fetchGranularity[currentDevice().index()].bytes = std::min(value, kLargestFetch);
    return cudaSuccess;
  }
  client::Limit found{};
  if (const cudaError_t error = coreLimit(limit, &found); error != cudaSuccess) return error;
  return toCuda(currentDevice().setLimit(found, value));
}

cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* pCacheConfig) {
  *pCacheConfig = cachePreference[currentDevice().index()];
  return cudaSuccess;
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache cacheConfig) {
  if (cacheConfig < cudaFuncCachePreferNone || cacheConfig > cudaFuncCachePreferEqual) return cudaErrorInvalidValue;
  cachePreference[currentDevice().index()] = cacheConfig;
  return cudaSuccess;
}

// Banks have a fixed width on all devices since compute capability 5; asking for another has no effect there.
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* pConfig) {
  *pConfig = cudaSharedMemBankSizeFourByte;
  return cudaSuccess;
}

cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config) {
  if (config < cudaSharedMemBankSizeDefault || config > cudaSharedMemBankSizeEightByte) return cudaErrorInvalidValue;
  return cudaSuccess;
}

}  // namespace rouse::cudart::impl
