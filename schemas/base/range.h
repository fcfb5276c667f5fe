// Half-open ranges of virtual addresses: the one type every check of a foreign address goes through.
#pragma once

#include <cstdint>

namespace rouse {

// Bytes of physical GPU memory are handed out, mapped and accounted in granules of this size: what a GPU's memory
// management unit maps at once (design: chunks of 2 MiB and larger).
inline constexpr std::uint64_t kGranuleBytes = std::uint64_t{2} << 20;

struct AddressRange {
  std::uint64_t base = 0;
  std::uint64_t bytes = 0;

  constexpr std::uint64_t end() const { return base + bytes; }
  constexpr bool empty() const { return bytes == 0; }
  constexpr bool contains(std::uint64_t address) const { return address - base < bytes; }

  // Safe for any pair, also where address + size would wrap round.
  constexpr bool contains(std::uint64_t address, std::uint64_t size) const {
    return address >= base && size <= bytes && address - base <= bytes - size;
  }
  constexpr bool contains(AddressRange other) const { return contains(other.base, other.bytes); }
  constexpr bool overlaps(AddressRange other) const {
    return !empty() && !other.empty() && base < other.end() && other.base < end();
  }
  constexpr bool operator==(const AddressRange&) const = default;
};

constexpr std::uint64_t roundUp(std::uint64_t value, std::uint64_t powerOfTwo) {
  return (value + powerOfTwo - 1) & ~(powerOfTwo - 1);
}
constexpr std::uint64_t roundDown(std::uint64_t value, std::uint64_t powerOfTwo) { return value & ~(powerOfTwo - 1); }
constexpr bool isAligned(std::uint64_t value, std::uint64_t powerOfTwo) { return (value & (powerOfTwo - 1)) == 0; }

// The granules that the range touches.
constexpr AddressRange granulesOf(AddressRange range) {
  const std::uint64_t base = roundDown(range.base, kGranuleBytes);
  return {base, roundUp(range.end(), kGranuleBytes) - base};
}

}  // namespace rouse
