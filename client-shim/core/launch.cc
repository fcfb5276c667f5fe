#include "client-shim/core/launch.h"

#include <cstring>

#include "client-shim/core/command_queue.h"
#include "client-shim/core/device.h"
#include "client-shim/core/stream.h"

namespace rouse::client {

namespace {

constexpr std::uint32_t kMostThreads = 1024;
constexpr std::uint32_t kMostGridYZ = 65535;
constexpr std::uint32_t kMostGridX = 2147483647;
constexpr std::uint32_t kMostBlockZ = 64;

// 1 .. limit.
constexpr bool within(std::uint32_t value, std::uint32_t limit) { return value - 1 < limit; }

// Few kernels have anything to do with clusters.
inline bool hasCluster(const Kernel& kernel, const LaunchShape& shape) {
  return !shape.cluster.none() || kernel.clusterMustBeSet || kernel.cluster.load(std::memory_order_relaxed) != 0;
}

// `cluster`: as it is sent.
inline CudaError check(const Kernel& kernel, const LaunchShape& shape, std::uint32_t* cluster) {
  const Dim3& grid = shape.grid;
  const Dim3& block = shape.block;
  const bool dimensions = within(grid.x, kMostGridX) && within(grid.y, kMostGridYZ) && within(grid.z, kMostGridYZ) &&
                          within(block.x, kMostThreads) && within(block.y, kMostThreads) &&
                          within(block.z, kMostBlockZ);
  if (!dimensions) [[unlikely]]
    return CudaError::invalidValue;
  const std::uint32_t threads = block.x * block.y * block.z;
  if (threads > kMostThreads) [[unlikely]]
    return CudaError::invalidValue;
  if (threads > kernel.maxThreadsPerBlock) [[unlikely]]
    return CudaError::invalidValue;
  if (shape.sharedBytes > kernel.maxDynamicSharedBytes.load(std::memory_order_relaxed)) [[unlikely]] {
    return CudaError::invalidValue;
  }
  *cluster = 0;
  return hasCluster(kernel, shape) ? resolveCluster(kernel, shape, cluster) : CudaError::success;
}

// Most parameters are words; a call of memcpy for each would cost more than they do.
inline void put(std::byte* at, const void* from, std::uint32_t bytes) {
  if (bytes == 8) {
    std::memcpy(at, from, 8);
  } else if (bytes == 4) {
    std::memcpy(at, from, 4);
  } else {
    std::memcpy(at, from, bytes);
  }
}

template <class WriteBlock>
CudaError enqueue(Stream& stream, const Kernel& kernel, const LaunchShape& shape, WriteBlock&& writeBlock) {
  std::uint32_t cluster = 0;
  if (const CudaError error = check(kernel, shape, &cluster); error != CudaError::success) [[unlikely]]
    return error;
  Device& device = stream.device();
  if (&kernel.module->device() != &device) [[unlikely]]
    return CudaError::invalidResourceHandle;
  if (const CudaError error = device.asyncError(); error != CudaError::success) [[unlikely]]
    return error;

  const std::size_t bytes = sizeof(wire::Launch) + kernel.parameterBytes;
  CommandQueue::Batch batch(device.queue());
  std::byte* at = batch.room(bytes);
  if (at == nullptr) [[unlikely]]
    return device.peekError();
  const wire::Launch command{
      .header = {static_cast<std::uint16_t>(wire::Opcode::Launch), 0, static_cast<std::uint32_t>(bytes)},
      .stream = stream.wireHandle(),
      .module = kernel.module->wireHandle(),
      .function = kernel.index,
      .flags = shape.cooperative ? 1u : 0u,
      .grid = {shape.grid.x, shape.grid.y, shape.grid.z},
      .block = {shape.block.x, shape.block.y, shape.block.z},
      .sharedBytes = shape.sharedBytes,
      .cluster = cluster};
  std::memcpy(at, &command, sizeof command);
  writeBlock(at + sizeof command);
  batch.count(stream);
  batch.publish(bytes);
  return CudaError::success;
}

}  // namespace

CudaError resolveCluster(const Kernel& kernel, const LaunchShape& shape, std::uint32_t* packed) {
  const std::uint32_t kept = kernel.cluster.load(std::memory_order_relaxed);
  const ClusterShape own = ClusterShape::unpack(kept), asked = shape.cluster;
  if (kernel.clusterIsCompiled && !asked.none() && asked != own) return CudaError::invalidClusterSize;
  const ClusterShape cluster = asked.none() ? own : asked;
  *packed = 0;
  if (cluster.none()) return kernel.clusterMustBeSet ? CudaError::invalidClusterSize : CudaError::success;
  const std::uint32_t most = kernel.mayExceedPortableClusters.load(std::memory_order_relaxed) ? kMostClusterBlocks : kPortableClusterBlocks;
  if (!cluster.valid() || cluster.blocks() > most || !cluster.divides(shape.grid.x, shape.grid.y, shape.grid.z)) return CudaError::invalidClusterSize;
  *packed = cluster.packed();
  return CudaError::success;
}

CudaError checkLaunch(const Kernel& kernel, const LaunchShape& shape, std::uint32_t* cluster) { return check(kernel, shape, cluster); }

CudaError launch(Stream& stream, const Kernel& kernel, const LaunchShape& shape, const void* const* arguments) {
  const std::size_t count = kernel.parameters.size();
  if (count != 0) {
    if (arguments == nullptr) [[unlikely]]
      return CudaError::invalidValue;
    for (std::size_t i = 0; i < count; ++i) {
      if (arguments[i] == nullptr) [[unlikely]]
        return CudaError::invalidValue;
    }
  }
  return enqueue(stream, kernel, shape, [&](std::byte* block) {
    const Parameter* parameter = kernel.parameters.data();
    for (std::size_t i = 0; i < count; ++i) put(block + parameter[i].offset, arguments[i], parameter[i].bytes);
  });
}

CudaError launchPacked(Stream& stream, const Kernel& kernel, const LaunchShape& shape,
                       std::span<const std::byte> block) {
  if (block.size() < kernel.parameterBytes) return CudaError::invalidValue;
  return enqueue(stream, kernel, shape, [&](std::byte* at) {
    if (kernel.parameterBytes != 0) std::memcpy(at, block.data(), kernel.parameterBytes);
  });
}

}  // namespace rouse::client
