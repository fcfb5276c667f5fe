#include "client-shim/core/device.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <mutex>
#include <vector>

#include "client-shim/core/access_check.h"
#include "client-shim/core/callback_thread.h"
#include "client-shim/core/command_queue.h"
#include "client-shim/core/interprocess.h"
#include "client-shim/core/device_heap.h"
#include "client-shim/core/host_heap.h"
#include "client-shim/core/log.h"
#include "client-shim/core/memory_pool.h"
#include "client-shim/core/session.h"
#include "client-shim/core/session_handles.h"
#include "client-shim/core/staging.h"
#include "client-shim/core/stream_ordered_pool.h"
#include "client-shim/core/thread_streams.h"
#include "client-shim/core/virtual_memory.h"
#include "client-shim/core/wire_numbers.h"
#include "schemas/wire/output_ring.h"
#include "schemas/wire/slot_wait.h"

namespace rouse::client {

struct Device::Parts {
  explicit Parts(Device& device) : heap(device), virtualMemory(device), output(device.queue_->header(), device.queue_->output()) {}

  std::mutex streamsMutex;
  std::vector<Stream*> streams;  // all live ones, the legacy stream first
  std::vector<Mark> orphans;     // last work of destroyed streams
  Stream* legacy = nullptr;
  Stream* internal = nullptr;
  // Guarded by the ring lock.
  WireNumbers streamNumbers{1};
  WireNumbers moduleNumbers{0};

  DeviceHeap heap;
  VirtualMemory virtualMemory;
  std::mutex poolMutex;
  std::unique_ptr<StreamOrderedPool> defaultPool;
  MemoryPool* currentPool = nullptr;

  std::mutex outputMutex;
  wire::OutputConsumer output;

