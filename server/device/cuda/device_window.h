// A function's device window: addresses reserved with the driver, allocations mapped into them.
//
// Chunks with consecutive numbers that are mapped one behind the other are one allocation, as far as they can be (allocation_plan.h). cuMemMap takes effect at
// once; access is granted to neighbours together, before the next work is queued (settle).
//
// Locked, all of it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>

#include "server/device/cuda/physical_memory.h"

namespace rouse::cuda {

class DeviceWindow {
 public:
  static Result<std::unique_ptr<DeviceWindow>> reserve(std::shared_ptr<Gpu> gpu, PhysicalMemory& memory,
                                                       AddressRange range);
  ~DeviceWindow();

  // Of several, those before the one that fails are mapped.
  Status map(std::uint64_t address, std::span<const memory::Chunk> chunks);
  // The chunks will be overwritten whole: what they hold now does not matter.
  Status mapOver(std::uint64_t address, std::span<const memory::Chunk> chunks);
  // What is mapped in part by an allocation of the range moves to others, at its address: nobody may be using it, and it has a moment to wait for.
  Status unmap(AddressRange range);

  // Whether that chunk is mapped there, by mapOver() or long since.
  bool hasOver(std::uint64_t address, memory::Chunk chunk) const;
  // The range, granules of which are mapped, and what else its allocations are mapped at.
  AddressRange together(AddressRange range) const;

  AddressRange range() const { return range_; }
  // The first granule of the range that nothing is mapped at; its end: none.
  std::uint64_t firstUnmapped(AddressRange granules) const;
  bool unsettled() const { return !fresh_.empty(); }
  // Grants access to what has been mapped since; calls zero(range) for each range of it that may hold another's bytes.
  Status settle(const std::function<Status(AddressRange)>& zero);
  // To the mappings of this range alone, of chunks that are to be overwritten whole.
  Status settle(AddressRange overwritten);

 private:
  DeviceWindow(std::shared_ptr<Gpu> gpu, PhysicalMemory& memory, AddressRange range)
      : gpu_(std::move(gpu)), memory_(memory), range_(range) {}
  using Mappings = std::map<std::uint64_t, memory::Extent>;  // by address: of chunks, which are one allocation
  Status check(AddressRange range) const;
  Status mapRun(std::uint64_t address, memory::Extent chunks);
  Status grant(AddressRange mapped);
  // The one that is mapped there, or the end.
  Mappings::const_iterator find(std::uint64_t address) const;
  // So that what is mapped of it in the range is unmapped, and the rest by allocations of its own.
  Status cut(Mappings::const_iterator mapping, AddressRange range);
  struct Part;
  // Copies what stays of the mapping into what has begun for it.
  Status fill(const PhysicalMemory::Cut& cut, const Part& part);

  std::shared_ptr<Gpu> gpu_;
  PhysicalMemory& memory_;
  AddressRange range_;
  Mappings mapped_;
  Mappings fresh_;  // of them: without access yet
};

}  // namespace rouse::cuda
