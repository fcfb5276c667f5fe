// Host memory that executors see at the same address: pinned and managed memory from the host window behind its
// staging, and the program's own pages put onto it (registered). Portable: every device of the process may use it.
#pragma once

#include <cstdint>

#include "client-shim/core/allocation.h"
#include "schemas/base/cuda_error.h"

namespace rouse::client {

class HostMemory {
 public:
  virtual ~HostMemory() = default;

  // kind: pinned or managed. Aligned to kAllocationUnit; bytes 0 is invalidValue for managed, success and null for
  // pinned. `deviceIndex`: the device that is current, for attributes only.
  virtual CudaError allocate(std::uint64_t bytes, MemoryKind kind, std::uint32_t flags, std::uint32_t deviceIndex,
                             void** address) = 0;
  // The base of a pinned or managed allocation, else invalidValue. Null: success. Does not wait for the device: the
  // range rests until the work queued before is done.
  virtual CudaError release(void* address) = 0;

  // cudaHostRegister. The pages of [address, address + bytes) are replaced, content kept, by pages of the host window,
  // as a whole: also the parts of the first and last page that lie outside. A write by another thread to one of these
  // pages while this call runs may be lost; CUDA programs do not use a buffer while they register it, but its
  // neighbours on the edge pages might: align such buffers to pages. Only private mappings can be replaced
  // (notSupported otherwise); unmapped memory is invalidValue; overlap with a registered range is
  // kHostMemoryAlreadyRegistered.
  virtual CudaError registerRange(void* address, std::uint64_t bytes, std::uint32_t flags,
                                  std::uint32_t deviceIndex) = 0;
  // Waits for the work queued before; then gives the program private pages with the same content.
  // kHostMemoryNotRegistered unless `address` is the base of a registered range.
  virtual CudaError unregisterRange(void* address) = 0;

  // The allocation that contains the address.
  virtual bool find(std::uint64_t address, Allocation* found) const = 0;
};

}  // namespace rouse::client
