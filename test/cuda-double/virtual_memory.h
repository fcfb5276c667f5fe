// The books of cuMemAddressReserve, cuMemCreate, cuMemMap and cuMemSetAccess. Memory is mapped into the CPU device's
// window, and so readable by anybody, only while it is accessible: a kernel that strays faults, as on a GPU.
#pragma once

#include <cuda.h>

#include <map>
#include <memory>
#include <mutex>

#include "memory/device.h"
#include "test/cuda-double/gpu.h"
#include "test/cuda-double/handle_table.h"

namespace rouse::cuda_double {

// What cuMemCreate made: lives while its handle or a mapping of it does.
class Physical {
 public:
  Physical(Gpu& gpu, std::vector<memory::Chunk> chunks) : gpu(gpu), chunks(std::move(chunks)) {}
  ~Physical() { gpu.giveBack(chunks); }
  std::uint64_t bytes() const { return chunks.size() * kGranuleBytes; }
  Gpu& gpu;
  const std::vector<memory::Chunk> chunks;
};

// Any thread.
class VirtualMemory {
 public:
  CUresult reserve(Gpu& gpu, CUdeviceptr* address, std::uint64_t bytes, std::uint64_t alignment, CUdeviceptr hint);
  CUresult free(AddressRange range);
  CUresult create(Gpu& gpu, CUmemGenericAllocationHandle* handle, std::uint64_t bytes);
  CUresult release(CUmemGenericAllocationHandle handle);
  CUresult map(AddressRange range, CUmemGenericAllocationHandle handle);
  CUresult unmap(AddressRange range);
  CUresult setAccess(AddressRange range, int ordinal, bool accessible);

  // Memory for a module's variables, which callers can neither unmap nor free. 0: there is none.
  CUdeviceptr allocateForModule(Gpu& gpu, std::uint64_t bytes);
  void freeForModule(CUdeviceptr base);

  enum class Place { none, reserved, mapped, accessible };
  // The least that holds of every byte of the range.
  Place placeOf(AddressRange range);
  // Violations for what is left of a device when its context goes.
  void reportLeaks(const Gpu& gpu);

 private:
  struct Mapping {
    std::uint64_t bytes;
    std::shared_ptr<Physical> physical;
    bool accessible = false;
  };
  struct Reservation {
    Gpu* gpu;
    AddressRange range;
    std::unique_ptr<memory::ContextObserver> observer;
    std::unique_ptr<memory::Context> window;
    bool ofModule = false;
    std::map<std::uint64_t, Mapping> mappings;
  };
  Reservation* find(std::uint64_t address);
  Reservation* within(AddressRange range, const char* what);
  Result<Reservation*> reserveAt(Gpu& gpu, AddressRange range);
  Result<Reservation*> reserveAnywhere(Gpu& gpu, std::uint64_t bytes, std::uint64_t alignment);
  bool wholeMappings(Reservation& reservation, AddressRange range);
  Status expose(Reservation& reservation, std::uint64_t base, Mapping& mapping, bool accessible);
  void drop(std::uint64_t base);

  std::mutex mutex_;
  std::map<std::uint64_t, std::unique_ptr<Reservation>> reservations_;
  HandleTable<CUmemGenericAllocationHandle, Physical, HandleKind::memory> handles_;
};

}  // namespace rouse::cuda_double
