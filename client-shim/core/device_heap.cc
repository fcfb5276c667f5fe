#include "client-shim/core/device_heap.h"

#include <algorithm>
#include <cinttypes>
#include <new>
#include <utility>

#include "client-shim/core/access_check.h"
#include "client-shim/core/command_queue.h"
#include "client-shim/core/device.h"
#include "client-shim/core/error_codes.h"
#include "client-shim/core/interprocess.h"
#include "client-shim/core/log.h"
#include "client-shim/core/session.h"
#include "client-shim/core/session_handles.h"
#include "client-shim/core/stream_ordered_pool.h"
#include "client-shim/core/virtual_memory.h"

namespace rouse::client {

namespace {

constexpr std::uint64_t kLeastAligned = 16 * kGranuleBytes;    // wastes a thirty-second of itself at the mean
// CUDA gives blocks of this size pages of their own, and programs lay out what they hold by that (Taichi's runtime): they begin with a page of the
// smallest size that machines have, which costs two thousandths of the smallest of them at the mean.
constexpr std::uint64_t kLeastPaged = std::uint64_t{1} << 20;
constexpr std::uint64_t kPageBytes = std::uint64_t{4} << 10;
constexpr std::uint64_t kLeastStep = std::uint64_t{32} << 20;  // of a reservation
constexpr std::uint64_t kMostStep = std::uint64_t{256} << 20;
constexpr std::uint64_t kLeastIdle = std::uint64_t{64} << 20;    // mapped without users
constexpr std::uint64_t kWithheldShare = 8;  // of the window's addresses, at most that part has been freed and is not given out again
constexpr std::uint64_t kLeastSpare = std::uint64_t{256} << 20;  // reserved without being mapped

AddressRange wholeGranules(AddressRange window) {
  const std::uint64_t base = roundUp(window.base, kGranuleBytes);
  return {base, roundDown(window.end(), kGranuleBytes) - base};
}

}  // namespace

DeviceHeap::DeviceHeap(Device& device)
    : device_(device), window_(wholeGranules(device.info().window)), space_(window_, kAllocationUnit) {
  const std::uint64_t granules = window_.bytes / kGranuleBytes;
  users_.reset(static_cast<std::uint32_t*>(std::calloc(granules + 1, sizeof(std::uint32_t))));
  if (users_ == nullptr) throw std::bad_alloc();
  isMapped_.resize(granules);
}

DeviceHeap::~DeviceHeap() = default;

DeviceHeap::Granules DeviceHeap::granulesOf(AddressRange range) const {
  return {(range.base - window_.base) / kGranuleBytes,
          (roundUp(range.end(), kGranuleBytes) - window_.base) / kGranuleBytes};
}

CudaError DeviceHeap::allocate(std::uint64_t bytes, std::uint64_t* address, std::uint64_t alignment) {
  *address = 0;
  if (const CudaError error = device_.asyncError(); error != CudaError::success) return error;
  if (bytes == 0) return CudaError::success;
  const Allocation tags{.kind = MemoryKind::device, .deviceIndex = device_.index()};
  const CudaError error = allocateFor(tags, bytes, alignment, address);
  if (error != CudaError::memoryAllocation) return error;
  const bool pooled = StreamOrderedPool::giveBackAll(device_);
  if (!device_.session().interprocess().reclaim(device_) && !pooled) return error;
  return allocateFor(tags, bytes, alignment, address);
}

CudaError DeviceHeap::allocateFor(const Allocation& tags, std::uint64_t bytes, std::uint64_t alignment,
                                  std::uint64_t* address) {
  if (bytes > device_.info().memoryLimit || bytes > window_.bytes) return CudaError::memoryAllocation;
  // A large block begins with a granule, so that it shares none with what lives longer, but for its end. A smaller one does not: what
  // would be left free before the next is transferred with every swap-in, and models consist of hundreds of tensors of a few granules.
  if (bytes >= kLeastPaged) alignment = std::max(alignment, bytes >= kLeastAligned ? kGranuleBytes : kPageBytes);
  const std::lock_guard lock(mutex_);
  const std::uint64_t gap = device_.session().check() != nullptr ? AccessCheck::kGapBytes : 0;
  const auto taken = takeSpace([&] { return space_.take(bytes + gap, alignment); });
  if (!taken) return CudaError::memoryAllocation;
  if (const CudaError error = back(taken->range); error != CudaError::success) {
    space_.give(taken->range, taken->epoch);
    return error;
  }
  fence(taken->epoch);
  mapMissing(granulesOf(taken->range));
  Block& block = blocks_[taken->range.base];
  block.allocation = tags;
  block.allocation.range = {taken->range.base, bytes};
  block.allocation.deviceBase = taken->range.base;
  block.allocation.bufferId = device_.session().handles().nextId();
  block.occupiedBytes = taken->range.bytes;
  block.resting = block.exported = false;
  block.adopted = false;
  const AddressRange told = toldOf(block);
  device_.queue().put(wire::Allocated{.base = told.base, .bytes = told.bytes});
  *address = taken->range.base;
  return CudaError::success;
}

template <class Take>
std::optional<RangeAllocator::Taken> DeviceHeap::takeSpace(Take&& take) {
  auto taken = take();
  if (taken || withheld_.empty()) return taken;
  for (; !withheld_.empty(); withheld_.pop_front()) space_.give(withheld_.front().range, withheld_.front().epoch);
  withheldBytes_ = 0;
  return take();
}

void DeviceHeap::fence(std::uint64_t epoch) {
  CommandQueue::Batch batch(device_.queue());
  if (epoch <= settled_) return;
  settled_ = this->epoch();
  batch.put(wire::Fence{});
}

CudaError DeviceHeap::adopt(const Allocation& tags, AddressRange range) {
  const std::lock_guard lock(mutex_);
  if (window_.overlaps(range) || range.empty() || !(tags.imported ? shared_ : adopted_).hold(range)) return CudaError::invalidValue;
  adopts_.store(true, std::memory_order_relaxed);
  Block& block = blocks_[range.base];
  block.allocation = tags;
  block.allocation.range = range;
  block.allocation.deviceBase = range.base;
  block.allocation.bufferId = device_.session().handles().nextId();
  block.occupiedBytes = range.bytes;
  block.resting = block.exported = false;
  block.adopted = true;
  return CudaError::success;
}

CudaError DeviceHeap::adoptShared(AddressRange range) {
  const Allocation tags{.kind = MemoryKind::device, .imported = true, .deviceIndex = device_.index()};
  return adopt(tags, range) == CudaError::success ? CudaError::success : kMapBufferObjectFailed;
}

void DeviceHeap::settleMappings() {
  const std::lock_guard lock(mutex_);
  ask(0);
}

AddressRange DeviceHeap::blockAt(std::uint64_t address) const {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(address);
  return found == blocks_.end() ? AddressRange{} : AddressRange{address, found->second.occupiedBytes};
}

void DeviceHeap::markExported(std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  if (const auto found = blocks_.find(address); found != blocks_.end()) found->second.exported = true;
}

void DeviceHeap::retire(std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  if (const auto found = blocks_.find(address); found != blocks_.end()) found->second.resting = true;
}

CudaError DeviceHeap::release(std::uint64_t address) {
  if (const CudaError error = device_.asyncError(); error != CudaError::success) return error;
  if (address == 0) return CudaError::success;
  std::uint64_t pool;
  bool exported;
  {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(address);
    if (found == blocks_.end() || found->second.resting || found->second.allocation.variable ||
        found->second.allocation.imported) {
      return CudaError::invalidValue;
    }
    pool = found->second.allocation.pool;
    exported = found->second.exported;
  }
  if (exported) return device_.session().interprocess().release(device_, address);
  return pool != 0 ? StreamOrderedPool::releaseUnordered(device_, address) : releaseFor(address);
}

CudaError DeviceHeap::releaseFor(std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) return CudaError::invalidValue;
  const AddressRange range{address, found->second.occupiedBytes};
  if (found->second.adopted) {
    (found->second.allocation.imported ? shared_ : adopted_).release(range);
    blocks_.erase(found);
    return CudaError::success;
  }
  const AddressRange told = toldOf(found->second);
  const bool wasTold = !found->second.resting || device_.session().check() == nullptr;
  blocks_.erase(found);
  if (wasTold) device_.queue().put(wire::Freed{.base = told.base, .bytes = told.bytes});
  giveSpace(range);
  vacate(granulesOf(range));
  shrink();
  return CudaError::success;
}

