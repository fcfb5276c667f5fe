// What one context has mapped: changed by the executor's thread, asked by workers about addresses that they have read from memory.
#pragma once

#include <mutex>
#include <unordered_set>

#include "memory/range_map.h"
#include "schemas/base/range.h"
#include "server/library/job.h"

namespace rouse::cpu {

class MappedRanges final : public library::MappedMemory {
 public:
  // Granules of the device window. True: it was not there.
  bool insert(std::uint64_t granule) {
    const std::lock_guard lock(mutex_);
    return granules_.insert(granule).second;
  }
  void erase(std::uint64_t granule) {
    const std::lock_guard lock(mutex_);
    granules_.erase(granule);
  }
  bool holds(std::uint64_t granule) const {
    const std::lock_guard lock(mutex_);
    return granules_.contains(granule);
  }
  void insertHost(AddressRange range) {
    const std::lock_guard lock(mutex_);
    host_.insert(range);
  }
  void eraseHost(AddressRange range) {
    const std::lock_guard lock(mutex_);
    host_.erase(range);
  }

  // Of other contexts.
  void insertOther(AddressRange range) {
    const std::lock_guard lock(mutex_);
    other_.insert(range);
  }
  void eraseOther(AddressRange range) {
    const std::lock_guard lock(mutex_);
    other_.erase(range);
  }

  bool contains(AddressRange range) const override;

 private:
  mutable std::mutex mutex_;
  std::unordered_set<std::uint64_t> granules_;
  memory::RangeMap host_, other_;
};

}  // namespace rouse::cpu
