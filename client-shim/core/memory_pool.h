// Stream-ordered allocation (CUDA Programming Guide, "Stream Ordered Memory Allocator"). A block freed on a stream may
// be allocated again on it at once; on other streams once the free is known to have been reached there. Unused blocks
// above the release threshold go back to the device's memory at synchronisations.
#pragma once

#include <cstdint>

#include "schemas/base/cuda_error.h"

namespace rouse::client {

class Device;
class Stream;

struct PoolUsage {
  std::uint64_t reservedBytes = 0, reservedHighBytes = 0;  // held by the pool, in use or not
  std::uint64_t usedBytes = 0, usedHighBytes = 0;
};

// cudaMemPoolReuse*: kept for the program, all honoured in the sense that reuse is never less safe than asked for.
struct PoolReuse {
  bool followEventDependencies = true;
  bool allowOpportunistic = true;
  bool allowInternalDependencies = true;
};

class MemoryPool {
 public:
  virtual ~MemoryPool() = default;
  virtual Device& device() const = 0;
  virtual std::uint64_t handle() const = 0;

  // cudaMallocFromPoolAsync on a stream of the pool's device. bytes 0: success and address 0.
  virtual CudaError allocate(std::uint64_t bytes, Stream& stream, std::uint64_t* address) = 0;

  virtual std::uint64_t releaseThreshold() const = 0;
  virtual void setReleaseThreshold(std::uint64_t bytes) = 0;
  virtual PoolReuse reuse() const = 0;
  virtual void setReuse(const PoolReuse& reuse) = 0;
  virtual PoolUsage usage() const = 0;
  virtual void resetReservedHigh() = 0;
  virtual void resetUsedHigh() = 0;
  // Gives unused memory back until at most `keepBytes` are held.
  virtual CudaError trimTo(std::uint64_t keepBytes) = 0;
};

// Most bytes the pool may hold; 0: no limit of its own.
CudaError createPool(Device& device, std::uint64_t maxBytes, MemoryPool** pool);
// Blocks still in use stay valid, as CUDA says; the pool ends with the last of them. invalidValue for a default pool.
// Where it was the device's current pool, the default one becomes current.
CudaError destroyPool(MemoryPool& pool);

// cudaFreeAsync: the base of a pooled block or of ordinary device memory; null is invalidValue.
CudaError releaseAsync(std::uint64_t address, Stream& stream);

}  // namespace rouse::client
