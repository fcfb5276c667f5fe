#include "server/device/cpu/runtime/device_heap.h"

#include <cstdlib>

#include "schemas/base/range.h"

namespace rouse::cpu {
namespace {
constexpr std::uint64_t kAlignment = 16;  // CUDA Programming Guide, dynamic global memory allocation
}

DeviceHeap::~DeviceHeap() {
  for (const auto& [block, bytes] : blocks_) std::free(reinterpret_cast<void*>(block));
}

void DeviceHeap::setLimit(std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  limit_ = bytes;
}

void* DeviceHeap::allocate(std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (bytes == 0 || bytes > limit_ || bytes > ~std::uint64_t{0} - kAlignment) return nullptr;
  const std::uint64_t rounded = roundUp(bytes, kAlignment);
  if (used_ > limit_ || rounded > limit_ - used_) return nullptr;
  void* block = std::aligned_alloc(kAlignment, rounded);
  if (block == nullptr) return nullptr;
  blocks_.emplace(reinterpret_cast<std::uint64_t>(block), bytes);
  used_ += rounded;
  return block;
}

bool DeviceHeap::release(void* block) {
  if (block == nullptr) return true;
  std::lock_guard lock(mutex_);
  const auto found = blocks_.find(reinterpret_cast<std::uint64_t>(block));
  if (found == blocks_.end()) return false;
  used_ -= roundUp(found->second, kAlignment);
  blocks_.erase(found);
  std::free(block);
  return true;
}

AddressRange DeviceHeap::before(std::uint64_t address) const {
  std::lock_guard lock(mutex_);
  const auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return {};
  const auto& [base, bytes] = *std::prev(after);
  return {base, bytes};
}

AddressRange DeviceHeap::at(std::uint64_t address) const {
  const AddressRange block = before(address);
  return block.contains(address) ? block : AddressRange{};
}

std::uint64_t DeviceHeap::used() const {
  std::lock_guard lock(mutex_);
  return used_;
}

}  // namespace rouse::cpu
