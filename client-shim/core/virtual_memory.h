// The driver's virtual memory management on one virtual device: addresses that a program reserves, memory that it creates apart from them, and the
// mappings that bring the two together.
//
// Memory that has been created is held (DeviceHeap::hold) until it is first mapped, so that cuMemCreate tells exactly what there is. Mapped, it is backed
// like any other memory, at the address that the program chose. When it is unmapped while it has a handle its content stays where it is, and nobody
// finds it there, until the memory is mapped again: at the same address there is nothing to do. Only where it is wanted elsewhere, or its address is
// wanted for something else, it moves: through page-locked memory, since there may be none left on the device to copy to.
//
// The executor knows a reservation as one object (wire::Allocated): mappings side by side are one array to kernels. Where accesses are checked it
// knows each mapping instead.
//
// Sizes and addresses are multiples of kGranuleBytes where nothing else is said. Threads: any. What is refused has changed nothing.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "client-shim/core/allocation.h"
#include "schemas/base/cuda_error.h"
#include "schemas/base/range.h"

namespace rouse::client {

class Device;
class Stream;

class VirtualMemory {
 public:
  explicit VirtualMemory(Device& device) : device_(device) {}
  VirtualMemory(const VirtualMemory&) = delete;

  // At `hint`, if that is free. Bytes: any but 0; `alignment`: a power of two. memoryAllocation: the device's window has no such range left.
  CudaError reserve(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t hint, std::uint64_t* address);
  // Exactly what reserve() gave; invalidValue otherwise, and while anything is mapped in it.
  CudaError release(AddressRange reservation);

  // memoryAllocation exactly where cudaMalloc would say it. `note` is the caller's own. The handle is unique in the process.
  CudaError create(std::uint64_t bytes, std::uint64_t note, std::uint64_t* handle);
  // Ends one reference; without any, the memory ends with its mapping. invalidValue: no such handle.
  CudaError drop(std::uint64_t handle);
  // One more reference to what is mapped there.
  CudaError retain(std::uint64_t address, std::uint64_t* handle);
  bool holds(std::uint64_t handle) const;
  bool noteOf(std::uint64_t handle, std::uint64_t* note) const;

  // The memory's first bytes, up to all. What it has not held before is zero. invalidValue: no such handle, longer than the memory, not wholly in one
  // reservation, or not free there. notSupported: it is mapped already. memoryAllocation: there is no page-locked memory to move it through.
  CudaError map(AddressRange range, std::uint64_t handle);
  // invalidValue: not exactly one mapping, or several side by side. Does not wait; what frees memory does so behind all work queued before.
  CudaError unmap(AddressRange range);

  // As the program says it; nothing enforces it. Of whole mappings, side by side; invalidValue otherwise. Null: the range is checked, and no more.
  CudaError setAccess(AddressRange range, const std::uint32_t* access);

  struct Mapping {
    AddressRange range, reservation;  // the latter as it was asked for
    std::uint64_t handle = 0, bufferId = 0;
    std::uint32_t access = 0;
  };
  bool mappingAt(std::uint64_t address, Mapping* found) const;
  // As an allocation: all that is mapped around the address without a gap, within its reservation.
  bool find(std::uint64_t address, Allocation* found) const;

  // Memory that has not been dropped, or is mapped still; at address 0 what has never been mapped.
  std::vector<Allocation> live() const;

  // After a reset, under lock(): no reservation, no memory, no mapping.
  std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
  void forgetEverything();

 private:
  struct Reservation {
    AddressRange range;           // whole granules
    std::uint64_t bytes = 0;      // as asked for
    std::uint64_t residents = 0;  // granules of memory that lie in it
    bool released = false;        // by the program: it ends with the last of these
  };
  struct Memory {
    std::uint64_t bytes = 0, note = 0;
    std::uint64_t references = 1;
    bool mapped = false;
    std::vector<std::uint64_t> places;  // where its granules lie; 0: held, and never mapped
  };
  struct Resident {
    std::uint64_t handle;
    std::size_t granule;  // of the memory
  };
  struct Move {
    std::uint64_t from, to, bytes;
  };
  using Reservations = std::map<std::uint64_t, Reservation>;

  CudaError reserveLocked(std::uint64_t bytes, std::uint64_t asked, std::uint64_t alignment, std::uint64_t hint, Reservations::iterator* made);
  void endIfEmpty(Reservations::iterator reservation);
  Reservations::iterator reservationAt(std::uint64_t address);
  // One mapping, or several side by side.
  bool coveredExactly(AddressRange range) const;
  void place(std::uint64_t handle, Memory& memory, std::size_t granule, std::uint64_t address);
  void unplace(std::uint64_t address);
  void forget(std::uint64_t handle);
  CudaError moveIn(AddressRange range, std::uint64_t handle, Memory& memory);
  void move(const std::vector<Move>& moves, Stream& stream, std::uint64_t buffer, std::uint64_t bufferBytes);
  void joinRun(AddressRange range, AddressRange reservation);
  void cutRun(AddressRange range);
  bool tellsMappings() const;

  Device& device_;
  mutable std::mutex mutex_;
  Reservations reservations_;                              // by base
  std::map<std::uint64_t, Memory> memories_;               // by handle
  std::map<std::uint64_t, Mapping> mappings_;              // by base
  std::map<std::uint64_t, std::uint64_t> runs_;            // of mappings without a gap, each in one reservation: base -> end
  std::unordered_map<std::uint64_t, Resident> residents_;  // by address
};

}  // namespace rouse::client
