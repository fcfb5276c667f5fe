#include "server/device/cpu/runtime/write_watch.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>

#include "schemas/wire/layout.h"

namespace rouse::cpu {
namespace {

// What the handler may look at: it must not touch a window's object unless the fault lies in that window, which keeps it alive.
struct Entry {
  std::atomic<std::uint64_t> base{0}, end{0};
  std::atomic<WriteWatch*> watch{nullptr};
};
Entry entries[kMaxWatchedWindows];
std::atomic<std::size_t> entriesUsed{0};  // no entry at or beyond it was ever used
std::mutex entriesMutex;

}  // namespace

WriteWatch::WriteWatch(AddressRange window)
    : window_(window),
      states_(static_cast<std::atomic<State>*>(std::calloc(window.bytes / kGranuleBytes + 1, sizeof(std::atomic<State>)))),
      written_(static_cast<std::uint32_t*>(std::calloc(window.bytes / kGranuleBytes + 1, sizeof(std::uint32_t)))) {}

Result<std::unique_ptr<WriteWatch>> WriteWatch::create(AddressRange window) {
  std::unique_ptr<WriteWatch> watch(new WriteWatch(window));
  const std::lock_guard lock(entriesMutex);
  for (std::size_t i = 0; i < kMaxWatchedWindows; ++i) {
    if (entries[i].watch.load(std::memory_order_relaxed) != nullptr) continue;
    watch->entry_ = i;
    entries[i].watch.store(watch.get(), std::memory_order_release);
    entries[i].base.store(window.base, std::memory_order_release);
    entries[i].end.store(window.end(), std::memory_order_release);
    if (entriesUsed.load(std::memory_order_relaxed) <= i) entriesUsed.store(i + 1, std::memory_order_release);
    return watch;
  }
  return Error{CudaError::memoryAllocation, "device window: " + std::to_string(kMaxWatchedWindows) +
                                                " are in use, which is the limit of one executor"};
}

WriteWatch::~WriteWatch() {
  if (entry_ == kMaxWatchedWindows) return;
  const std::lock_guard lock(entriesMutex);
  entries[entry_].end.store(0, std::memory_order_release);
  entries[entry_].watch.store(nullptr, std::memory_order_release);
}

void WriteWatch::end(AddressRange granules) {
  for (std::uint64_t at = granules.base; at < granules.end(); at += kGranuleBytes)
    state(at).store(State::free, std::memory_order_release);
}

void WriteWatch::take(std::vector<std::uint64_t>& addresses) {
  const std::size_t granules = window_.bytes / kGranuleBytes;
  const std::size_t count = writtenCount_.exchange(0, std::memory_order_acq_rel);
  const bool complete = count <= granules;
  for (std::size_t i = 0; i < (complete ? count : granules); ++i) {
    const std::uint64_t address = window_.base + (complete ? written_[i] : i) * kGranuleBytes;
    // Unmapped since, and perhaps mapped anew: then it is not what was asked for.
    State written = State::written;
    if (state(address).compare_exchange_strong(written, State::free, std::memory_order_acq_rel)) addresses.push_back(address);
  }
}

__attribute__((no_sanitize("address", "thread"))) bool WriteWatch::onFault(std::uint64_t address) noexcept {
  const std::size_t used = entriesUsed.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < used; ++i) {
    if (address >= entries[i].end.load(std::memory_order_acquire) || address < entries[i].base.load(std::memory_order_acquire))
      continue;
    WriteWatch* watch = entries[i].watch.load(std::memory_order_acquire);
    return watch != nullptr && watch->open(address);
  }
  return false;
}

__attribute__((no_sanitize("address", "thread"))) bool WriteWatch::open(std::uint64_t address) noexcept {
  std::atomic<State>& state = this->state(address);
  State watched = State::watched;
  if (!state.compare_exchange_strong(watched, State::opening, std::memory_order_acq_rel)) {
    // Another thread is at it, or was when this one's access failed.
    while (state.load(std::memory_order_acquire) == State::opening) __builtin_ia32_pause();
    return state.load(std::memory_order_acquire) == State::written;
  }
  const std::uint64_t granule = (address - window_.base) / kGranuleBytes;
  const int before = errno;
  // The system call itself: nothing between it and the handler that a sanitizer or the C library might add.
  const long result = syscall(SYS_mprotect, window_.base + granule * kGranuleBytes, kGranuleBytes, PROT_READ | PROT_WRITE);
  errno = before;
  if (result != 0) {  // vm.max_map_count: the write is a fault
    state.store(State::watched, std::memory_order_release);
    return false;
  }
  const std::size_t index = writtenCount_.fetch_add(1, std::memory_order_acq_rel);
  if (index < window_.bytes / kGranuleBytes) written_[index] = static_cast<std::uint32_t>(granule);
  state.store(State::written, std::memory_order_release);
  return true;
}

}  // namespace rouse::cpu
