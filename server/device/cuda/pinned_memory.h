// Memory of this process that the GPU reads and writes: anonymous pages, registered with the driver once.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "server/device/cuda/gpu.h"

namespace rouse::cuda {

// Pins [address, address + bytes) and checks that the GPU uses it at the same address. Locked.
Status registerHost(Gpu& gpu, void* address, std::uint64_t bytes, const std::string& what);
// Waits for all kernels that run. Locked.
void unregisterHost(Gpu& gpu, void* address);
// The same, later and by nobody who waits; then `after`, which must not take the GPU's lock.
std::shared_ptr<SideCalls::Call> unregisterLater(Gpu& gpu, void* address, std::function<void()> after);

class PinnedMemory {
 public:
  // Zeroed. Locked, as is the destructor: the pages are there until the driver has let them go.
  static Result<std::unique_ptr<PinnedMemory>> create(std::shared_ptr<Gpu> gpu, std::uint64_t bytes,
                                                      const std::string& what);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;

  std::byte* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  PinnedMemory(std::shared_ptr<Gpu> gpu, std::byte* data, std::uint64_t bytes)
      : gpu_(std::move(gpu)), data_(data), bytes_(bytes) {}

  std::shared_ptr<Gpu> gpu_;
  std::byte* data_;
  std::uint64_t bytes_;
  bool registered_ = false;
};

}  // namespace rouse::cuda
