#include "server/device/cpu/runtime/cluster.h"

#include <sys/mman.h>

#include "schemas/base/cluster.h"
#include "schemas/base/range.h"
#include "server/device/cpu/abi.h"
#include "server/device/cpu/runtime/shared_memory.h"

namespace rouse::cpu {
namespace {

// As SharedMemory has it, for each block: whatever a kernel computes from an offset of 32 bits lands in the cluster's memory or faults.
constexpr std::size_t kReserved = std::size_t{kMostClusterBlocks} * kClusterStride + (std::size_t{4} << 30);
static_assert(SharedMemory::kUsable < kClusterStride);

}  // namespace

Cluster::~Cluster() {
  if (region_ != nullptr) munmap(region_, kReserved);
}

// The memory of blocks that there are not faults.
bool Cluster::protect(std::uint32_t blocks) {
  for (; usable_ < blocks; ++usable_)
    if (mprotect(region_ + std::size_t{usable_} * kClusterStride, SharedMemory::kUsable, PROT_READ | PROT_WRITE) != 0) return false;
  for (; usable_ > blocks; --usable_)
    if (mprotect(region_ + std::size_t{usable_ - 1} * kClusterStride, SharedMemory::kUsable, PROT_NONE) != 0) return false;
  return true;
}

bool Cluster::begin(std::uint32_t blocks, std::uint32_t threads, std::uint32_t sharedBytes, std::uint32_t alignment) {
  if (region_ == nullptr) {
    void* const base = mmap(nullptr, kReserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return false;
    region_ = static_cast<std::byte*>(base);
  }
  if (!protect(blocks)) return false;
  shared_ = region_ + SharedMemory::kUsable - roundUp(sharedBytes, alignment);
  blocks_ = blocks;
  begun_ = idleTurns_ = 0;
  live_ = std::uint64_t{blocks} * threads;
  arrived_ = 0;
  phase_ = 0;
  return true;
}

void Cluster::completeIfFull() {
  if (arrived_ == 0 || arrived_ < live_) return;
  arrived_ = 0;
  ++phase_;
}

std::uint64_t Cluster::arrive() {
  const std::uint64_t arrivedIn = phase_;
  ++arrived_;
  completeIfFull();
  return arrivedIn;
}

void Cluster::threadExited() {
  --live_;
  completeIfFull();
}

bool Cluster::endTurn(bool ran) {
  idleTurns_ = ran ? 0 : idleTurns_ + 1;
  return begun_ < blocks_ || idleTurns_ <= 2 * blocks_;
}

}  // namespace rouse::cpu
