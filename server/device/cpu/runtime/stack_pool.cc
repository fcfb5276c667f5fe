#include "server/device/cpu/runtime/stack_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>

namespace rouse::cpu {
namespace {

// Linux 6.13: a guard inside a mapping that does not split it. Thousands of stacks with a mapping each would
// come near vm.max_map_count (65530).
constexpr int kMadvGuardInstall = 102;

std::size_t classIndex(std::size_t bytes) { return std::countr_zero(bytes / kMinStackBytes); }

bool installGuard(std::byte* at) {
  return madvise(at, kStackGuardBytes, kMadvGuardInstall) == 0 || mprotect(at, kStackGuardBytes, PROT_NONE) == 0;
}

}  // namespace

StackPool::~StackPool() {
  for (const Slab& slab : slabs_) munmap(slab.base, slab.bytes);
}

std::size_t StackPool::classFor(std::size_t needed) {
  if (needed > kMaxStackBytes) return 0;
  return std::bit_ceil(std::max(needed, kMinStackBytes));
}

Stack StackPool::take(std::size_t bytes) {
  auto& free = free_[classIndex(bytes)];
  if (free.empty() && !grow(bytes)) return {};
  const Stack stack = free.back();
  free.pop_back();
  return stack;
}

void StackPool::give(Stack stack) { free_[classIndex(stack.bytes)].push_back(stack); }

bool StackPool::grow(std::size_t bytes) {
  // The guard also shifts each stack by a page against the one before, so that equal frames of different threads do
  // not fall into the same cache sets.
  const std::size_t stride = bytes + kStackGuardBytes;
  const std::size_t count = std::clamp<std::size_t>((std::size_t{4} << 20) / stride, 1, 32);
  void* base = mmap(nullptr, stride * count, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (base == MAP_FAILED) return false;
  auto* at = static_cast<std::byte*>(base);
  for (std::size_t i = 0; i < count; ++i) {
    if (!installGuard(at + i * stride)) {
      munmap(base, stride * count);
      return false;
    }
  }
  slabs_.push_back({base, stride * count});
  auto& free = free_[classIndex(bytes)];
  for (std::size_t i = count; i-- > 0;) free.push_back({at + i * stride + kStackGuardBytes, bytes});
  return true;
}

}  // namespace rouse::cpu
