#include "tools/sim/block_pool.h"

#include <algorithm>

namespace rouse::sim {

sched::Duration BlockPool::allocate(std::uint32_t function, std::uint64_t bytes) {
  sched::Duration takes{};
  const std::uint64_t size = (bytes + kBlocks - 1) / kBlocks;
  auto& blocks = held_[function];
  for (unsigned i = 0; i < kBlocks; ++i) {
    if (const auto enough = std::find_if(cached_.begin(), cached_.end(), [&](std::uint64_t one) { return one >= size; });
        enough != cached_.end()) {
      blocks.push_back(*enough);
      cached_.erase(enough);
      continue;
    }
    while (allocated_ + size > capacity_ && !cached_.empty()) {
      allocated_ -= cached_.front();
      cached_.pop_front();
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
  cached_.insert(cached_.end(), found->second.begin(), found->second.end());
  held_.erase(found);
}

}  // namespace rouse::sim
