// One simulated GPU: a CPU device, its chunks, and its primary context.
#pragma once

#include <cuda.h>

#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "memory/device.h"

namespace rouse::cuda_double {

class Gpu {
 public:
  // `memoryBytes` is what callers see; modules' variables lie in memory beside it.
  static Result<std::unique_ptr<Gpu>> open(int ordinal, std::uint64_t memoryBytes);

  const int ordinal;
  const std::uint64_t memoryBytes;
  const std::unique_ptr<memory::Device> device;
  // A memory::Device and its contexts are one thread's: held around every call but load(). A leaf, but for the device's
  // own locks.
  std::mutex deviceMutex;

  // Consecutive ones where there are such. Empty when there is not enough. Any thread.
  std::vector<memory::Chunk> take(std::uint64_t bytes);
  std::vector<memory::Chunk> takeForModules(std::uint64_t bytes);
  void giveBack(const std::vector<memory::Chunk>& chunks);
  std::uint64_t freeBytes();
  int attribute(int number) const;

  // Under the lock of State::contextMutex.
  int retained = 0;
  unsigned flags = 0;
  CUcontext primary = nullptr;

 private:
  Gpu(int ordinal, std::uint64_t memoryBytes, std::unique_ptr<memory::Device> device);
  std::uint64_t freeLocked() const;

  std::mutex chunksMutex_;
  std::set<std::uint32_t> free_;  // ids
  std::vector<memory::Chunk> modules_;
  std::uint32_t firstOfModules_ = 0;
};

}  // namespace rouse::cuda_double
