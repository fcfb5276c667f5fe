#include "client-shim/core/stream_ordered_pool.h"

#include <algorithm>
#include <memory>

#include "client-shim/core/command_queue.h"
#include "client-shim/core/device.h"
#include "client-shim/core/device_heap.h"
#include "client-shim/core/session.h"
#include "client-shim/core/session_handles.h"

namespace rouse::client {

namespace {

// A resting block may be this much larger than what is asked for.
std::uint64_t largestFor(std::uint64_t bytes) { return bytes + bytes / 4 + 4096; }

}  // namespace

StreamOrderedPool::StreamOrderedPool(Device& device, std::uint64_t maxBytes)
    : device_(device), handle_((std::uint64_t{0x50} << 56) | device.session().handles().nextId()), maxBytes_(maxBytes) {
  SessionHandles& handles = device.session().handles();
  const std::lock_guard lock(handles.poolMutex);
  handles.pools[handle_] = this;
}

StreamOrderedPool::~StreamOrderedPool() = default;

CudaError StreamOrderedPool::allocate(std::uint64_t bytes, Stream& stream, std::uint64_t* address) {
  *address = 0;
  if (&stream.device() != &device_) return CudaError::invalidValue;
  if (const CudaError error = device_.asyncError(); error != CudaError::success) return error;
  if (bytes == 0) return CudaError::success;
  if (bytes > device_.info().memoryLimit) return CudaError::memoryAllocation;
  // Where accesses are checked a block is what was asked for, exactly.
  if (device_.session().check() == nullptr) bytes = roundUp(bytes, kAllocationUnit);
  {
    const std::lock_guard lock(mutex_);
    if (takeResting(bytes, stream, false, address)) return CudaError::success;
    const CudaError error = takeFresh(bytes, stream, address);
    if (error != CudaError::memoryAllocation) return error;
    if (takeResting(bytes, stream, true, address)) return CudaError::success;
    if (maxBytes_ != 0) trim(maxBytes_ - std::min(maxBytes_, bytes), false);
  }
  giveBackAll(device_);
  const std::lock_guard lock(mutex_);
  return takeFresh(bytes, stream, address);
}

bool StreamOrderedPool::takeResting(std::uint64_t bytes, Stream& stream, bool mayWait, std::uint64_t* address) {
  const std::uint64_t largest = device_.session().check() == nullptr ? largestFor(bytes) : bytes;
  Session& session = device_.session();
  for (auto entry = resting_.lower_bound({bytes, 0}); entry != resting_.end() && entry->first <= largest; ++entry) {
    Block& block = blocks_[entry->second];
    if (block.streamId != stream.id() && !session.reached(block.freed)) {
      if (!mayWait) continue;
      device_.queue().put(stream, wire::SlotWait{.value = block.freed.value, .slot = block.freed.slot});
    }
    *address = entry->second;
    block.resting = false;
    resting_.erase(entry);
    session.handles().restingBlocks.fetch_sub(1, std::memory_order_relaxed);
    device_.heap().retag(*address, block.bytes, stream.handle(), false);
    block.used = bytes;
    use(bytes);
    return true;
  }
  return false;
}

CudaError StreamOrderedPool::takeFresh(std::uint64_t bytes, Stream& stream, std::uint64_t* address) {
  if (maxBytes_ != 0 && bytes > maxBytes_ - std::min(maxBytes_, usage_.reservedBytes)) {
    return CudaError::memoryAllocation;
  }
  const Allocation tags{
      .kind = MemoryKind::device, .deviceIndex = device_.index(), .pool = handle_, .stream = stream.handle()};
  const CudaError error = device_.heap().allocateFor(tags, bytes, kAllocationUnit, address);
  if (error != CudaError::success) return error;
  blocks_[*address] = {.bytes = bytes, .used = bytes};
  usage_.reservedBytes += bytes;
  usage_.reservedHighBytes = std::max(usage_.reservedHighBytes, usage_.reservedBytes);
  use(bytes);
  return CudaError::success;
}

void StreamOrderedPool::use(std::uint64_t bytes) {
  usage_.usedBytes += bytes;
  usage_.usedHighBytes = std::max(usage_.usedHighBytes, usage_.usedBytes);
}

void StreamOrderedPool::rest(std::uint64_t address, Stream& stream) {
  const auto found = blocks_.find(address);
  if (found == blocks_.end() || found->second.resting) return;
  Block& block = found->second;
  {
    CommandQueue::Batch batch(stream.device().queue());
    block.freed = batch.mark(stream);
  }
  block.resting = true;
  block.streamId = stream.id();
  usage_.usedBytes -= block.used;
  resting_.insert({block.bytes, address});
  device_.session().handles().restingBlocks.fetch_add(1, std::memory_order_relaxed);
  device_.heap().retag(address, block.bytes, 0, true);
}

void StreamOrderedPool::remove(std::map<std::uint64_t, Block>::iterator block) {
  usage_.reservedBytes -= block->second.bytes;
  if (block->second.resting) {
    resting_.erase({block->second.bytes, block->first});
    device_.session().handles().restingBlocks.fetch_sub(1, std::memory_order_relaxed);
  } else {
    usage_.usedBytes -= block->second.used;
  }
  (void)device_.heap().releaseFor(block->first);
  blocks_.erase(block);
}

std::uint64_t StreamOrderedPool::trim(std::uint64_t keepBytes, bool onlyReached) {
  std::uint64_t trimmed = 0;
  // The largest first: fewest blocks go.
  for (auto entry = resting_.end(); entry != resting_.begin() && usage_.reservedBytes > keepBytes;) {
    --entry;
    const auto block = blocks_.find(entry->second);
    if (onlyReached && !device_.session().reached(block->second.freed)) continue;
    ++entry;
    trimmed += block->second.bytes;
    remove(block);
  }
  return trimmed;
}

std::uint64_t StreamOrderedPool::releaseThreshold() const {
  const std::lock_guard lock(mutex_);
  return threshold_;
}

void StreamOrderedPool::setReleaseThreshold(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  threshold_ = bytes;
}

PoolReuse StreamOrderedPool::reuse() const {
  const std::lock_guard lock(mutex_);
  return reuse_;
}

void StreamOrderedPool::setReuse(const PoolReuse& reuse) {
  const std::lock_guard lock(mutex_);
  reuse_ = reuse;
}

PoolUsage StreamOrderedPool::usage() const {
  const std::lock_guard lock(mutex_);
  return usage_;
}

void StreamOrderedPool::resetReservedHigh() {
  const std::lock_guard lock(mutex_);
  usage_.reservedHighBytes = usage_.reservedBytes;
}

void StreamOrderedPool::resetUsedHigh() {
  const std::lock_guard lock(mutex_);
  usage_.usedHighBytes = usage_.usedBytes;
}

CudaError StreamOrderedPool::trimTo(std::uint64_t keepBytes) {
  if (const CudaError error = device_.asyncError(); error != CudaError::success) return error;
  const std::lock_guard lock(mutex_);
  trim(keepBytes, false);
  return CudaError::success;
}

// --- All pools of a device

MemoryPool* StreamOrderedPool::find(Session& session, std::uint64_t handle) {
  SessionHandles& handles = session.handles();
  const std::lock_guard lock(handles.poolMutex);
  const auto found = handles.pools.find(handle);
  if (found == handles.pools.end()) return nullptr;
  const std::lock_guard poolLock(found->second->mutex_);
  return found->second->destroyed_ ? nullptr : found->second;
}

void StreamOrderedPool::trimAll(Device& device) {
  SessionHandles& handles = device.session().handles();
  if (handles.restingBlocks.load(std::memory_order_relaxed) == 0) return;
  const std::lock_guard lock(handles.poolMutex);
  for (const auto& [handle, pool] : handles.pools) {
    if (&pool->device_ != &device) continue;
    const std::lock_guard poolLock(pool->mutex_);
    pool->trim(pool->threshold_, true);
  }
}

bool StreamOrderedPool::giveBackAll(Device& device) {
  SessionHandles& handles = device.session().handles();
  if (handles.restingBlocks.load(std::memory_order_relaxed) == 0) return false;
  std::uint64_t given = 0;
  const std::lock_guard lock(handles.poolMutex);
  for (const auto& [handle, pool] : handles.pools) {
    if (&pool->device_ != &device) continue;
    const std::lock_guard poolLock(pool->mutex_);
    given += pool->trim(0, false);
  }
  return given != 0;
}

CudaError StreamOrderedPool::releaseUnordered(Device& device, std::uint64_t address) {
  SessionHandles& handles = device.session().handles();
  const std::lock_guard lock(handles.poolMutex);
  for (auto entry = handles.pools.begin(); entry != handles.pools.end(); ++entry) {
    StreamOrderedPool* pool = entry->second;
    std::unique_lock poolLock(pool->mutex_);
    const auto block = pool->blocks_.find(address);
    if (block == pool->blocks_.end()) continue;
    if (block->second.resting) return CudaError::invalidValue;
    pool->remove(block);
    if (pool->destroyed_ && pool->empty()) {
      poolLock.unlock();
      handles.pools.erase(entry);
      delete pool;
    }
    return CudaError::success;
  }
  return CudaError::invalidValue;
}

void StreamOrderedPool::forgetAll(Device& device) {
  SessionHandles& handles = device.session().handles();
  const std::lock_guard lock(handles.poolMutex);
  for (auto entry = handles.pools.begin(); entry != handles.pools.end();) {
    StreamOrderedPool* pool = entry->second;
    if (&pool->device_ != &device) {
      ++entry;
      continue;
    }
    {
      const std::lock_guard poolLock(pool->mutex_);
      handles.restingBlocks.fetch_sub(pool->resting_.size(), std::memory_order_relaxed);
      pool->blocks_.clear();
      pool->resting_.clear();
      pool->usage_ = {};
    }
    if (pool == &device.defaultPool()) {
      ++entry;
      continue;
    }
    device.poolDestroyed(*pool);
    entry = handles.pools.erase(entry);
    delete pool;
  }
}

// --- Verbs

CudaError createPool(Device& device, std::uint64_t maxBytes, MemoryPool** pool) {
  if (const CudaError error = device.asyncError(); error != CudaError::success) return error;
  // Owned by the session's list until it is destroyed.
  *pool = new StreamOrderedPool(device, maxBytes);
  return CudaError::success;
}

CudaError destroyPool(MemoryPool& pool) {
  Device& device = pool.device();
  if (&pool == &device.defaultPool()) return CudaError::invalidValue;
  auto& ending = static_cast<StreamOrderedPool&>(pool);
  device.poolDestroyed(pool);
  SessionHandles& handles = device.session().handles();
  const std::lock_guard lock(handles.poolMutex);
  {
    const std::lock_guard poolLock(ending.mutex_);
    if (ending.destroyed_) return CudaError::invalidValue;
    ending.destroyed_ = true;
    ending.trim(0, false);
    if (!ending.empty()) return CudaError::success;
  }
  handles.pools.erase(ending.handle());
  delete &ending;
  return CudaError::success;
}

CudaError releaseAsync(std::uint64_t address, Stream& stream) {
  Device& device = stream.device();
  if (const CudaError error = device.asyncError(); error != CudaError::success) return error;
  Device* owner = device.session().deviceAt(address);
  if (owner == nullptr) return CudaError::invalidValue;
  Allocation found;
  if (!owner->memory().find(address, &found) || found.range.base != address) return CudaError::invalidValue;
  // Ordinary memory is fenced off at its next use, which is behind all streams.
  if (found.pool == 0) return owner->memory().release(address);

  SessionHandles& handles = device.session().handles();
  const std::lock_guard lock(handles.poolMutex);
  const auto entry = handles.pools.find(found.pool);
  if (entry == handles.pools.end()) return CudaError::invalidValue;
  StreamOrderedPool* pool = entry->second;
  bool last;
  {
    const std::lock_guard poolLock(pool->mutex_);
    pool->rest(address, stream);
    if (pool->destroyed_) pool->trim(0, false);
    last = pool->destroyed_ && pool->empty();
  }
  if (last) {
    handles.pools.erase(entry);
    delete pool;
  }
  return CudaError::success;
}

}  // namespace rouse::client
