// The books of cuMemAddressReserve, cuMemCreate, cuMemMap and cuMemSetAccess. Memory is mapped into the CPU device's
// window, and so readable by anybody, only while it is accessible: a kernel that strays faults, as on a GPU.
#pragma once

#include <cuda.h>

#include <map>
#include <memory>
#include <mutex>

#include "memory/device.h"
#include "schemas/wire/owned_fd.h"
#include "test/cuda-double/gpu.h"
#include "test/cuda-double/handle_table.h"

namespace rouse::cuda_double {

// What cuMemCreate made, or a process elsewhere: lives while its handle or a mapping of it does.
class Physical {
 public:
  Physical(Gpu& gpu, std::vector<memory::Chunk> chunks, bool shareable) : gpu(gpu), chunks(std::move(chunks)), shareable(shareable) {}
  // Imported: a part of another's file, which can only be read.
  Physical(Gpu& gpu, wire::OwnedFd file, AddressRange part) : gpu(gpu), file(std::move(file)), part(part) {}
  ~Physical() { gpu.giveBack(chunks); }
  bool imported() const { return chunks.empty(); }
  std::uint64_t bytes() const { return imported() ? part.bytes : chunks.size() * kGranuleBytes; }
  Gpu& gpu;  // of the one who imported it
  const std::vector<memory::Chunk> chunks;
  const bool shareable = false;
  const wire::OwnedFd file;
  const AddressRange part;
};

// Any thread.
class VirtualMemory {
 public:
  CUresult reserve(Gpu& gpu, CUdeviceptr* address, std::uint64_t bytes, std::uint64_t alignment, CUdeviceptr hint);
  CUresult free(AddressRange range);
  CUresult create(Gpu& gpu, CUmemGenericAllocationHandle* handle, std::uint64_t bytes, bool shareable);
  // A descriptor for the caller, whose position says which granules of the device's memory it stands for: the first one's offset, and in its lowest bits how many
  // follow.
  CUresult share(CUmemGenericAllocationHandle handle, int* descriptor);
  CUresult import(Gpu& gpu, CUmemGenericAllocationHandle* handle, int descriptor);
  CUresult release(CUmemGenericAllocationHandle handle);
  CUresult map(AddressRange range, CUmemGenericAllocationHandle handle);
  CUresult unmap(AddressRange range);
  enum class Access { none, read, readWrite };
  CUresult setAccess(AddressRange range, int ordinal, Access access);

  // Memory for a module's variables, which callers can neither unmap nor free. 0: there is none.
  CUdeviceptr allocateForModule(Gpu& gpu, std::uint64_t bytes);
  void freeForModule(CUdeviceptr base);

  enum class Place { none, reserved, mapped, readable, accessible };
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
