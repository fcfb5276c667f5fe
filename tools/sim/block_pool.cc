#include "tools/sim/block_pool.h"

namespace rouse::sim {

sched::Duration BlockPool::allocate(std::uint32_t function, std::uint64_t bytes) {
  sched::Duration takes{};
  const std::uint64_t size = (bytes + kBlocks - 1) / kBlocks;
  auto& blocks = held_[function];
  for (unsigned i = 0; i < kBlocks; ++i) {
    if (const auto enough = cached_.lower_bound(size); enough != cached_.end()) {
      blocks.push_back(enough->first);
      if (--enough->second == 0) cached_.erase(enough);
      continue;
    }
    while (allocated_ + size > capacity_ && !cached_.empty()) {
      const auto largest = std::prev(cached_.end());
      allocated_ -= largest->first;
      if (--largest->second == 0) cached_.erase(largest);
      takes += kCallTime;
    }
    allocated_ += size;
    blocks.push_back(size);
    takes += kCallTime;
  }
  return takes;
}

void BlockPool::release(std::uint32_t function) {
  const auto found = held_.find(function);
  if (found == held_.end()) return;
  for (const std::uint64_t size : found->second) ++cached_[size];
  held_.erase(found);
}

}  // namespace rouse::sim