void DeviceHeap::retag(std::uint64_t address, std::uint64_t bytes, std::uint64_t stream, bool resting) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) return;
  Block& block = found->second;
  const bool tells = device_.session().check() != nullptr && block.resting != resting;
  if (tells && resting) device_.queue().put(wire::Freed{.base = address, .bytes = block.allocation.range.bytes});
  block.resting = resting;
  block.allocation.range.bytes = bytes;
  block.allocation.stream = stream;
  if (tells && !resting) device_.queue().put(wire::Allocated{.base = address, .bytes = bytes});
  if (!resting) block.allocation.bufferId = device_.session().handles().nextId();
}

bool DeviceHeap::find(std::uint64_t address, Allocation* found) const {
  {
    const std::lock_guard lock(mutex_);
    auto after = blocks_.upper_bound(address);
    if (after != blocks_.begin()) {
      const Block& block = std::prev(after)->second;
      if (block.allocation.range.contains(address)) {
        if (!block.resting) *found = block.allocation;
        return !block.resting;
      }
    }
  }
  return device_.virtualMemory().find(address, found);
}

AddressRange DeviceHeap::toldOf(const Block& block) const {
  const AddressRange exact = block.allocation.range;
  return device_.session().check() != nullptr ? exact : AddressRange{exact.base, block.occupiedBytes};
}

