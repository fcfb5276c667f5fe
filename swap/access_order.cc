#include "swap/access_order.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace rouse::swap {

AccessOrder::AccessOrder(AddressRange window) : window_(window), seen_((window.bytes / kGranuleBytes + 63) / 64) {
  assert(isAligned(window.base, kGranuleBytes) && isAligned(window.bytes, kGranuleBytes));
}

std::pair<std::size_t, std::size_t> AccessOrder::clip(AddressRange range) const {
  const std::uint64_t base = std::max(range.base, window_.base);
  const std::uint64_t last = range.bytes - 1 > ~range.base ? ~std::uint64_t{0} : range.base + (range.bytes - 1);  // no wrapping
  const std::uint64_t windowLast = window_.base + (window_.bytes - 1);
  if (range.empty() || window_.empty() || base > windowLast || last < window_.base) return {0, 0};
  return {(base - window_.base) / kGranuleBytes, (std::min(last, windowLast) - window_.base) / kGranuleBytes + 1};
}

void AccessOrder::touchPart(AddressRange range) {
  const auto [first, end] = clip(range);
  for (std::size_t granule = first; granule < end; ++granule) touchGranule(granule);
}

void AccessOrder::touchPointers(std::span<const std::byte> parameters) {
  for (std::size_t at = 0; at + 8 <= parameters.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, parameters.data() + at, 8);
    if (window_.contains(word)) touchGranule((word - window_.base) / kGranuleBytes);
  }
}

void AccessOrder::forget(AddressRange range) {
  const auto [first, end] = clip(range);
  bool any = false;
  for (std::size_t granule = first; granule < end; ++granule) {
    const std::uint64_t bit = std::uint64_t{1} << (granule % 64);
    any |= (seen_[granule / 64] & bit) != 0;
    seen_[granule / 64] &= ~bit;
  }
  if (!any) return;
  std::size_t kept = 0, keptBefore = 0;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (order_[i] >= first && order_[i] < end) continue;
    order_[kept++] = order_[i];
    keptBefore += i < recordedBefore_;
  }
  order_.resize(kept);
  recordedBefore_ = keptBefore;
}

std::vector<std::uint32_t> AccessOrder::arrange(std::span<const std::uint32_t> wanted) const {
  std::vector<std::uint64_t> bits(seen_.size());
  for (const std::uint32_t granule : wanted) {
    assert(granule / 64 < bits.size());
    bits[granule / 64] |= std::uint64_t{1} << (granule % 64);
  }
  std::vector<std::uint32_t> arranged;
  arranged.reserve(wanted.size());
  for (const std::uint32_t granule : order_)
    if (bits[granule / 64] >> (granule % 64) & 1) arranged.push_back(granule);
  for (const std::uint32_t granule : wanted)
    if (!(seen_[granule / 64] >> (granule % 64) & 1)) arranged.push_back(granule);
  return arranged;
}

}  // namespace rouse::swap
