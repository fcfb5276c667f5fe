#include "server/device/cpu/prefault.h"

#include <sys/mman.h>

#include <algorithm>
#include <limits>

namespace rouse::cpu {
namespace {

// Linux 5.14. Older kernels refuse it, and pages are touched one by one as ever.
constexpr int kMadvPopulateWrite = 23;

}  // namespace

Prefault::Prefault(AddressRange window, WorkerPool& pool)
    : window_(window),
      pool_(pool),
      filled_(
          static_cast<std::atomic<bool>*>(std::calloc(window.bytes / kGranuleBytes + 1, sizeof(std::atomic<bool>)))) {}

int Prefault::priority() const { return std::numeric_limits<int>::max(); }

void Prefault::fill(std::uint64_t granule) {
  if (filled_[granule].exchange(true, std::memory_order_relaxed)) return;
  // Fails where a granule has been unmapped meanwhile, which is fine.
  madvise(reinterpret_cast<void*>(window_.base + granule * kGranuleBytes), kGranuleBytes, kMadvPopulateWrite);
}

void Prefault::mapped(std::uint64_t address, bool pagesExist) {
  const std::uint64_t granule = (address - window_.base) / kGranuleBytes;
  filled_[granule].store(false, std::memory_order_relaxed);
  if (!pagesExist) return;
  {
    std::lock_guard lock(mutex_);
    queued_.push_back(granule);
    if (submitted_) return;
    submitted_ = true;
  }
  pool_.submit(shared_from_this());
}

void Prefault::unmapped(AddressRange range) {
  if (!window_.contains(range)) return;
  for (std::uint64_t at = range.base; at < range.end(); at += kGranuleBytes) {
    filled_[(at - window_.base) / kGranuleBytes].store(true, std::memory_order_relaxed);
  }
}

void Prefault::stop() {
  std::lock_guard lock(mutex_);
  queued_.clear();
}

void Prefault::touch(std::uint64_t address, std::uint64_t bytes) {
  const std::uint64_t begin = std::max(address, window_.base);
  const std::uint64_t end = std::min(address + bytes, window_.end());
  if (begin >= end) return;
  const std::uint64_t last = (end - 1 - window_.base) / kGranuleBytes;
  for (std::uint64_t granule = (begin - window_.base) / kGranuleBytes; granule <= last; ++granule) fill(granule);
}

Work::Turn Prefault::run(Worker&) {
  std::uint64_t granule = 0;
  {
    std::lock_guard lock(mutex_);
    if (queued_.empty()) {
      submitted_ = false;
      return Turn::taken;
    }
    granule = queued_.front();
    queued_.pop_front();
  }
  fill(granule);
  return Turn::more;
}

}  // namespace rouse::cpu
