#include "memory/address_plan.h"

#include <algorithm>
#include <cassert>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ROUSE_SHADOWED_ADDRESSES 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ROUSE_SHADOWED_ADDRESSES 1
#endif
#endif

namespace rouse::memory {

AddressRange AddressPlan::defaultRange() {
#ifdef ROUSE_SHADOWED_ADDRESSES
  return {0x5700'0000'0000, 0x5a00'0000'0000 - 0x5700'0000'0000};
#else
  return {0x2000'0000'0000, 0x3000'0000'0000};
#endif
}

AddressPlan::AddressPlan(AddressRange range) : range_(range) {
  assert(isAligned(range.base, kWindowAlignment) && isAligned(range.bytes, kWindowAlignment));
  if (!range.empty()) free_.emplace(range.base, Free{range.bytes, 0});
}

Result<AddressRange> AddressPlan::allocate(std::uint64_t bytes) {
  if (bytes == 0) return Error{CudaError::invalidValue, "an address window of 0 bytes"};
  AddressRange window;
  if (bytes <= range_.bytes) {
    const std::uint64_t rounded = roundUp(bytes, kWindowAlignment);
    if (take(rounded, window)) return window;
    merge();
    if (take(rounded, window)) return window;
  }
  std::uint64_t largest = 0;
  for (const auto& [base, piece] : free_) largest = std::max(largest, piece.bytes);
  return Error{CudaError::memoryAllocation, "address window of " + std::to_string(bytes) +
                                                " bytes: the largest free is " + std::to_string(largest) + " of " +
                                                std::to_string(range_.bytes)};
}

std::uint64_t AddressPlan::freeBytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [base, piece] : free_) bytes += piece.bytes;
  return bytes;
}

bool AddressPlan::take(std::uint64_t bytes, AddressRange& window) {
  auto best = free_.end();
  for (auto piece = free_.begin(); piece != free_.end(); ++piece)
    if (piece->second.bytes >= bytes && (best == free_.end() || piece->second.freedAt < best->second.freedAt))
      best = piece;
  if (best == free_.end()) return false;
  const auto [base, piece] = *best;
  free_.erase(best);
  if (piece.bytes != bytes) free_.emplace(base + bytes, Free{piece.bytes - bytes, piece.freedAt});
  live_.emplace(base, bytes);
  window = {base, bytes};
  return true;
}

Status AddressPlan::claim(AddressRange window) {
  const std::string what = "address window [" + std::to_string(window.base) + ", +" + std::to_string(window.bytes) + ")";
  if (window.empty() || !isAligned(window.base, kWindowAlignment) || !isAligned(window.bytes, kWindowAlignment))
    return Error{CudaError::invalidValue, what + " is not a multiple of " + std::to_string(kWindowAlignment)};
  merge();
  auto piece = free_.upper_bound(window.base);
  if (piece == free_.begin()) return Error{CudaError::invalidValue, what + " is not free"};
  --piece;
  const auto [base, free] = *piece;
  if (!AddressRange{base, free.bytes}.contains(window.base, window.bytes)) return Error{CudaError::invalidValue, what + " is not free"};
  free_.erase(piece);
  if (base != window.base) free_.emplace(base, Free{window.base - base, free.freedAt});
  if (base + free.bytes != window.end()) free_.emplace(window.end(), Free{base + free.bytes - window.end(), free.freedAt});
  live_.emplace(window.base, window.bytes);
  return {};
}

Status AddressPlan::free(AddressRange window) {
  const auto entry = live_.find(window.base);
  if (entry == live_.end() || entry->second != window.bytes)
    return Error{CudaError::invalidValue,
                 "no live address window [" + std::to_string(window.base) + ", +" + std::to_string(window.bytes) + ")"};
  live_.erase(entry);
  free_.emplace(window.base, Free{window.bytes, ++clock_});
  return {};
}

// Only when nothing else fits: a merged piece is as young as its youngest part.
void AddressPlan::merge() {
  for (auto piece = free_.begin(); piece != free_.end();) {
    const auto next = std::next(piece);
    if (next != free_.end() && piece->first + piece->second.bytes == next->first) {
      piece->second.bytes += next->second.bytes;
      piece->second.freedAt = std::max(piece->second.freedAt, next->second.freedAt);
      free_.erase(next);
    } else {
      piece = next;
    }
  }
}

}  // namespace rouse::memory
