// Device memory, behind DeviceMemory: which addresses are whose, which granules are backed, and how much physical
// memory is reserved.
//
//   reserved >= mapped + held, mapped >= occupied       (bytes; mapped, held and occupied in whole granules)
//
// What is held has been promised to somebody who has not said yet where it is to lie (VirtualMemory).
//
// Granules that no allocation touches any more stay mapped up to a point (hysteresis), so that a program that frees and
// allocates in a loop sends nothing but Fences.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "client-shim/core/address_hold.h"
#include "client-shim/core/allocation.h"
#include "client-shim/core/device_memory.h"
#include "client-shim/core/range_allocator.h"

namespace rouse::client {

class Device;

class DeviceHeap final : public DeviceMemory {
 public:
  explicit DeviceHeap(Device& device);
  ~DeviceHeap() override;

  CudaError allocate(std::uint64_t bytes, std::uint64_t* address, std::uint64_t alignment) override;
  CudaError release(std::uint64_t address) override;
  bool find(std::uint64_t address, Allocation* found) const override;

  // For variables and pools: `tags` gives everything but the range. Pools are not asked to give memory back.
  CudaError allocateFor(const Allocation& tags, std::uint64_t bytes, std::uint64_t alignment, std::uint64_t* address);
  // A variable that the device has placed: known here from now on, backed by nothing of ours. Ended by releaseFor().
  // invalidValue: the process has memory of its own at these addresses.
  CudaError adopt(const Allocation& tags, AddressRange range);
  // Memory of another process, as adopt(); mapBufferObjectFailed where that says invalidValue.
  CudaError adoptShared(AddressRange range);
  // Something outside the window is known here.
  bool adopts() const { return adopts_.load(std::memory_order_relaxed); }
  // What commands before this say of granules has been done, or the device is lost.
  void settleMappings();
  // All bytes that were taken for the block at this address.
  AddressRange blockAt(std::uint64_t address) const;
  // Releasing it asks first whether others have it (Interprocess).
  void markExported(std::uint64_t address);
  // The program has freed it, and others have it: nothing is found there any more, and the memory stays.
  void retire(std::uint64_t address);
  // Whatever the owner.
  CudaError releaseFor(std::uint64_t address);
  // A pooled block that is given out again or rests in its pool (then nothing is found at its address).
  void retag(std::uint64_t address, std::uint64_t bytes, std::uint64_t stream, bool resting);

  // --- For VirtualMemory: addresses and memory apart. Ranges and sizes are of whole granules.
  // Addresses that nothing else is given, and nothing is mapped at; at `hint` if that is free. memoryAllocation: the window has none left.
  CudaError reserveAddresses(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t hint, AddressRange* range);
  void giveAddresses(AddressRange range);
  // Physical memory, as allocate() gets it, without addresses.
  CudaError hold(std::uint64_t bytes);
  void letGo(std::uint64_t bytes);
  // What is held becomes mapped at reserved addresses where nothing is, zeroed; and is held again, its content gone.
  void mapHeld(AddressRange range);
  void unmapHeld(AddressRange range);

  struct Usage {
    // occupiedBytes counts what is held.
    std::uint64_t occupiedBytes = 0, mappedBytes = 0, reservedBytes = 0;
  };
  Usage usage() const;
  // Waits, if it must, until what was given back is counted as free by the executor.
  void settleReturns();

  // Everything freed up to an epoch may be used again without a Fence: all work queued before has been waited for.
  std::uint64_t epoch() const { return epoch_.load(std::memory_order_acquire); }
  void settle(std::uint64_t epoch);

  // What the program has not freed; nothing that is not its own to free.
  std::vector<Allocation> live() const;

  // After a reset, under lock(): nothing is allocated, mapped or reserved.
  std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
  void forgetEverything();

 private:
  struct Block {
    Allocation allocation;
    std::uint64_t occupiedBytes = 0;  // rounded to the unit
    bool resting = false;
    bool adopted = false;
    bool exported = false;
  };
  struct Granules {
    std::uint64_t first, end;
  };
  Granules granulesOf(AddressRange range) const;
  std::uint64_t addressOf(std::uint64_t granule) const { return window_.base + granule * kGranuleBytes; }

  // What the executor knows a block as.
  AddressRange toldOf(const Block& block) const;
  // Addresses that may be given out again; where accesses are checked not at once, so that what still uses them is found.
  void giveSpace(AddressRange range);

  // From the window's free addresses, also those that are withheld.
  template <class Take>
  std::optional<RangeAllocator::Taken> takeSpace(Take&& take);
  void fence(std::uint64_t epoch);
  CudaError tryHold(std::uint64_t granules);
  CudaError back(AddressRange range);
  void occupy(Granules granules);
  void vacate(Granules granules);
  bool reserveMore(std::uint64_t shortBytes);
  bool ask(std::uint64_t bytes);
  void mapMissing(Granules granules);
  std::uint64_t unmapIdle(std::uint64_t bytes);
  void shrink();

  Device& device_;
  const AddressRange window_;
  mutable std::mutex mutex_;
  RangeAllocator space_;
  std::map<std::uint64_t, Block> blocks_;
  AddressHold adopted_;
  AddressHold shared_{kGranuleBytes};  // of other processes, whose windows are of whole granules
  std::atomic<bool> adopts_{false};
  struct Free {
    void operator()(std::uint32_t* array) const { std::free(array); }
  };
  std::unique_ptr<std::uint32_t[], Free> users_;  // allocations that touch a granule
  std::vector<bool> isMapped_;
  std::set<std::uint64_t> idle_;  // mapped, no users
  std::uint64_t occupiedGranules_ = 0, mappedGranules_ = 0, heldGranules_ = 0, reservedBytes_ = 0;
  bool returning_ = false;  // something given back may not be counted yet
  struct Freed {
    AddressRange range;
    std::uint64_t epoch;
  };
  std::deque<Freed> withheld_;  // giveSpace()
  std::uint64_t withheldBytes_ = 0;
  std::atomic<std::uint64_t> epoch_{0};  // counts releases
  std::uint64_t settled_ = 0;            // epochs up to this one need no Fence
  std::uint32_t replySlot_ = 0;
  std::uint64_t replyValue_ = 0;
};

}  // namespace rouse::client