void DeviceHeap::giveSpace(AddressRange range) {
  const std::uint64_t epoch = epoch_.fetch_add(1, std::memory_order_acq_rel) + 1;
  if (device_.session().check() == nullptr) return space_.give(range, epoch);
  withheld_.push_back({range, epoch});
  withheldBytes_ += range.bytes;
  const std::uint64_t most = window_.bytes / kWithheldShare;
  for (; withheldBytes_ > most; withheld_.pop_front()) {
    withheldBytes_ -= withheld_.front().range.bytes;
    space_.give(withheld_.front().range, withheld_.front().epoch);
  }
}

std::vector<Allocation> DeviceHeap::live() const {
  const std::lock_guard lock(mutex_);
  std::vector<Allocation> found;
  for (const auto& [address, block] : blocks_)
    if (!block.resting && !block.adopted && !block.allocation.variable) found.push_back(block.allocation);
  return found;
}

void DeviceHeap::settleReturns() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(returning_, false)) ask(0);
}

DeviceHeap::Usage DeviceHeap::usage() const {
  const std::lock_guard lock(mutex_);
  return {(occupiedGranules_ + heldGranules_) * kGranuleBytes, mappedGranules_ * kGranuleBytes, reservedBytes_};
}

void DeviceHeap::settle(std::uint64_t epoch) {
  const std::lock_guard lock(mutex_);
  settled_ = std::max(settled_, epoch);
}

void DeviceHeap::forgetEverything() {
  for (const auto& [address, block] : blocks_)
    if (block.adopted) (block.allocation.imported ? shared_ : adopted_).release({address, block.occupiedBytes});
  blocks_.clear();
  space_ = RangeAllocator(window_, kAllocationUnit);
  withheld_.clear();
  withheldBytes_ = 0;
  const std::uint64_t granules = isMapped_.size();
  std::fill_n(users_.get(), granules, 0);
  isMapped_.assign(granules, false);
  idle_.clear();
  occupiedGranules_ = mappedGranules_ = heldGranules_ = reservedBytes_ = 0;
  returning_ = false;
  settled_ = epoch();
}

// --- Addresses and memory apart

