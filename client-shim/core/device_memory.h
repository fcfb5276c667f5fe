// Device memory of one virtual device: addresses are given out here, physical memory is asked for in large steps.
//
// Small blocks share granules. A freed range is given out again only behind a Fence, sent at that moment and only if no
// synchronisation of the device came between.
#pragma once

#include <cstdint>

#include "client-shim/core/allocation.h"
#include "schemas/base/cuda_error.h"

namespace rouse::client {

class Device;

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  // cudaMalloc: aligned to kAllocationUnit, at least `bytes` long. bytes 0: success and address 0. memoryAllocation at once when
  // the limit or the GPU is exhausted. At most one round trip, mostly none. `alignment`: a power of two up to
  // kGranuleBytes.
  virtual CudaError allocate(std::uint64_t bytes, std::uint64_t* address, std::uint64_t alignment = kAllocationUnit) = 0;

  // cudaFree. address 0: success. invalidValue unless `address` is the base of an allocation of the program. Does not
  // wait for the device.
  virtual CudaError release(std::uint64_t address) = 0;

  // The allocation that contains the address.
  virtual bool find(std::uint64_t address, Allocation* found) const = 0;
};

}  // namespace rouse::client
