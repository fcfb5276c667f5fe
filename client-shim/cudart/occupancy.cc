// CUDA Runtime API, "Occupancy".
#include <algorithm>

#include "client-shim/core/launch.h"
#include "client-shim/cudart/device_attributes.h"
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/module_registry.h"
#include "client-shim/cudart/occupancy_calculation.h"
#include "client-shim/cudart/session.h"

namespace rouse::cudart::impl {
namespace {

struct ClusterNeeds {
  client::Kernel* kernel = nullptr;
  client::LaunchShape shape;
  std::uint32_t multiprocessors = 0, activeBlocks = 0;  // of each
};

cudaError_t readClusters(const void* func, const cudaLaunchConfig_t& config, ClusterNeeds* needs) {
  if (config.numAttrs > 0 && config.attrs == nullptr) return cudaErrorInvalidValue;
  client::Device& device = currentDevice();
  if (const cudaError_t error = findKernel(func, device, &needs->kernel); error != cudaSuccess) return error;
  if (deviceAttribute(device.info(), cudaDevAttrClusterLaunch) == 0) return cudaErrorNotSupported;
  needs->shape.grid = {config.gridDim.x, config.gridDim.y, config.gridDim.z};
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const auto& asked = config.attrs[i].val.clusterDim;
    if (config.attrs[i].id == cudaLaunchAttributeClusterDimension) needs->shape.cluster = {asked.x, asked.y, asked.z};
  }
  const std::uint64_t threads = std::uint64_t{config.blockDim.x} * config.blockDim.y * config.blockDim.z;
  if (threads == 0 || threads > 1024) return cudaErrorInvalidValue;
  needs->multiprocessors = static_cast<std::uint32_t>(deviceAttribute(device.info(), cudaDevAttrMultiProcessorCount));
  needs->activeBlocks = maxActiveBlocks(multiprocessorLimits(device.info()), kernelNeeds(*needs->kernel), static_cast<std::uint32_t>(threads), config.dynamicSmemBytes);
  return cudaSuccess;
}

}  // namespace

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

// Blocks of a cluster run in one group of multiprocessors (GPC). How many of a group's 18 a GPU has is no attribute of it (NVIDIA H100 whitepaper: 132 in 8 groups), so this is an
// estimate, rather too low: as if all had 16.
cudaError_t cudaOccupancyMaxActiveClusters(int* numClusters, const void* func, const cudaLaunchConfig_t* launchConfig) {
  ClusterNeeds needs;
  if (const cudaError_t error = readClusters(func, *launchConfig, &needs); error != cudaSuccess) return error;
  std::uint32_t packed = 0;
  if (const cudaError_t error = toCuda(client::resolveCluster(*needs.kernel, needs.shape, &packed)); error != cudaSuccess) return error;
  const std::uint64_t blocks = std::max<std::uint64_t>(ClusterShape::unpack(packed).blocks(), 1);
  *numClusters = static_cast<int>(maxActiveClusters(needs.multiprocessors, needs.activeBlocks, static_cast<std::uint32_t>(blocks)));
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* clusterSize, const void* func, const cudaLaunchConfig_t* launchConfig) {
  ClusterNeeds needs;
  if (const cudaError_t error = readClusters(func, *launchConfig, &needs); error != cudaSuccess) return error;
  std::uint32_t size = needs.kernel->mayExceedPortableClusters.load(std::memory_order_relaxed) ? kMostClusterBlocks : kPortableClusterBlocks;
  while (size > 1 && maxActiveClusters(needs.multiprocessors, needs.activeBlocks, size) == 0) size /= 2;
  *clusterSize = static_cast<int>(size);
  return cudaSuccess;
}

}  // namespace rouse::cudart::impl
