#include "client-shim/core/host_heap.h"

#include <cinttypes>

#include "client-shim/core/access_check.h"
#include "client-shim/core/device.h"
#include "client-shim/core/host_window.h"
#include "client-shim/core/log.h"
#include "client-shim/core/session.h"
#include "client-shim/core/session_handles.h"
#include "schemas/wire/slot_wait.h"

namespace rouse::client {

namespace {

constexpr std::uint64_t kLargestSmall = std::uint64_t{512} << 10;
constexpr std::uint64_t kSmallRange = std::uint64_t{4} << 20;

AddressRange behindStaging(AddressRange window) {
  return {window.base + wire::kStagingBytes, window.bytes - wire::kStagingBytes};
}

}  // namespace

HostHeap::HostHeap(Session& session)
    : session_(session),
      window_(session.hostWindow()),
      ranges_(behindStaging(window_.range()), wire::kPageBytes),
      small_({}, kAllocationUnit) {}

// --- Blocks

CudaError HostHeap::allocate(std::uint64_t bytes, MemoryKind kind, std::uint32_t flags, std::uint32_t deviceIndex,
                             void** address) {
  *address = nullptr;
  if (const CudaError error = session_.device(deviceIndex).asyncError(); error != CudaError::success) return error;
  if (bytes == 0) return kind == MemoryKind::managed ? CudaError::invalidValue : CudaError::success;
  std::uint64_t base = 0;
  const CudaError error = allocateFor({.kind = kind, .deviceIndex = deviceIndex, .flags = flags}, bytes, &base);
  *address = reinterpret_cast<void*>(base);
  return error;
}

CudaError HostHeap::allocateVariable(std::uint64_t bytes, std::uint32_t deviceIndex, std::uint64_t* address) {
  return allocateFor({.kind = MemoryKind::managed, .variable = true, .deviceIndex = deviceIndex}, bytes, address);
}

CudaError HostHeap::allocateFor(const Allocation& tags, std::uint64_t bytes, std::uint64_t* address) {
  if (bytes > window_.range().bytes) return CudaError::memoryAllocation;
  const std::lock_guard lock(mutex_);
  sweep(false);
  AddressRange range;
  const std::uint64_t wanted = bytes;
  if (session_.check() != nullptr) bytes += AccessCheck::kGapBytes;
  if (bytes > kLargestSmall) {
    if (const CudaError error = takeRange(roundUp(bytes, wire::kPageBytes), &range); error != CudaError::success)
      return error;
  } else {
    auto taken = small_.take(bytes, kAllocationUnit);
    if (!taken) {
      AddressRange fresh;
      if (const CudaError error = takeRange(kSmallRange, &fresh); error != CudaError::success) return error;
      small_.give(fresh, 0);
      taken = small_.take(bytes, kAllocationUnit);
    }
    if (taken->epoch > settled_) {
      if (const CudaError error = drain(); error != CudaError::success) {
        small_.give(taken->range, taken->epoch);
        return error;
      }
      settled_ = epoch_;
    }
    range = taken->range;
  }
  Allocation& block = blocks_[range.base];
  block = tags;
  block.range = {range.base, wanted};
  tellAllocated(block.range);
  block.deviceBase = block.hostBase = range.base;
  block.bufferId = session_.handles().nextId();
  *address = range.base;
  return CudaError::success;
}

CudaError HostHeap::release(void* address) {
  if (address == nullptr) return CudaError::success;
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(reinterpret_cast<std::uint64_t>(address));
  if (found == blocks_.end() || found->second.variable || found->second.kind == MemoryKind::registered) {
    return CudaError::invalidValue;
  }
  return releaseLocked(found->first);
}

CudaError HostHeap::releaseVariable(std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  return releaseLocked(address);
}

CudaError HostHeap::releaseLocked(std::uint64_t address) {
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) return CudaError::invalidValue;
  std::uint64_t bytes = found->second.range.bytes;
  tellFreed(found->second.range);
  if (session_.check() != nullptr) bytes += AccessCheck::kGapBytes;
  blocks_.erase(found);
  if (bytes > kLargestSmall) {
    retiring_.push_back(unmapRange({address, roundUp(bytes, wire::kPageBytes)}));
  } else {
    small_.give({address, roundUp(bytes, kAllocationUnit)}, ++epoch_);
  }
  sweep(false);
  return CudaError::success;
}

void HostHeap::tellAllocated(AddressRange range) {
  if (session_.check() == nullptr) return;
  for (std::uint32_t index = 0; index < session_.deviceCount(); ++index)
    session_.device(index).queue().put(wire::Allocated{.base = range.base, .bytes = range.bytes});
}

