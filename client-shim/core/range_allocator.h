// Gives out pieces of an address range: best fit, freed neighbours merge, O(log n). Pure: no memory behind the
// addresses is touched.
//
// Each free range remembers the epoch of the latest give() in it; a caller that must not use memory before earlier work
// is done with it (DeviceMemory, HostMemory) compares that with what it knows to be done. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "schemas/base/range.h"

namespace rouse::client {

class RangeAllocator {
 public:
  // `unit`: a power of two; sizes are rounded up to it, and every base is a multiple of it. `whole` must be aligned to
  // it.
  RangeAllocator(AddressRange whole, std::uint64_t unit);

  struct Taken {
    AddressRange range;       // rounded
    std::uint64_t epoch = 0;  // the latest give() of any part of it; 0: never used
  };

  // None when no free range is large enough. `alignment`: a power of two; bytes > 0.
  std::optional<Taken> take(std::uint64_t bytes, std::uint64_t alignment);
  // Exactly this range, whole units; none when any of it is taken.
  std::optional<Taken> takeAt(AddressRange range);
  // A range from take(), or parts of several neighbouring ones.
  void give(AddressRange range, std::uint64_t epoch);

  std::uint64_t freeBytes() const { return freeBytes_; }
  std::size_t holes() const { return byBase_.size(); }

 private:
  struct Hole {
    std::uint64_t bytes;
    std::uint64_t epoch;
  };
  using ByBase = std::map<std::uint64_t, Hole>;

  ByBase::iterator find(std::uint64_t bytes, std::uint64_t alignment);
  // The part of the hole that is wanted; what is left of it before and behind stays free.
  Taken cut(ByBase::iterator hole, AddressRange wanted);
  void insert(std::uint64_t base, Hole hole);
  void erase(ByBase::iterator hole);

  std::uint64_t unit_;
  std::uint64_t freeBytes_ = 0;
  ByBase byBase_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> bySize_;  // bytes, base
};

}  // namespace rouse::client
