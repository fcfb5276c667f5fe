// In which order a function first touches the granules of its window: the order in which its next swap-in brings them.
//
// The pattern is the same from request to request (Torpor §4.3), so the first one is recorded, and what later ones touch for
// the first time comes behind it; what was recorded stays where it is. Told by commands: the ranges they name, and, for
// launches, whatever words of the parameters are addresses of the window. A touch of what is known is a bit test. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schemas/base/range.h"

namespace rouse::swap {

class AccessOrder {
 public:
  // The window is aligned to kGranuleBytes.
  explicit AccessOrder(AddressRange window);

  // From here on counts as one request: newlyTouched() is 0. Not needed for recording.
  void beginRequest() { recordedBefore_ = order_.size(); }

  // What lies outside the window is ignored.
  void touch(AddressRange range) {
    if (!window_.contains(range.base) || range.empty()) return touchPart(range);
    const std::size_t first = (range.base - window_.base) / kGranuleBytes;
    if (range.bytes <= kGranuleBytes - (range.base & (kGranuleBytes - 1))) return touchGranule(first);
    touchPart(range);
  }
  // A launch's parameters: each 8-byte word at a multiple of 8 that is an address of the window touches its granule.
  void touchPointers(std::span<const std::byte> parameters);

  // The program freed it: its place in the order is forgotten, and what comes to lie there is recorded anew.
  void forget(AddressRange range);

  // Granules, counted from the window's base, by first touch.
  std::span<const std::uint32_t> touched() const { return order_; }
  std::size_t newlyTouched() const { return order_.size() - recordedBefore_; }

  // Those of `wanted` (ascending, without repetition) in the order of first touch; then those never touched, ascending.
  std::vector<std::uint32_t> arrange(std::span<const std::uint32_t> wanted) const;

 private:
  void touchGranule(std::size_t granule) {
    std::uint64_t& word = seen_[granule / 64];
    const std::uint64_t bit = std::uint64_t{1} << (granule % 64);
    if ((word & bit) != 0) return;
    word |= bit;
    order_.push_back(static_cast<std::uint32_t>(granule));
  }
  void touchPart(AddressRange range);
  // The granules that a range touches: first and one past the last.
  std::pair<std::size_t, std::size_t> clip(AddressRange range) const;

  AddressRange window_;
  std::vector<std::uint64_t> seen_;
  std::vector<std::uint32_t> order_;
  std::size_t recordedBefore_ = 0;
};

}  // namespace rouse::swap