CudaError DeviceHeap::reserveAddresses(std::uint64_t bytes, std::uint64_t alignment, std::uint64_t hint, AddressRange* range) {
  if (bytes > window_.bytes) return CudaError::memoryAllocation;
  const std::lock_guard lock(mutex_);
  std::optional<RangeAllocator::Taken> taken;
  if (isAligned(hint, std::max(alignment, kGranuleBytes)) && window_.contains(hint, bytes)) taken = space_.takeAt({hint, bytes});
  if (!taken) taken = takeSpace([&] { return space_.take(bytes, std::max(alignment, kGranuleBytes)); });
  if (!taken) return CudaError::memoryAllocation;
  fence(taken->epoch);
  // What was left mapped there for the next allocation would be neither zero nor anybody's.
  const Granules granules = granulesOf(taken->range);
  while (true) {
    const auto first = idle_.lower_bound(granules.first);
    if (first == idle_.end() || *first >= granules.end) break;
    auto last = first;
    while (std::next(last) != idle_.end() && *std::next(last) == *last + 1 && *last + 1 < granules.end) ++last;
    const std::uint64_t from = *first, count = *last - from + 1;
    std::fill_n(isMapped_.begin() + static_cast<std::ptrdiff_t>(from), count, false);
    mappedGranules_ -= count;
    idle_.erase(first, std::next(last));
    device_.queue().put(wire::MemUnmap{.base = addressOf(from), .bytes = count * kGranuleBytes});
  }
  *range = taken->range;
  return CudaError::success;
}

void DeviceHeap::giveAddresses(AddressRange range) {
  const std::lock_guard lock(mutex_);
  giveSpace(range);
}

CudaError DeviceHeap::hold(std::uint64_t bytes) {
  if (const CudaError error = device_.asyncError(); error != CudaError::success) return error;
  if (bytes > device_.info().memoryLimit) return CudaError::memoryAllocation;
  const CudaError error = tryHold(bytes / kGranuleBytes);
  if (error != CudaError::memoryAllocation) return error;
  const bool pooled = StreamOrderedPool::giveBackAll(device_);
  if (!device_.session().interprocess().reclaim(device_) && !pooled) return error;
  return tryHold(bytes / kGranuleBytes);
}

CudaError DeviceHeap::tryHold(std::uint64_t granules) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t needed = (mappedGranules_ + heldGranules_ + granules) * kGranuleBytes;
  if (needed > reservedBytes_ && !reserveMore(needed - reservedBytes_)) {
    shrink();
    const CudaError error = device_.peekError();
    return error != CudaError::success ? error : CudaError::memoryAllocation;
  }
  heldGranules_ += granules;
  return CudaError::success;
}

void DeviceHeap::letGo(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  heldGranules_ -= bytes / kGranuleBytes;
  shrink();
}

void DeviceHeap::mapHeld(AddressRange range) {
  const std::lock_guard lock(mutex_);
  const Granules granules = granulesOf(range);
  heldGranules_ -= range.bytes / kGranuleBytes;
  occupy(granules);
  mapMissing(granules);
}

void DeviceHeap::unmapHeld(AddressRange range) {
  const std::lock_guard lock(mutex_);
  const Granules granules = granulesOf(range);
  vacate(granules);
  for (std::uint64_t granule = granules.first; granule < granules.end; ++granule) {
    idle_.erase(granule);
    isMapped_[granule] = false;
  }
  const std::uint64_t count = granules.end - granules.first;
  mappedGranules_ -= count;
  heldGranules_ += count;
  device_.queue().put(wire::MemUnmap{.base = range.base, .bytes = range.bytes});
}

// --- Backing

void DeviceHeap::occupy(Granules granules) {
  for (std::uint64_t granule = granules.first; granule < granules.end; ++granule) {
    if (users_[granule]++ != 0) continue;
    ++occupiedGranules_;
    if (isMapped_[granule]) idle_.erase(granule);
  }
}

void DeviceHeap::vacate(Granules granules) {
  for (std::uint64_t granule = granules.first; granule < granules.end; ++granule) {
    if (--users_[granule] != 0) continue;
    --occupiedGranules_;
    if (isMapped_[granule]) idle_.insert(granule);
  }
}

CudaError DeviceHeap::back(AddressRange range) {
  const Granules granules = granulesOf(range);
  occupy(granules);
  std::uint64_t missing = 0;
  for (std::uint64_t granule = granules.first; granule < granules.end; ++granule) missing += !isMapped_[granule];
  const std::uint64_t needed = (mappedGranules_ + heldGranules_ + missing) * kGranuleBytes;
  if (needed > reservedBytes_ && !reserveMore(needed - reservedBytes_)) {
    vacate(granules);
    shrink();
    const CudaError error = device_.peekError();
    return error != CudaError::success ? error : CudaError::memoryAllocation;
  }
  return CudaError::success;
}

