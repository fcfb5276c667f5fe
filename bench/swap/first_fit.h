// The allocator that Placement is compared with: an address-ordered list of free runs, the first that has anything is
// used up first. Gives whatever is free; knows nothing of owners or blocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "memory/placement.h"

namespace rouse::bench {

class FirstFit {
 public:
  explicit FirstFit(std::uint32_t granules) : free_(granules) { runs_[0] = granules; }

  bool allocate(memory::OwnerId, std::uint32_t count, std::vector<memory::Extent>& out) {
    if (count > free_) return false;
    auto whole = std::find_if(runs_.begin(), runs_.end(), [&](const auto& run) { return run.second >= count; });
    free_ -= count;
    while (count != 0) {
      const auto run = whole != runs_.end() ? whole : runs_.begin();
      const auto [first, length] = *run;
      const std::uint32_t taken = std::min(length, count);
      runs_.erase(run);
      if (taken != length) runs_.emplace(first + taken, length - taken);
      out.push_back({first, taken});
      count -= taken;
    }
    return true;
  }

  Status free(memory::OwnerId, memory::Extent extent) {
    free_ += extent.count;
    auto next = runs_.lower_bound(extent.first);
    if (next != runs_.end() && next->first == extent.first + extent.count) {
      extent.count += next->second;
      next = runs_.erase(next);
    }
    if (next != runs_.begin() && std::prev(next)->first + std::prev(next)->second == extent.first) {
      std::prev(next)->second += extent.count;
    } else {
      runs_.emplace(extent.first, extent.count);
    }
    return {};
  }

  std::uint32_t freeGranules() const { return free_; }

  double fragmentation() const {
    constexpr std::uint32_t kBlock = memory::Placement::kLargeBlock;
    std::uint32_t inBlocks = 0;
    for (const auto& [first, count] : runs_) {
      const std::uint32_t from = (first + kBlock - 1) / kBlock, to = (first + count) / kBlock;
      if (to > from) inBlocks += (to - from) * kBlock;
    }
    return free_ == 0 ? 0 : static_cast<double>(free_ - inBlocks) / free_;
  }

 private:
  std::uint32_t free_;
  std::map<std::uint32_t, std::uint32_t> runs_;  // first -> count
};

}  // namespace rouse::bench
