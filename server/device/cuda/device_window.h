// A function's device window: addresses reserved with the driver, granules mapped into them.
//
// cuMemMap takes effect at once; access, which costs far more a call, is granted to neighbouring granules together,
// before the next work is queued (settle).
//
// Locked, all of it.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "server/device/cuda/physical_memory.h"

namespace rouse::cuda {

class DeviceWindow {
 public:
  static Result<std::unique_ptr<DeviceWindow>> reserve(std::shared_ptr<Gpu> gpu, PhysicalMemory& memory,
                                                       AddressRange range);
  ~DeviceWindow();

  Status map(std::uint64_t address, memory::Chunk chunk);
  // The chunk will be overwritten whole: what it holds now does not matter.
  Status mapOver(std::uint64_t address, memory::Chunk chunk);
  Status unmap(AddressRange range);

  AddressRange range() const { return range_; }
  // The first granule of the range that nothing is mapped at; its end: none.
  std::uint64_t firstUnmapped(AddressRange granules) const;
  bool unsettled() const { return !fresh_.empty(); }
  // Grants access to what has been mapped since; calls zero(range) for each range of it that may hold another's bytes.
  Status settle(const std::function<Status(AddressRange)>& zero);

 private:
  DeviceWindow(std::shared_ptr<Gpu> gpu, PhysicalMemory& memory, AddressRange range)
      : gpu_(std::move(gpu)), memory_(memory), range_(range) {}
  Status check(AddressRange range) const;

  std::shared_ptr<Gpu> gpu_;
  PhysicalMemory& memory_;
  AddressRange range_;
  std::map<std::uint64_t, memory::Chunk> mapped_;
  std::map<std::uint64_t, memory::Chunk> fresh_;  // of them: without access yet
};

}  // namespace rouse::cuda
