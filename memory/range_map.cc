#include "memory/range_map.h"

namespace rouse::memory {

bool RangeMap::overlaps(AddressRange range) const {
  const auto next = ends_.lower_bound(range.base);
  if (next != ends_.end() && next->first < range.end()) return true;
  return next != ends_.begin() && std::prev(next)->second > range.base;
}

bool RangeMap::insert(AddressRange range) {
  if (range.empty() || range.end() < range.base || overlaps(range)) return false;
  ends_.emplace(range.base, range.end());
  bytes_ += range.bytes;
  return true;
}

bool RangeMap::erase(AddressRange range) {
  const auto entry = ends_.find(range.base);
  if (entry == ends_.end() || entry->second != range.end()) return false;
  ends_.erase(entry);
  bytes_ -= range.bytes;
  if (last_.overlaps(range)) last_ = {};
  return true;
}

void RangeMap::clear() {
  ends_.clear();
  bytes_ = 0;
  last_ = {};
}

bool RangeMap::find(std::uint64_t address, std::uint64_t bytes) const {
  const std::uint64_t end = address + bytes;
  if (end < address) return false;
  auto entry = ends_.upper_bound(address);
  if (entry == ends_.begin()) return false;
  --entry;
  const std::uint64_t base = entry->first;
  std::uint64_t covered = entry->second;
  if (covered <= address) return false;
  while (covered < end) {
    if (++entry == ends_.end() || entry->first != covered) return false;
    covered = entry->second;
  }
  last_ = {base, covered - base};
  return true;
}

AddressRange RangeMap::at(std::uint64_t address) const {
  auto after = ends_.upper_bound(address);
  if (after == ends_.begin()) return {};
  --after;
  return address < after->second ? AddressRange{after->first, after->second - after->first} : AddressRange{};
}

}  // namespace rouse::memory
