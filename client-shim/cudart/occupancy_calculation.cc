#include "client-shim/cudart/occupancy_calculation.h"

#include <algorithm>
#include <limits>

#include "client-shim/core/module.h"
#include "client-shim/cudart/device_attributes.h"
#include "schemas/base/range.h"

namespace rouse::cudart {
namespace {

// Facts of compute capability 7 and newer ("Compute Capabilities", technical specifications).
constexpr std::uint64_t kRegisterUnit = 256;  // registers are given to warps in these
constexpr std::uint64_t kSubPartitions = 4;   // of a multiprocessor, each with its own register file
constexpr std::uint64_t kMaxRegistersPerThread = 256;
constexpr std::uint64_t sharedUnit(std::uint32_t computeMajor) { return computeMajor >= 8 ? 128 : 256; }

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint32_t>::max();

std::uint64_t byRegisters(const MultiprocessorLimits& limits, const KernelNeeds& kernel, std::uint64_t warps) {
  if (kernel.registersPerThread > kMaxRegistersPerThread) return 0;
  const std::uint64_t perWarp = roundUp(std::uint64_t{kernel.registersPerThread} * limits.warpThreads, kRegisterUnit);
  if (perWarp == 0) return kNoLimit;
  // The hardware's check of a block assumes that its warps fill all sub-partitions evenly.
  if (perWarp * roundUp(warps, kSubPartitions) > limits.registersPerBlock) return 0;
  return limits.registers / kSubPartitions / perWarp * kSubPartitions / warps;
}

std::uint64_t byShared(const MultiprocessorLimits& limits, const KernelNeeds& kernel, std::uint64_t dynamicShared) {
  if (dynamicShared > kernel.maxDynamicShared) return 0;
  const std::uint64_t used = limits.sharedReservedPerBlock + kernel.staticShared + dynamicShared;
  const std::uint64_t perBlock = roundUp(used, sharedUnit(limits.computeMajor));
  const std::uint64_t most =
      std::max(limits.sharedPerBlock, limits.sharedPerBlockOptin) + limits.sharedReservedPerBlock;
  if (perBlock > most) return 0;
  return perBlock == 0 ? kNoLimit : limits.shared / perBlock;
}

}  // namespace

MultiprocessorLimits multiprocessorLimits(const client::DeviceInfo& info) {
  const auto get = [&](cudaDeviceAttr attribute) {
    return static_cast<std::uint32_t>(deviceAttribute(info, attribute));
  };
  MultiprocessorLimits limits;
  limits.computeMajor = info.computeMajor;
  limits.warpThreads = std::max(1U, get(cudaDevAttrWarpSize));
  limits.threadsPerBlock = get(cudaDevAttrMaxThreadsPerBlock);
  limits.threads = get(cudaDevAttrMaxThreadsPerMultiProcessor);
  limits.blocks = get(cudaDevAttrMaxBlocksPerMultiprocessor);
  limits.registersPerBlock = get(cudaDevAttrMaxRegistersPerBlock);
  limits.registers = get(cudaDevAttrMaxRegistersPerMultiprocessor);
  limits.sharedPerBlock = get(cudaDevAttrMaxSharedMemoryPerBlock);
  limits.sharedPerBlockOptin = get(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  limits.shared = get(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  limits.sharedReservedPerBlock = get(cudaDevAttrReservedSharedMemoryPerBlock);
  return limits;
}

KernelNeeds kernelNeeds(const client::Kernel& kernel) {
  return {kernel.registers, kernel.staticSharedBytes, kernel.maxDynamicSharedBytes.load(std::memory_order_relaxed),
          kernel.maxThreadsPerBlock};
}

std::uint32_t maxActiveBlocks(const MultiprocessorLimits& limits, const KernelNeeds& kernel, std::uint32_t blockThreads,
                              std::uint64_t dynamicShared) {
  // The device's limit alone: what a kernel has been compiled for counts through its registers, also where the launch would be refused.
  if (blockThreads == 0 || blockThreads > limits.threadsPerBlock) return 0;
  const std::uint64_t warps = (std::uint64_t{blockThreads} + limits.warpThreads - 1) / limits.warpThreads;
  const std::uint64_t byWarps = limits.threads / limits.warpThreads / warps;
  return static_cast<std::uint32_t>(std::min({byWarps, std::uint64_t{limits.blocks}, byRegisters(limits, kernel, warps),
                                              byShared(limits, kernel, dynamicShared)}));
}

bool availableDynamicShared(const MultiprocessorLimits& limits, const KernelNeeds& kernel, std::uint32_t blocks,
                            std::uint32_t blockThreads, std::uint64_t* bytes) {
  if (blocks == 0 || maxActiveBlocks(limits, kernel, blockThreads, 0) < blocks) return false;
  const bool optedIn = kernel.maxDynamicShared + kernel.staticShared > limits.sharedPerBlock;
  const std::uint64_t perBlock =
      optedIn ? std::max(limits.sharedPerBlock, limits.sharedPerBlockOptin) : limits.sharedPerBlock;
  const std::uint64_t whole = blocks == 1 ? perBlock + limits.sharedReservedPerBlock : limits.shared;
  const std::uint64_t share = roundDown(whole / blocks, sharedUnit(limits.computeMajor));
  const std::uint64_t taken = limits.sharedReservedPerBlock + kernel.staticShared;
  *bytes = std::min(share > taken ? share - taken : 0, kernel.maxDynamicShared);
  return true;
}

std::uint32_t maxActiveClusters(std::uint32_t multiprocessors, std::uint32_t activeBlocks, std::uint32_t clusterBlocks) {
  constexpr std::uint32_t kMultiprocessorsOfGroup = 16;
  if (multiprocessors < 2 * kMultiprocessorsOfGroup) return multiprocessors * activeBlocks / clusterBlocks;
  return multiprocessors / kMultiprocessorsOfGroup * (kMultiprocessorsOfGroup * activeBlocks / clusterBlocks);
}

}  // namespace rouse::cudart
