// What a program has said about its managed memory (cudaMemAdvise, prefetches). Here all processors share one copy of
// every page, so nothing follows from it; it is kept because cudaMemRangeGetAttribute asks.
//
// Threads: any.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "schemas/base/range.h"

namespace rouse::cudart {

inline constexpr cudaMemLocation kNowhere{cudaMemLocationTypeInvalid, cudaInvalidDeviceId};

struct Advice {
  bool readMostly = false;
  cudaMemLocation preferred = kNowhere;
  cudaMemLocation lastPrefetch = kNowhere;
  std::vector<int> accessedBy;  // devices, or cudaCpuDeviceId; ascending
};

class MemoryAdvice {
 public:
  static MemoryAdvice& get() {
    static MemoryAdvice& advice = *new MemoryAdvice;
    return advice;
  }

  // Applies `change` to what is known of every byte of the range. The range is not empty.
  template <class Change>
  void update(AddressRange range, Change&& change) {
    const std::lock_guard lock(mutex_);
    split(range.base);
    split(range.end());
    for (auto piece = pieces_.find(range.base); piece->first != range.end(); ++piece) change(piece->second);
  }

  // What is known of each piece of the range, in ascending order.
  std::vector<Advice> pieces(AddressRange range) const;

  void forget(AddressRange range);

 private:
  void split(std::uint64_t address);

  mutable std::mutex mutex_;
  // Each entry holds from its address to the next one's. The first is at 0.
  std::map<std::uint64_t, Advice> pieces_{{0, {}}};
};

}  // namespace rouse::cudart