void HostHeap::tellFreed(AddressRange range) {
  if (session_.check() == nullptr) return;
  for (std::uint32_t index = 0; index < session_.deviceCount(); ++index)
    session_.device(index).queue().put(wire::Freed{.base = range.base, .bytes = range.bytes});
}

std::vector<Allocation> HostHeap::live() const {
  const std::shared_lock lock(mutex_);
  std::vector<Allocation> found;
  for (const auto& [base, block] : blocks_)
    if (!block.variable && block.kind != MemoryKind::registered) found.push_back(block);
  return found;
}

bool HostHeap::find(std::uint64_t address, Allocation* found) const {
  const bool inWindow = window_.range().contains(address);
  if (!inWindow && registeredCount_.load(std::memory_order_acquire) == 0) return false;
  const std::shared_lock lock(mutex_);
  if (!inWindow) {
    const auto after = registered_.upper_bound(address);
    if (after == registered_.begin()) return false;
    const Allocation& allocation = std::prev(after)->second.allocation;
    if (!allocation.range.contains(address)) return false;
    *found = allocation;
    return true;
  }
  const auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return false;
  const Allocation& allocation = std::prev(after)->second;
  if (!allocation.range.contains(address)) return false;
  *found = allocation;
  return true;
}

// --- Ranges

CudaError HostHeap::takeRange(std::uint64_t bytes, AddressRange* range) {
  auto taken = ranges_.take(bytes, wire::kPageBytes);
  while (!taken && sweep(true)) taken = ranges_.take(bytes, wire::kPageBytes);
  if (!taken) {
    log(LogLevel::info, "host window: no %" PRIu64 " bytes in a row; %" PRIu64 " of %" PRIu64 " are free", bytes,
        ranges_.freeBytes(), window_.range().bytes);
    return CudaError::memoryAllocation;
  }
  *range = taken->range;
  mapped_[range->base] = range->bytes;
  for (std::uint32_t index = 0; index < session_.deviceCount(); ++index) {
    session_.device(index).queue().put(wire::HostMap{.base = range->base, .bytes = range->bytes});
  }
  return CudaError::success;
}

HostHeap::Retiring HostHeap::unmapRange(AddressRange range) {
  Retiring retiring{range, {}};
  mapped_.erase(range.base);
  for (std::uint32_t index = 0; index < session_.deviceCount(); ++index) {
    auto lease = session_.slots().take();
    // Out of slots: the range is never used again, which is safe.
    if (!lease) {
      retiring.marks.push_back({0, ~std::uint64_t{0}});
      continue;
    }
    const Mark mark{lease->index, lease->value + 1};
    session_.device(index).queue().put(
        wire::HostUnmap{.base = range.base, .bytes = range.bytes, .value = mark.value, .slot = mark.slot});
    session_.slots().give({mark.slot, mark.value});
    retiring.marks.push_back(mark);
  }
  return retiring;
}

bool HostHeap::wait(const Retiring& retiring) {
  for (std::uint32_t index = 0; index < retiring.marks.size(); ++index) {
    const Mark mark = retiring.marks[index];
    if (session_.reached(mark)) continue;
    {
      CommandQueue::Batch batch(session_.device(index).queue());
      batch.flush();
    }
    if (session_.wait(index, mark) != CudaError::success) return false;
  }
  return true;
}

bool HostHeap::sweep(bool waiting) {
  bool any = false;
  while (!retiring_.empty()) {
    const Retiring& oldest = retiring_.front();
    bool done = true;
    for (const Mark mark : oldest.marks) done &= mark.slot != 0 && session_.reached(mark);
    if (!done && (!waiting || any || !wait(oldest))) break;
    finish(oldest.range);
    retiring_.pop_front();
    any = true;
  }
  return any;
}

void HostHeap::finish(AddressRange range) {
  window_.discard(range);
  ranges_.give(range, 0);
}

CudaError HostHeap::drain() {
  for (std::uint32_t index = 0; index < session_.deviceCount(); ++index) {
    if (const CudaError error = session_.device(index).waitForAll(); error != CudaError::success) return error;
  }
  return CudaError::success;
}

void HostHeap::mapEverything(CommandQueue::Batch& batch) {
  for (const auto& [base, bytes] : mapped_) batch.put(wire::HostMap{.base = base, .bytes = bytes});
  if (session_.check() == nullptr) return;
  for (const auto& [base, block] : blocks_) batch.put(wire::Allocated{.base = block.range.base, .bytes = block.range.bytes});
}

void HostHeap::settle(std::uint32_t deviceIndex) {
  for (Retiring& retiring : retiring_) {
    const Mark mark = retiring.marks[deviceIndex];
    if (mark.slot != 0 && !session_.reached(mark)) wire::signal(session_.slot(mark.slot), mark.value);
  }
}

}  // namespace rouse::client
