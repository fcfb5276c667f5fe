#include "client-shim/core/range_allocator.h"

#include <algorithm>

namespace rouse::client {

RangeAllocator::RangeAllocator(AddressRange whole, std::uint64_t unit) : unit_(unit) {
  if (!whole.empty()) insert(whole.base, {whole.bytes, 0});
}

void RangeAllocator::insert(std::uint64_t base, Hole hole) {
  byBase_.emplace(base, hole);
  bySize_.emplace(hole.bytes, base);
  freeBytes_ += hole.bytes;
}

void RangeAllocator::erase(ByBase::iterator hole) {
  freeBytes_ -= hole->second.bytes;
  bySize_.erase({hole->second.bytes, hole->first});
  byBase_.erase(hole);
}

RangeAllocator::ByBase::iterator RangeAllocator::find(std::uint64_t bytes, std::uint64_t alignment) {
  auto fits = [&](std::uint64_t base, std::uint64_t size) {
    const std::uint64_t skipped = roundUp(base, alignment) - base;
    return skipped <= size && size - skipped >= bytes;
  };
  auto candidate = bySize_.lower_bound({bytes, 0});
  // The smallest holes first; most have the alignment, or are so many that one that is sure to fit is as good.
  for (int tries = 0; candidate != bySize_.end() && tries < 16; ++candidate, ++tries) {
    if (fits(candidate->second, candidate->first)) return byBase_.find(candidate->second);
  }
  if (candidate == bySize_.end()) return byBase_.end();
  const auto sure = bySize_.lower_bound({bytes + alignment - unit_, 0});
  if (sure != bySize_.end()) return byBase_.find(sure->second);
  for (; candidate != bySize_.end(); ++candidate) {
    if (fits(candidate->second, candidate->first)) return byBase_.find(candidate->second);
  }
  return byBase_.end();
}

std::optional<RangeAllocator::Taken> RangeAllocator::take(std::uint64_t bytes, std::uint64_t alignment) {
  if (bytes > freeBytes_) return std::nullopt;
  bytes = roundUp(bytes, unit_);
  alignment = std::max(alignment, unit_);
  const auto found = find(bytes, alignment);
  if (found == byBase_.end()) return std::nullopt;

  return cut(found, {roundUp(found->first, alignment), bytes});
}

std::optional<RangeAllocator::Taken> RangeAllocator::takeAt(AddressRange range) {
  if (range.empty() || !isAligned(range.base, unit_) || !isAligned(range.bytes, unit_)) return std::nullopt;
  auto hole = byBase_.upper_bound(range.base);
  if (hole == byBase_.begin()) return std::nullopt;
  --hole;
  if (!AddressRange{hole->first, hole->second.bytes}.contains(range)) return std::nullopt;
  return cut(hole, range);
}

RangeAllocator::Taken RangeAllocator::cut(ByBase::iterator found, AddressRange wanted) {
  const std::uint64_t holeBase = found->first;
  const Hole hole = found->second;
  erase(found);
  if (wanted.base != holeBase) insert(holeBase, {wanted.base - holeBase, hole.epoch});
  if (wanted.end() != holeBase + hole.bytes) insert(wanted.end(), {holeBase + hole.bytes - wanted.end(), hole.epoch});
  return {wanted, hole.epoch};
}

void RangeAllocator::give(AddressRange range, std::uint64_t epoch) {
  std::uint64_t base = range.base;
  Hole hole{range.bytes, epoch};
  auto next = byBase_.lower_bound(base);
  if (next != byBase_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second.bytes == base) {
      base = before->first;
      hole = {before->second.bytes + hole.bytes, std::max(hole.epoch, before->second.epoch)};
      erase(before);
    }
  }
  if (next != byBase_.end() && next->first == range.end()) {
    hole = {hole.bytes + next->second.bytes, std::max(hole.epoch, next->second.epoch)};
    erase(next);
  }
  insert(base, hole);
}

}  // namespace rouse::client