bool DeviceHeap::reserveMore(std::uint64_t shortBytes) {
  const std::uint64_t limit = roundDown(device_.info().memoryLimit, kGranuleBytes);
  const std::uint64_t left = limit - std::min(limit, reservedBytes_);
  if (shortBytes <= left) {
    const std::uint64_t step = std::clamp(roundUp(reservedBytes_ / 4, kGranuleBytes), kLeastStep, kMostStep);
    const std::uint64_t wanted = std::max(shortBytes, std::min(step, left));
    if (ask(wanted) || (wanted > shortBytes && ask(shortBytes))) return true;
  }
  // What lies idle can be had without asking.
  const std::uint64_t unmapped = unmapIdle(shortBytes);
  if (unmapped >= shortBytes) return true;
  const std::uint64_t rest = shortBytes - unmapped;
  return rest <= left && unmapped != 0 && ask(rest);
}

bool DeviceHeap::ask(std::uint64_t bytes) {
  Session& session = device_.session();
  if (replySlot_ == 0) {
    const auto lease = session.slots().take();
    if (!lease) return false;
    replySlot_ = lease->index;
    replyValue_ = lease->value;
  }
  const Mark reply{replySlot_, ++replyValue_};
  {
    CommandQueue::Batch batch(device_.queue());
    batch.put(wire::MemReserve{.bytes = bytes, .value = reply.value, .slot = reply.slot});
    batch.flush();
  }
  if (session.wait(device_.index(), reply) != CudaError::success) return false;
  const auto result = static_cast<CudaError>(session.slot(reply.slot).result.load(std::memory_order_relaxed));
  if (result != CudaError::success) {
    log(LogLevel::info,
        "device %u: %" PRIu64 " more bytes refused (error %u): %" PRIu64 " reserved, the limit is %" PRIu64,
        device_.index(), bytes, static_cast<unsigned>(result), reservedBytes_, device_.info().memoryLimit);
    return false;
  }
  reservedBytes_ += bytes;
  return true;
}

void DeviceHeap::mapMissing(Granules granules) {
  std::uint64_t granule = granules.first;
  while (granule < granules.end) {
    if (isMapped_[granule]) {
      ++granule;
      continue;
    }
    const std::uint64_t first = granule;
    while (granule < granules.end && !isMapped_[granule]) isMapped_[granule++] = true;
    mappedGranules_ += granule - first;
    device_.queue().put(wire::MemMap{.base = addressOf(first), .bytes = (granule - first) * kGranuleBytes});
  }
}

std::uint64_t DeviceHeap::unmapIdle(std::uint64_t bytes) {
  std::uint64_t unmapped = 0;
  while (unmapped < bytes && !idle_.empty()) {
    // From the top: the low addresses are the first to be used again.
    std::uint64_t last = *idle_.rbegin(), first = last;
    for (;;) {
      idle_.erase(first);
      isMapped_[first] = false;
      --mappedGranules_;
      unmapped += kGranuleBytes;
      if (unmapped >= bytes || first == 0 || !idle_.contains(first - 1)) break;
      --first;
    }
    device_.queue().put(wire::MemUnmap{.base = addressOf(first), .bytes = (last - first + 1) * kGranuleBytes});
  }
  return unmapped;
}

void DeviceHeap::shrink() {
  const std::uint64_t occupied = occupiedGranules_ * kGranuleBytes;
  const std::uint64_t idle = idle_.size() * kGranuleBytes;
  const std::uint64_t keptIdle = std::max(kLeastIdle, occupied / 8);
  if (idle > keptIdle) unmapIdle(idle - keptIdle / 2);
  const std::uint64_t spare = reservedBytes_ - (mappedGranules_ + heldGranules_) * kGranuleBytes;
  const std::uint64_t keptSpare = std::max(kLeastSpare, occupied / 4);
  if (spare > keptSpare) {
    const std::uint64_t returned = roundDown(spare - keptSpare / 2, kGranuleBytes);
    device_.queue().put(wire::MemReturn{.bytes = returned});
    reservedBytes_ -= returned;
    returning_ = true;
  }
}

}  // namespace rouse::client
