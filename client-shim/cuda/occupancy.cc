// CUDA Driver API, "Occupancy".
#include <cuda_runtime.h>

#include "client-shim/cuda/call.h"
#include "client-shim/cuda/functions.h"
#include "client-shim/cuda/implementations.h"

namespace rouse::cuda::impl {

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize,
                                                              unsigned int flags) {
  return call([&] { return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, kernelOf(func), blockSize, dynamicSMemSize, flags); });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize) {
  return impl::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize, dynamicSMemSize, CU_OCCUPANCY_DEFAULT);
}

CUresult cuOccupancyMaxActiveClusters(int* numClusters, CUfunction func, const CUlaunchConfig* config) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaLaunchConfig_t same = configOf(*config);
  return call([&] { return cudaOccupancyMaxActiveClusters(numClusters, kernelOf(func), &same); });
}

CUresult cuOccupancyMaxPotentialClusterSize(int* clusterSize, CUfunction func, const CUlaunchConfig* config) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const cudaLaunchConfig_t same = configOf(*config);
  return call([&] { return cudaOccupancyMaxPotentialClusterSize(clusterSize, kernelOf(func), &same); });
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* dynamicSmemSize, CUfunction func, int numBlocks, int blockSize) {
  return call([&] { return cudaOccupancyAvailableDynamicSMemPerBlock(dynamicSmemSize, kernelOf(func), numBlocks, blockSize); });
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* minGridSize, int* blockSize, CUfunction func, CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                   size_t dynamicSMemSize, int blockSizeLimit, unsigned int flags) {
  if (blockSizeLimit < 0) return CUDA_ERROR_INVALID_VALUE;
  const auto shared = [&](int threads) { return blockSizeToDynamicSMemSize != nullptr ? blockSizeToDynamicSMemSize(threads) : dynamicSMemSize; };
  return call([&] {
    return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(minGridSize, blockSize, kernelOf(func), shared, blockSizeLimit, flags);
  });
}

CUresult cuOccupancyMaxPotentialBlockSize(int* minGridSize, int* blockSize, CUfunction func, CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                          size_t dynamicSMemSize, int blockSizeLimit) {
  return impl::cuOccupancyMaxPotentialBlockSizeWithFlags(minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize, blockSizeLimit,
                                                         CU_OCCUPANCY_DEFAULT);
}

}  // namespace rouse::cuda::impl
