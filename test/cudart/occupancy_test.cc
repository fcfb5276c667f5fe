// Occupancy against the toolkit's own calculator (cuda_occupancy.h), and against what the documentation's tables say.
#include <cuda_occupancy.h>

#include <catch2/catch.hpp>
#include <random>

#include "client-shim/cudart/occupancy_calculation.h"

using rouse::cudart::availableDynamicShared;
using rouse::cudart::KernelNeeds;
using rouse::cudart::maxActiveBlocks;
using rouse::cudart::MultiprocessorLimits;

namespace {

struct Architecture {
  int major, minor;
  std::uint32_t threads, blocks;
  std::uint64_t shared, optin, reserved;
};

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
constexpr Architecture kArchitectures[] = {
    {7, 0, 2048, 32, 96 << 10, 96 << 10, 0},      {7, 5, 1024, 16, 64 << 10, 64 << 10, 0},
    {8, 0, 2048, 32, 164 << 10, 163 << 10, 1024}, {8, 6, 1536, 16, 100 << 10, 99 << 10, 1024},
    {8, 9, 1536, 24, 100 << 10, 99 << 10, 1024},  {9, 0, 2048, 32, 228 << 10, 227 << 10, 1024},
};

MultiprocessorLimits limitsOf(const Architecture& a) {
  MultiprocessorLimits limits;
  limits.computeMajor = static_cast<std::uint32_t>(a.major);
  limits.warpThreads = 32;
  limits.threadsPerBlock = 1024;
  limits.threads = a.threads;
  limits.blocks = a.blocks;
  limits.registersPerBlock = limits.registers = 65536;
  limits.sharedPerBlock = 48 << 10;
  limits.sharedPerBlockOptin = a.optin;
  limits.shared = a.shared;
  limits.sharedReservedPerBlock = a.reserved;
  return limits;
}

cudaOccDeviceProp propertiesOf(const Architecture& a) {
  cudaOccDeviceProp p{};
  p.computeMajor = a.major;
  p.computeMinor = a.minor;
  p.maxThreadsPerBlock = 1024;
  p.maxThreadsPerMultiprocessor = static_cast<int>(a.threads);
  p.regsPerBlock = p.regsPerMultiprocessor = 65536;
  p.warpSize = 32;
  p.sharedMemPerBlock = 48 << 10;
  p.sharedMemPerMultiprocessor = a.shared;
  p.numSms = 1;
  p.sharedMemPerBlockOptin = a.optin;
  p.reservedSharedMemPerBlock = a.reserved;
  return p;
}

}  // namespace

TEST_CASE("active blocks are those of the toolkit's calculator", "[cudart][occupancy]") {
  std::mt19937 random(20250101);
  const auto pick = [&](std::uint32_t low, std::uint32_t high) {
    return std::uniform_int_distribution<std::uint32_t>(low, high)(random);
  };
  int running = 0;
  for (const Architecture& architecture : kArchitectures) {
    const MultiprocessorLimits limits = limitsOf(architecture);
    const cudaOccDeviceProp properties = propertiesOf(architecture);
    for (int i = 0; i < 4000; ++i) {
      KernelNeeds kernel;
      kernel.registersPerThread = pick(0, 255);
      kernel.staticShared = pick(0, 3) == 0 ? pick(0, 48 << 10) : 0;
      kernel.maxThreadsPerBlock = 1024;
      const bool optedIn = pick(0, 1) == 1;
      kernel.maxDynamicShared = optedIn ? pick(0, static_cast<std::uint32_t>(architecture.optin - kernel.staticShared))
                                        : (48 << 10) - kernel.staticShared;
      const std::uint32_t threads = pick(1, 1024);
      const std::uint64_t dynamicShared =
          pick(0, 2) == 0 ? 0 : pick(0, static_cast<std::uint32_t>(architecture.shared));

      cudaOccFuncAttributes attributes{};
      attributes.maxThreadsPerBlock = 1024;
      attributes.numRegs = static_cast<int>(kernel.registersPerThread);
      attributes.sharedSizeBytes = kernel.staticShared;
      attributes.partitionedGCConfig = PARTITIONED_GC_OFF;
      attributes.shmemLimitConfig = optedIn ? FUNC_SHMEM_LIMIT_OPTIN : FUNC_SHMEM_LIMIT_DEFAULT;
      attributes.maxDynamicSharedSizeBytes = kernel.maxDynamicShared;
      cudaOccDeviceState state;
      cudaOccResult result{};
      REQUIRE(cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &attributes, &state,
                                                      static_cast<int>(threads), dynamicShared) == CUDA_OCC_SUCCESS);
      CAPTURE(architecture.major, architecture.minor, kernel.registersPerThread, kernel.staticShared,
              kernel.maxDynamicShared, threads, dynamicShared, optedIn);
      const std::uint32_t blocks = maxActiveBlocks(limits, kernel, threads, dynamicShared);
      REQUIRE(blocks == static_cast<std::uint32_t>(result.activeBlocksPerMultiprocessor));
      running += blocks > 0;
    }
  }
  CHECK(running > 1000);
}

TEST_CASE("dynamic shared memory offered leaves room for the blocks asked for", "[cudart][occupancy]") {
  std::mt19937 random(42);
  for (const Architecture& architecture : kArchitectures) {
    const MultiprocessorLimits limits = limitsOf(architecture);
    for (int i = 0; i < 500; ++i) {
      KernelNeeds kernel;
      kernel.registersPerThread = random() % 65;
      kernel.staticShared = random() % 3 == 0 ? random() % 8192 : 0;
      kernel.maxDynamicShared = architecture.optin - kernel.staticShared;
      const std::uint32_t threads = 32 * (1 + random() % 16), blocks = 1 + random() % 8;
      std::uint64_t bytes = 0;
      if (!availableDynamicShared(limits, kernel, blocks, threads, &bytes)) {
        CHECK(maxActiveBlocks(limits, kernel, threads, 0) < blocks);
        continue;
      }
      CAPTURE(architecture.major, architecture.minor, kernel.staticShared, blocks, threads, bytes);
      CHECK(maxActiveBlocks(limits, kernel, threads, bytes) >= blocks);
      // And no more than that: the next unit would not fit, unless the kernel may not have it.
      const std::uint64_t more = bytes + (architecture.major >= 8 ? 128 : 256);
      if (more <= kernel.maxDynamicShared) CHECK(maxActiveBlocks(limits, kernel, threads, more) < blocks);
    }
  }
}

TEST_CASE("a block that cannot run at all has occupancy 0", "[cudart][occupancy]") {
  const MultiprocessorLimits limits = limitsOf(kArchitectures[2]);
  const KernelNeeds kernel{32, 0, 48 << 10, 256};
  CHECK(maxActiveBlocks(limits, kernel, 256, 0) == 8);
  CHECK(maxActiveBlocks(limits, kernel, 257, 0) == 7);  // __launch_bounds__(256) refuses the launch alone
  CHECK(maxActiveBlocks(limits, kernel, 1025, 0) == 0);
  CHECK(maxActiveBlocks(limits, kernel, 256, (48 << 10) + 1) == 0);
  CHECK(maxActiveBlocks(limits, kernel, 0, 0) == 0);
}
