// CUDA Runtime API, "Occupancy".
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/module_registry.h"
#include "client-shim/cudart/occupancy_calculation.h"
#include "client-shim/cudart/session.h"

namespace rouse::cudart::impl {

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* numBlocks, const void* func, int blockSize,
                                                                   size_t dynamicSMemSize, unsigned int flags) {
  if (blockSize <= 0) return cudaErrorInvalidValue;
  // Overriding when caching is switched off means nothing on devices that never do.
  if ((flags & ~static_cast<unsigned>(cudaOccupancyDisableCachingOverride)) != 0) return cudaErrorInvalidValue;
  client::Device& device = currentDevice();
  client::Kernel* kernel = nullptr;
  if (const cudaError_t error = findKernel(func, device, &kernel); error != cudaSuccess) return error;
  *numBlocks = static_cast<int>(maxActiveBlocks(multiprocessorLimits(device.info()), kernelNeeds(*kernel),
                                                static_cast<std::uint32_t>(blockSize), dynamicSMemSize));
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, const void* func, int blockSize,
                                                          size_t dynamicSMemSize) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize, dynamicSMemSize,
                                                                cudaOccupancyDefault);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* dynamicSmemSize, const void* func, int numBlocks,
                                                      int blockSize) {
  if (blockSize <= 0 || numBlocks <= 0) return cudaErrorInvalidValue;
  client::Device& device = currentDevice();
  client::Kernel* kernel = nullptr;
  if (const cudaError_t error = findKernel(func, device, &kernel); error != cudaSuccess) return error;
  std::uint64_t bytes = 0;
  if (!availableDynamicShared(multiprocessorLimits(device.info()), kernelNeeds(*kernel),
                              static_cast<std::uint32_t>(numBlocks), static_cast<std::uint32_t>(blockSize), &bytes)) {
    return cudaErrorInvalidValue;
  }
  *dynamicSmemSize = bytes;
  return cudaSuccess;
}

}  // namespace rouse::cudart::impl