  // CUDA Programming Guide: default stack 1 KiB a thread, printf FIFO 1 MiB, device heap 8 MiB.
  std::array<std::atomic<std::uint64_t>, 3> limits{1024, 1 << 20, 8 << 20};
};

Device::Device(Session& session, std::uint32_t index, DeviceInfo info, std::unique_ptr<CommandQueue> queue,
               wire::DeviceStatus& status)
    : session_(&session), index_(index), info_(std::move(info)), status_(&status), queue_(std::move(queue)) {
  parts_ = std::make_unique<Parts>(*this);
  makeStream({}, false, &parts_->legacy);
  parts_->defaultPool = std::make_unique<StreamOrderedPool>(*this, 0);
  parts_->currentPool = parts_->defaultPool.get();
}

Device::~Device() = default;

DeviceMemory& Device::memory() { return parts_->heap; }
DeviceHeap& Device::heap() { return parts_->heap; }
VirtualMemory& Device::virtualMemory() { return parts_->virtualMemory; }

// --- Errors

// What happened before the executor went away says more than that it did.
CudaError Device::peekError() const {
  const auto error = static_cast<CudaError>(status_->error.load(std::memory_order_acquire));
  return lost_.load(std::memory_order_relaxed) && !isSticky(error) ? CudaError::devicesUnavailable : error;
}

CudaError Device::takeError() {
  const CudaError error = peekError();
  if (lost_.load(std::memory_order_relaxed) && !isSticky(error)) return CudaError::devicesUnavailable;
  if (error == CudaError::success) return error;
  if (!isSticky(error) || !saidSticky_.exchange(true, std::memory_order_relaxed)) {
    if (session_->check() != nullptr) drainOutput();  // what is wrong, before the program hears that something is
    log(LogLevel::error, "device %u: error %u: %.447s", index_, static_cast<unsigned>(error), status_->message);
  }
  if (isSticky(error)) return error;
  return static_cast<CudaError>(status_->error.exchange(0, std::memory_order_acq_rel));
}

// --- Streams

Stream& Device::legacyStream() { return *parts_->legacy; }

CudaError Device::makeStream(const StreamOptions& options, bool hidden, Stream** stream) {
  const auto lease = session_->slots().take();
  const auto made = session_->handles().streams.make();
  if (!lease || made.object == nullptr) {
    log(LogLevel::error, "device %u: out of streams: %u slots, %u handles", index_, wire::kSlotCount,
        HandleTable<Stream, 0>::kMaxObjects);
    return CudaError::memoryAllocation;
  }
  Stream& fresh = *made.object;
  fresh.device_ = this;
  fresh.handle_ = made.handle;
  fresh.id_ = session_->handles().nextId();
  fresh.nonBlocking_ = options.nonBlocking;
  fresh.priority_ = std::clamp(options.priority, kGreatestPriority, kLeastPriority);
  fresh.threadDefault_ = false;
  fresh.account = {};
  fresh.account.markSlot = lease->index;
  fresh.account.markValue = lease->value;
  if (parts_->legacy == nullptr) {
    fresh.wire_ = wire::kLegacyStream;
  } else {
    CommandQueue::Batch batch(*queue_);
    fresh.wire_ = parts_->streamNumbers.take();
    batch.put(
        wire::StreamCreate{.stream = fresh.wire_, .flags = options.nonBlocking ? 1u : 0u, .priority = fresh.priority_});
  }
  {
    const std::lock_guard lock(parts_->streamsMutex);
    parts_->streams.push_back(&fresh);
  }
  if (!hidden) session_->handles().streams.publish(made.handle);
  *stream = &fresh;
  return CudaError::success;
}

CudaError Device::createStream(const StreamOptions& options, Stream** stream) {
  if (const CudaError error = asyncError(); error != CudaError::success) return error;
  if (options.nonBlocking) hasNonBlocking_.store(true, std::memory_order_relaxed);
  return makeStream(options, false, stream);
}

CudaError Device::destroyStream(Stream& stream) {
  if (stream.legacy() || stream.threadDefault()) return CudaError::invalidResourceHandle;
  return endStream(stream);
}

CudaError Device::endStream(Stream& stream) {
  if (!session_->handles().streams.withdraw(stream.handle())) return CudaError::invalidResourceHandle;
  Mark last;
  {
    CommandQueue::Batch batch(*queue_);
    last = batch.markOwn(stream);
    batch.put(wire::StreamDestroy{.stream = stream.wireHandle()});
    parts_->streamNumbers.give(stream.wireHandle());
  }
  {
    const std::lock_guard lock(parts_->streamsMutex);
    std::erase(parts_->streams, &stream);
    std::erase_if(parts_->orphans, [this](Mark mark) { return session_->reached(mark); });
    if (!session_->reached(last)) parts_->orphans.push_back(last);
  }
  const StreamAccount& account = stream.account;
  session_->slots().give({account.markSlot, account.markValue});
  if (account.reachedSlot != 0) session_->slots().give({account.reachedSlot, account.reachedValue});
  if (account.returnedSlot != 0) session_->slots().give({account.returnedSlot, account.returnedValue});
  session_->handles().streams.recycle(stream.handle());
  return asyncError();
}

CudaError Device::perThreadStream(Stream** stream) { return ThreadStreams::find(*this, stream); }

CudaError Device::internalStream(Stream** stream) {
  {
    const std::lock_guard lock(parts_->streamsMutex);
    if (parts_->internal != nullptr) {
      *stream = parts_->internal;
      return CudaError::success;
    }
  }
  Stream* made = nullptr;
  if (const CudaError error = makeStream({.nonBlocking = true}, true, &made); error != CudaError::success) return error;
  const std::lock_guard lock(parts_->streamsMutex);
  if (parts_->internal == nullptr) parts_->internal = made;
  *stream = parts_->internal;
  return CudaError::success;
}

CudaError Device::waitForAll() {
  std::vector<Mark> marks;
  {
    const std::lock_guard lock(parts_->streamsMutex);
    marks = parts_->orphans;
    CommandQueue::Batch batch(*queue_);
    for (Stream* stream : parts_->streams) marks.push_back(batch.markOwn(*stream));
    batch.flush();
  }
  for (const Mark mark : marks) {
    if (session_->reached(mark)) continue;
    if (const CudaError error = session_->wait(index_, mark); error != CudaError::success) return error;
  }
  return CudaError::success;
}

CudaError Device::synchronize() {
  const std::uint64_t freed = parts_->heap.epoch();
  if (const CudaError error = waitForAll(); error != CudaError::success) return error;
  parts_->heap.settle(freed);
  StreamOrderedPool::trimAll(*this);
  drainOutput();
  return asyncError();
}

wire::Handle Device::takeModuleNumber() { return parts_->moduleNumbers.take(); }
void Device::giveModuleNumber(wire::Handle handle) { parts_->moduleNumbers.give(handle); }

// --- Memory pools

MemoryPool& Device::defaultPool() { return *parts_->defaultPool; }

CudaError Device::currentPool(MemoryPool** pool) {
  const std::lock_guard lock(parts_->poolMutex);
  *pool = parts_->currentPool;
  return CudaError::success;
}

CudaError Device::setCurrentPool(MemoryPool& pool) {
  if (&pool.device() != this) return CudaError::invalidValue;
  const std::lock_guard lock(parts_->poolMutex);
  parts_->currentPool = &pool;
  return CudaError::success;
}

void Device::poolDestroyed(MemoryPool& pool) {
  const std::lock_guard lock(parts_->poolMutex);
  if (parts_->currentPool == &pool) parts_->currentPool = parts_->defaultPool.get();
}

CudaError Device::memoryInfo(std::uint64_t* freeBytes, std::uint64_t* totalBytes) {
  if (const CudaError error = asyncError(); error != CudaError::success) return error;
  parts_->heap.settleReturns();
  const MemoryNow now = memoryNow();
  *totalBytes = now.totalBytes;
  *freeBytes = now.freeBytes;
  return CudaError::success;
}

Device::MemoryNow Device::memoryNow() const {
  const DeviceHeap::Usage usage = parts_->heap.usage();
  const std::uint64_t elsewhere = status_->freeBytes.load(std::memory_order_relaxed);
  return {.freeBytes = std::min(info_.memoryLimit - std::min(info_.memoryLimit, usage.occupiedBytes),
                                elsewhere + (usage.reservedBytes - usage.occupiedBytes)),
          .totalBytes = info_.memoryLimit,
          .occupiedBytes = usage.occupiedBytes};
}

// --- Limits, reset, text

CudaError Device::setLimit(Limit limit, std::uint64_t value) {
  if (const CudaError error = asyncError(); error != CudaError::success) return error;
  parts_->limits[static_cast<std::size_t>(limit)].store(value, std::memory_order_relaxed);
  queue_->put(wire::SetLimit{.limit = static_cast<std::uint32_t>(limit), .value = value});
  return CudaError::success;
}

std::uint64_t Device::limit(Limit limit) const {
  return parts_->limits[static_cast<std::size_t>(limit)].load(std::memory_order_relaxed);
}

void Device::drainOutput() {
  if (AccessCheck* const check = session_->check()) check->collect();
  const wire::RingHeader& header = queue_->header();
  if (header.outputTail.load(std::memory_order_acquire) == header.outputHead.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(parts_->outputMutex);
  const bool sane = parts_->output.drain([](std::string_view piece, bool toStderr) {
    std::fwrite(piece.data(), 1, piece.size(), toStderr ? stderr : stdout);
  });
  if (!sane) log(LogLevel::error, "device %u: kernels' text was malformed and skipped", index_);
  if (const std::uint64_t dropped = parts_->output.takeDropped(); dropped != 0) {
    log(LogLevel::warn, "device %u: %" PRIu64 " records of kernels' text dropped: more than %zu bytes between flushes",
        index_, dropped, wire::kOutputBytes);
  }
}

void Device::dropObjects() {
  // Signals that the reset has dropped: whoever still waits for one is let go, and the slot can be used again.
  auto settle = [this](Mark mark) {
    if (!session_->reached(mark)) wire::signal(session_->slot(mark.slot), mark.value);
  };
  auto settleAll = [&](const StreamAccount& account) {
    settle({account.markSlot, account.markValue});
    if (account.reachedSlot != 0) settle({account.reachedSlot, account.reachedValue});
    if (account.returnedSlot != 0) settle({account.returnedSlot, account.returnedValue});
  };
  for (const Mark mark : parts_->orphans) settle(mark);
  parts_->orphans.clear();
  settleAll(parts_->legacy->account);
  SessionHandles& handles = session_->handles();
  for (Stream* stream : parts_->streams) {
    if (stream == parts_->legacy) continue;
    settleAll(stream->account);
    if (!handles.streams.withdraw(stream->handle()) && stream != parts_->internal) continue;
    session_->slots().give({stream->account.markSlot, stream->account.markValue});
    handles.streams.recycle(stream->handle());
  }
  parts_->streams.assign(1, parts_->legacy);
  parts_->internal = nullptr;
  handles.events.forEach([&](Event& event) {
    if (&event.device() == this) event.abandon();
  });
}

CudaError Device::reset() {
  const auto lease = session_->slots().take();
  if (!lease) return CudaError::memoryAllocation;
  const Mark done{lease->index, lease->value + 1};
  session_->interprocess().forget(*this);
  if (AccessCheck* const check = session_->check(); check != nullptr && check->wantsLeaks()) {
    check->leaked(parts_->heap.live());
    check->leaked(parts_->virtualMemory.live());
  }
  StreamOrderedPool::forgetAll(*this);
  drainOutput();

  CudaError error;
  {
    HostHeap& host = session_->hostHeap();
    const auto virtualLock = parts_->virtualMemory.lock();
    const auto hostLock = host.lock();
    const auto heapLock = parts_->heap.lock();
    const std::lock_guard streamsLock(parts_->streamsMutex);
    {
      CommandQueue::Batch batch(*queue_);
      batch.put(wire::Reset{.value = done.value, .slot = done.slot});
      host.mapEverything(batch);
      batch.flush();
      parts_->streamNumbers.reset();
      parts_->moduleNumbers.reset();
    }
    incarnation_.fetch_add(1, std::memory_order_acq_rel);
    saidSticky_.store(false, std::memory_order_relaxed);
    error = session_->wait(index_, done);
    session_->slots().give({done.slot, done.value});
    parts_->virtualMemory.forgetEverything();
    parts_->heap.forgetEverything();
    host.settle(index_);
    session_->callbacks().forget(index_);
    session_->staging().settle(index_);
    dropObjects();
  }
  drainOutput();
  return error != CudaError::success ? error : asyncError();
}

}  // namespace rouse::client
