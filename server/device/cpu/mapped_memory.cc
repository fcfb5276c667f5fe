#include "server/device/cpu/mapped_memory.h"

namespace rouse::cpu {

bool MappedRanges::contains(AddressRange range) const {
  if (range.bytes == 0 || range.end() < range.base) return false;
  const std::lock_guard lock(mutex_);
  if (host_.contains(range.base, range.bytes) || other_.contains(range.base, range.bytes)) return true;
  for (std::uint64_t at = roundDown(range.base, kGranuleBytes); at < range.end(); at += kGranuleBytes)
    if (!granules_.contains(at)) return false;
  return true;
}

}  // namespace rouse::cpu
