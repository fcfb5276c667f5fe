#include "memory/extent_map.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <new>

namespace rouse::memory {

ExtentMap::ExtentMap(AddressRange window) : window_(window) {
  assert(isAligned(window.base, kGranuleBytes) && isAligned(window.bytes, kGranuleBytes) &&
         window.bytes <= kMaxWindowBytes);
  granules_ = window.bytes / kGranuleBytes;
  bits_.resize((granules_ + 63) / 64);
  chunks_.reset(static_cast<std::uint32_t*>(std::calloc(granules_ + 1, sizeof(std::uint32_t))));
  if (chunks_ == nullptr) throw std::bad_alloc();
}

void ExtentMap::insert(std::uint64_t address, std::uint32_t chunk) {
  const std::size_t granule = (address - window_.base) / kGranuleBytes;
  assert(window_.contains(address) && !test(granule));
  bits_[granule / 64] |= std::uint64_t{1} << (granule % 64);
  chunks_[granule] = chunk;
  backedBytes_ += kGranuleBytes;
}

std::uint32_t ExtentMap::erase(std::uint64_t address) {
  const std::size_t granule = (address - window_.base) / kGranuleBytes;
  assert(window_.contains(address) && test(granule));
  bits_[granule / 64] &= ~(std::uint64_t{1} << (granule % 64));
  backedBytes_ -= kGranuleBytes;
  if (last_.contains(address)) last_ = {};
  return chunks_[granule];
}

std::size_t ExtentMap::scan(std::size_t from, std::size_t to, bool value) const {
  for (std::size_t i = from; i < to;) {
    const std::uint64_t differing = (value ? ~bits_[i / 64] : bits_[i / 64]) >> (i % 64);
    if (differing != 0) return std::min(to, i + static_cast<std::size_t>(std::countr_zero(differing)));
    i = (i / 64 + 1) * 64;
  }
  return to;
}

bool ExtentMap::find(std::uint64_t address, std::uint64_t bytes) const {
  if (!window_.contains(address, bytes)) return false;
  const std::size_t first = (address - window_.base) / kGranuleBytes;
  const std::size_t end = (address + bytes - 1 - window_.base) / kGranuleBytes + 1;
  if (scan(first, end, true) != end) return false;
  // Neighbouring granules are likely to be named next. A bounded look: 2 words either side.
  std::size_t low = first;
  while (low > 0 && first - low < 128 && test(low - 1)) --low;
  const std::size_t high = scan(end, std::min(end + 128, granules_), true);
  last_ = {window_.base + low * kGranuleBytes, (high - low) * kGranuleBytes};
  return true;
}

AddressRange ExtentMap::around(std::uint64_t address, AddressRange within) const {
  if (!window_.contains(within) || !within.contains(address)) return {};
  const std::size_t at = (address - window_.base) / kGranuleBytes;
  const std::size_t least = (within.base - window_.base) / kGranuleBytes, most = least + within.bytes / kGranuleBytes;
  if (!test(at)) return {};
  std::size_t first = at;
  while (first > least) {
    // Down to the beginning of a word at once, where all of it is backed.
    const std::size_t from = std::max(least, (first - 1) / 64 * 64), held = scan(from, first, true);
    if (held != first) {
      while (test(first - 1)) --first;
      break;
    }
    first = from;
  }
  return {window_.base + first * kGranuleBytes, (scan(at, most, true) - first) * kGranuleBytes};
}

bool ExtentMap::all(AddressRange range) const {
  if (!window_.contains(range)) return false;
  const std::size_t first = (range.base - window_.base) / kGranuleBytes, end = first + range.bytes / kGranuleBytes;
  return scan(first, end, true) == end;
}

bool ExtentMap::none(AddressRange range) const {
  if (!window_.contains(range)) return false;
  const std::size_t first = (range.base - window_.base) / kGranuleBytes, end = first + range.bytes / kGranuleBytes;
  return scan(first, end, false) == end;
}

}  // namespace rouse::memory
