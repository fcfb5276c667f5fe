// Device memory that libraries work in, made when a handle first needs it: of what stays free beside the programs' (physical_memory.cc). It moves with
// nobody and is in nobody's account.
#pragma once

#include "server/device/cuda/driver/load.h"
#include "server/library/cuda/real_libraries.h"

namespace rouse::cuda {

// The driver outlives it; the context is current when it is used. Bytes are made whole granules.
class LibraryMemory final : public library::cuda::WorkMemory {
 public:
  LibraryMemory(const Driver& driver, CUdevice device) : driver_(driver), device_(device) {}
  Result<std::uint64_t> take(std::uint64_t bytes) override;
  void give(std::uint64_t address, std::uint64_t bytes) override;
  Status copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes, CUstream stream) override;

 private:
  const Driver& driver_;
  const CUdevice device_;
};

}  // namespace rouse::cuda
