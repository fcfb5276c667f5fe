#include "server/device/cpu/properties.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <string>
#include <utility>

#include "schemas/base/cluster.h"
#include "server/device/cpu/runtime/shared_memory.h"

namespace rouse::cpu {
namespace {

// FNV-1a, 64 bits: spreads a name over the digits of a UUID; no secret depends on it.
std::uint64_t spread(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::string pciAddressOf(std::uint32_t ordinal) {
  std::array<char, 32> pci{};
  std::snprintf(pci.data(), pci.size(), "0000:%02x:00.0", ordinal & 0xff);
  return pci.data();
}

// Stable for a machine and ordinal: tools name GPUs by it.
std::string uuidOf(std::uint32_t ordinal) {
  std::string machine;
  std::ifstream("/etc/machine-id") >> machine;
  if (machine.empty()) {
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    machine = host.data();
  }
  const std::uint64_t high = spread(machine + "/rouse-cpu/" + std::to_string(ordinal));
  const std::uint64_t low = spread(std::to_string(high) + machine);
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "GPU-%08x-%04x-%04x-%04x-%012llx", static_cast<unsigned>(high >> 32),
                static_cast<unsigned>(high >> 16 & 0xffff), static_cast<unsigned>(0x4000 | (high & 0xfff)),
                static_cast<unsigned>(0x8000 | (low >> 48 & 0x3fff)),
                static_cast<unsigned long long>(low & 0xffff'ffff'ffff));
  return text.data();
}

std::int32_t cacheBytes() {
  const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? static_cast<std::int32_t>(std::min(bytes, 1L << 30)) : 8 << 20;
}

}  // namespace

std::uint32_t multiprocessorsOf(std::uint32_t workers) { return std::max(workers, kPortableClusterBlocks); }

memory::DeviceProperties describeDevice(std::uint32_t ordinal, std::uint64_t memoryBytes, std::uint32_t workers) {
  memory::DeviceProperties properties;
  properties.name = "Rouse CPU Device";
  properties.uuid = uuidOf(ordinal);
  properties.pciAddress = pciAddressOf(ordinal);
  properties.memoryBytes = memoryBytes;
  properties.computeMajor = kComputeMajor;
  properties.computeMinor = kComputeMinor;

  // cudaDeviceAttr (CUDA Runtime API, "Data types"). What is not listed is 0:
  // RDMA, IPC, and access to memory that CUDA did not allocate.
  const std::pair<int, std::int32_t> values[] = {
      {1, kMaxThreadsPerBlock},                         // MaxThreadsPerBlock
      {2, 1024},                                        // MaxBlockDimX
      {3, 1024},                                        // MaxBlockDimY
      {4, 64},                                          // MaxBlockDimZ
      {5, 2147483647},                                  // MaxGridDimX
      {6, 65535},                                       // MaxGridDimY
      {7, 65535},                                       // MaxGridDimZ
      {8, 48 << 10},                                    // MaxSharedMemoryPerBlock
      {9, 64 << 10},                                    // TotalConstantMemory
      {10, 32},                                         // WarpSize
      {11, 2147483647},                                 // MaxPitch
      {12, 65536},                                      // MaxRegistersPerBlock
      {13, 1'000'000},                                  // ClockRate: %clock counts nanoseconds
      {14, 512},                                        // TextureAlignment
      {15, 1},                                          // GpuOverlap
      {16, static_cast<std::int32_t>(multiprocessorsOf(workers))},  // MultiProcessorCount
      {19, 1},                                          // CanMapHostMemory
      {30, 512},                                        // SurfaceAlignment
      {31, 1},                                          // ConcurrentKernels
      {33, static_cast<std::int32_t>(ordinal & 0xff)},  // PciBusId
      {36, 1'600'000},                                  // MemoryClockRate
      {37, 128},                                        // GlobalMemoryBusWidth
      {38, cacheBytes()},                               // L2CacheSize
      {39, kThreadsPerMultiprocessor},                  // MaxThreadsPerMultiProcessor
      {40, 2},                                          // AsyncEngineCount
      {41, 1},                                          // UnifiedAddressing
      {21, 131072},                                     // MaxTexture1DWidth
      {22, 131072},                                     // MaxTexture2DWidth
      {23, 65536},                                      // MaxTexture2DHeight
      {24, 16384},                                      // MaxTexture3DWidth
      {25, 16384},                                      // MaxTexture3DHeight
      {26, 16384},                                      // MaxTexture3DDepth
      {27, 32768},                                      // MaxTexture2DLayeredWidth
      {28, 32768},                                      // MaxTexture2DLayeredHeight
      {29, 2048},                                       // MaxTexture2DLayeredLayers
      {42, 32768},                                      // MaxTexture1DLayeredWidth
      {43, 2048},                                       // MaxTexture1DLayeredLayers
      {45, 32768},                                      // MaxTexture2DGatherWidth
      {46, 32768},                                      // MaxTexture2DGatherHeight
      {52, 32768},                                      // MaxTextureCubemapWidth
      {53, 32768},                                      // MaxTextureCubemapLayeredWidth
      {54, 2046},                                       // MaxTextureCubemapLayeredLayers
      {55, 32768},                                      // MaxSurface1DWidth
      {56, 131072},                                     // MaxSurface2DWidth
      {57, 65536},                                      // MaxSurface2DHeight
      {58, 16384},                                      // MaxSurface3DWidth
      {59, 16384},                                      // MaxSurface3DHeight
      {60, 16384},                                      // MaxSurface3DDepth
      {61, 32768},                                      // MaxSurface1DLayeredWidth
      {62, 2048},                                       // MaxSurface1DLayeredLayers
      {63, 32768},                                      // MaxSurface2DLayeredWidth
      {64, 32768},                                      // MaxSurface2DLayeredHeight
      {65, 2048},                                       // MaxSurface2DLayeredLayers
      {66, 32768},                                      // MaxSurfaceCubemapWidth
      {67, 32768},                                      // MaxSurfaceCubemapLayeredWidth
      {68, 2046},                                       // MaxSurfaceCubemapLayeredLayers
      {69, 268435456},                                  // MaxTexture1DLinearWidth
      {70, 131072},                                     // MaxTexture2DLinearWidth
      {71, 65000},                                      // MaxTexture2DLinearHeight
      {72, 2097120},                                    // MaxTexture2DLinearPitch
      {73, 32768},                                      // MaxTexture2DMipmappedWidth
      {74, 32768},                                      // MaxTexture2DMipmappedHeight
      {77, 32768},                                      // MaxTexture1DMipmappedWidth
      {51, 32},                                         // TexturePitchAlignment
      {75, kComputeMajor},                              // ComputeCapabilityMajor
      {76, kComputeMinor},                              // ComputeCapabilityMinor
      {78, 1},                                          // StreamPrioritiesSupported
      {79, 1},                                          // GlobalL1CacheSupported
      {80, 1},                                          // LocalL1CacheSupported
      {81, kSharedPerMultiprocessor},                   // MaxSharedMemoryPerMultiprocessor
      {82, 65536},                                      // MaxRegistersPerMultiprocessor
      {83, 1},                                          // ManagedMemory
      {85, static_cast<std::int32_t>(ordinal)},         // MultiGpuBoardGroupID
      {86, 1},                                          // HostNativeAtomicSupported
      {87, 2},                                          // SingleToDoublePrecisionPerfRatio
      {89, 1},                                          // ConcurrentManagedAccess
      {90, 1},                                          // ComputePreemptionSupported
      {95, 1},                                          // CooperativeLaunch
      {97, kMaxSharedBytes},                            // MaxSharedMemoryPerBlockOptin
      {101, 1},                                         // DirectManagedMemAccessFromHost
      {106, kBlocksPerMultiprocessor},                  // MaxBlocksPerMultiprocessor
      {111, kReservedSharedPerBlock},                   // ReservedSharedMemoryPerBlock
      {115, 1},                                         // MemoryPoolsSupported
      {120, 1},                                         // ClusterLaunch
      {134, -1},                                        // HostNumaId
  };
  properties.noticesWrites = true;
  properties.copiesOnWrite = true;
  properties.arrivesOnDemand = true;
  properties.attributes.assign(148, 0);
  for (const auto& [attribute, value] : values) properties.attributes[attribute] = value;
  return properties;
}

std::vector<memory::LinkPeer> describePeers(const device::LinkBoard& links, std::uint32_t ordinal) {
  std::vector<memory::LinkPeer> peers;
  for (std::uint32_t other = 0; other < links.gpus(); ++other) {
    if (other == ordinal) continue;
    memory::LinkPeer& peer = peers.emplace_back();
    peer.uuid = uuidOf(other);
    peer.pciAddress = pciAddressOf(other);
    if (!links.has(device::fromGpu(other))) continue;
    peer.access = true;
    peer.nvlinks = 1;
    peer.bytesPerSecond = static_cast<std::uint64_t>(links.bytesPerSecond(device::fromGpu(other)));
  }
  return peers;
}

std::uint64_t residentBlocks(std::uint32_t multiprocessors, std::uint32_t threadsPerBlock, std::uint32_t sharedBytes) {
  const std::uint32_t warps = (threadsPerBlock + 31) / 32;
  const std::uint32_t byThreads = kThreadsPerMultiprocessor / 32 / std::max(warps, 1u);
  const std::uint32_t byShared = kSharedPerMultiprocessor / (sharedBytes + kReservedSharedPerBlock);
  return std::uint64_t{multiprocessors} * std::min({byThreads, byShared, kBlocksPerMultiprocessor});
}

}  // namespace rouse::cpu
