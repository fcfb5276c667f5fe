// What the CPU device says of itself.
#pragma once

#include <cstdint>

#include "memory/device.h"
#include "server/device/link_board.h"

namespace rouse::cpu {

inline constexpr std::uint32_t kComputeMajor = 9, kComputeMinor = 0;
inline constexpr std::uint32_t kCapability = kComputeMajor * 10 + kComputeMinor;
inline constexpr std::uint32_t kMaxThreadsPerBlock = 1024;
inline constexpr std::uint32_t kThreadsPerMultiprocessor = 2048;
inline constexpr std::uint32_t kBlocksPerMultiprocessor = 32;
inline constexpr std::uint32_t kSharedPerMultiprocessor = 228u << 10;
inline constexpr std::uint32_t kReservedSharedPerBlock = 1024;

// A multiprocessor for each worker, but as many as a cluster may have blocks at least: kernels whose blocks stay, and take one piece of the work after another, have as many whole clusters as there is
// room for, and none would be a grid of nothing (CUTLASS's persistent schedulers).
std::uint32_t multiprocessorsOf(std::uint32_t workers);

memory::DeviceProperties describeDevice(std::uint32_t ordinal, std::uint64_t memoryBytes, std::uint32_t workers);

// The GPUs of a topology but this one, in their order: who can be read fast, and how fast.
std::vector<memory::LinkPeer> describePeers(const device::LinkBoard& links, std::uint32_t ordinal);

// How many blocks the device holds at once, as occupancy calculations of compute capability 9.0 have it.
std::uint64_t residentBlocks(std::uint32_t multiprocessors, std::uint32_t threadsPerBlock, std::uint32_t sharedBytes);

}  // namespace rouse::cpu
