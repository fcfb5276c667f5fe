// How many blocks of a kernel fit on one multiprocessor at once: warps, registers, shared memory, block slots,
// whichever runs out first. (CUDA C++ Programming Guide, "Hardware Multithreading" and "Compute Capabilities"; the
// results are held against the toolkit's cuda_occupancy.h by a test.) Pure.
#pragma once

#include <cstdint>

namespace rouse::client {
struct DeviceInfo;
struct Kernel;
}  // namespace rouse::client

namespace rouse::cudart {

struct MultiprocessorLimits {
  std::uint32_t computeMajor = 0;
  std::uint32_t warpThreads = 32;
  std::uint32_t threadsPerBlock = 0;
  std::uint32_t threads = 0;  // resident at once
  std::uint32_t blocks = 0;
  std::uint32_t registersPerBlock = 0;
  std::uint32_t registers = 0;
  std::uint64_t sharedPerBlock = 0;  // without opt-in
  std::uint64_t sharedPerBlockOptin = 0;
  std::uint64_t shared = 0;
  std::uint64_t sharedReservedPerBlock = 0;
};

struct KernelNeeds {
  std::uint32_t registersPerThread = 0;
  std::uint64_t staticShared = 0;
  std::uint64_t maxDynamicShared = 0;  // what launches may ask for
  std::uint32_t maxThreadsPerBlock = 1024;
};

MultiprocessorLimits multiprocessorLimits(const client::DeviceInfo& info);
KernelNeeds kernelNeeds(const client::Kernel& kernel);

// 0: a block of this size cannot run at all. `blockThreads` is not 0.
std::uint32_t maxActiveBlocks(const MultiprocessorLimits& limits, const KernelNeeds& kernel, std::uint32_t blockThreads,
                              std::uint64_t dynamicShared);

// Dynamic shared memory that each of `blocks` resident blocks may have. False: that many blocks do not fit.
bool availableDynamicShared(const MultiprocessorLimits& limits, const KernelNeeds& kernel, std::uint32_t blocks,
                            std::uint32_t blockThreads, std::uint64_t* bytes);

// Clusters of so many blocks that run at once on so many multiprocessors that hold `activeBlocks` each; an estimate (cudaOccupancyMaxActiveClusters).
std::uint32_t maxActiveClusters(std::uint32_t multiprocessors, std::uint32_t activeBlocks, std::uint32_t clusterBlocks);

}  // namespace rouse::cudart
