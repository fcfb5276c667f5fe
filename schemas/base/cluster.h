// Clusters of thread blocks (CUDA C++ Programming Guide, "Thread Block Clusters"): how large they may be, and how a launch says it.
#pragma once

#include <cstdint>

namespace rouse {

// Blocks of a cluster: what every GPU that has clusters runs, and what some run of kernels that ask for it (cudaFuncAttributeNonPortableClusterSizeAllowed).
inline constexpr std::uint32_t kPortableClusterBlocks = 8, kMostClusterBlocks = 16;

struct ClusterShape {
  std::uint32_t x = 0, y = 0, z = 0;  // blocks; all 0: no clusters

  constexpr bool operator==(const ClusterShape&) const = default;
  constexpr std::uint64_t blocks() const { return std::uint64_t{x} * y * z; }
  constexpr bool none() const { return (x | y | z) == 0; }
  // None, or not too large; dimensions are either all 0 or none is.
  constexpr bool valid() const { return none() || (x <= kMostClusterBlocks && y <= kMostClusterBlocks && z <= kMostClusterBlocks && blocks() >= 1 && blocks() <= kMostClusterBlocks); }
  // Whether a grid is made of whole ones.
  constexpr bool divides(std::uint32_t gridX, std::uint32_t gridY, std::uint32_t gridZ) const { return none() || (gridX % x == 0 && gridY % y == 0 && gridZ % z == 0); }

  // In a launch's command: a byte for each dimension. Only of valid ones.
  constexpr std::uint32_t packed() const { return x | y << 8 | z << 16; }
  static constexpr ClusterShape unpack(std::uint32_t word) { return {word & 0xff, word >> 8 & 0xff, word >> 16}; }
};

}  // namespace rouse
