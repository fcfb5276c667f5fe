#include "server/device/cpu/runtime/visits.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>

namespace rouse::cpu {
namespace {

// What the handler may look at: it must not touch a window's object unless the fault lies in that window, which keeps it
// alive.
struct Entry {
  std::atomic<std::uint64_t> base{0}, end{0};
  std::atomic<Visits*> visits{nullptr};
};
Entry entries[kMaxVisitedWindows];
std::atomic<std::size_t> entriesUsed{0};  // no entry at or beyond it was ever used
std::mutex entriesMutex;

template <class T>
T* lazily(std::size_t count) {
  return static_cast<T*>(std::calloc(count, sizeof(T)));
}

// The system call itself: nothing between it and the handler that a sanitizer or the C library might add.
__attribute__((no_sanitize("address", "thread"))) bool mapped(std::uint64_t address, int protection, int file,
                                                              std::uint64_t offset) {
  return syscall(SYS_mmap, address, kGranuleBytes, protection, MAP_SHARED | MAP_FIXED, file, offset) ==
         static_cast<long>(address);
}

// As memcpy, which a sanitizer would take for an access of the program's.
__attribute__((no_sanitize("address", "thread"))) void copyGranule(void* to, const void* from) {
  std::size_t bytes = kGranuleBytes;
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

}  // namespace

Status Visits::open(AddressRange window, int memory, std::byte* alias) {
  window_ = window;
  memory_ = memory;
  alias_ = alias;
  const std::size_t granules = window.bytes / kGranuleBytes + 1;
  states_.reset(lazily<std::atomic<State>>(granules));
  origins_.reset(lazily<Origin>(granules));
  written_.reset(lazily<std::uint32_t>(granules));
  copied_.reset(lazily<std::atomic<std::uint32_t>>(granules));
  const std::lock_guard lock(entriesMutex);
  for (std::size_t i = 0; i < kMaxVisitedWindows; ++i) {
    if (entries[i].visits.load(std::memory_order_relaxed) != nullptr) continue;
    entry_ = i;
    entries[i].visits.store(this, std::memory_order_release);
    entries[i].base.store(window.base, std::memory_order_release);
    entries[i].end.store(window.end(), std::memory_order_release);
    if (entriesUsed.load(std::memory_order_relaxed) <= i) entriesUsed.store(i + 1, std::memory_order_release);
    return {};
  }
  return Error{CudaError::memoryAllocation, "device window: " + std::to_string(kMaxVisitedWindows) +
                                                " are in use, which is the limit of one executor"};
}

void Visits::close() {
  if (entry_ == kMaxVisitedWindows) return;
  const std::lock_guard lock(entriesMutex);
  entries[entry_].end.store(0, std::memory_order_release);
  entries[entry_].visits.store(nullptr, std::memory_order_release);
  entry_ = kMaxVisitedWindows;
}

void Visits::expect(std::uint64_t address, std::uint64_t offset, const std::byte* home, std::uint8_t way) {
  const std::size_t granule = index(address);
  origins_[granule] = {home, offset, way};
  states_[granule].store(State::expected, std::memory_order_release);
}

void Visits::left(AddressRange granules) {
  for (std::uint64_t at = granules.base; at < granules.end(); at += kGranuleBytes)
    states_[index(at)].store(State::nothing, std::memory_order_release);
}

void Visits::takeWritten(std::vector<std::uint64_t>& addresses) {
  const std::size_t granules = window_.bytes / kGranuleBytes;
  const std::size_t count = writtenCount_.exchange(0, std::memory_order_acq_rel);
  const bool complete = count <= granules;
  for (std::size_t i = 0; i < (complete ? count : granules); ++i) {
    const std::size_t granule = complete ? written_[i] : i;
    // Unmapped since, and perhaps here anew: then it is not what was asked for.
    State state = states_[granule].load(std::memory_order_acquire);
    if (state != State::written && state != State::copied) continue;
    states_[granule].store(State::nothing, std::memory_order_release);
    addresses.push_back(addressOf(granule));
  }
}

Result<bool> Visits::lend(std::uint64_t address, std::uint64_t offset, bool fresh) {
  const std::size_t granule = index(address);
  std::atomic<State>& state = states_[granule];
  State before = state.load(std::memory_order_acquire);
  do {
    if (fresh ? before != State::nothing : before != State::here && before != State::lent) return false;
  } while (!state.compare_exchange_weak(before, State::coming, std::memory_order_acq_rel));
  // Who writes waits now; who reads finds one mapping or the other.
  if (fresh || origins_[granule].offset != offset) {
    if (!mapped(address, PROT_READ, memory_, offset)) {
      const int error = errno;
      state.store(before, std::memory_order_release);
      return Error{CudaError::memoryAllocation, std::string("mapping a chunk that is shared (vm.max_map_count): ") + std::strerror(error)};
    }
    origins_[granule].offset = offset;
  }
  state.store(State::lent, std::memory_order_release);
  return true;
}

void Visits::own(std::uint64_t address) {
  State lent = State::lent;
  states_[index(address)].compare_exchange_strong(lent, State::here, std::memory_order_acq_rel);
}

void Visits::takeCopied(std::vector<std::uint64_t>& addresses) {
  const std::size_t places = window_.bytes / kGranuleBytes;
  for (; copiedTaken_ != copiedCount_.load(std::memory_order_acquire); ++copiedTaken_) {
    const std::uint32_t one = copied_[copiedTaken_ % places].exchange(0, std::memory_order_acq_rel);
    if (one == 0) return;  // its handler is about to say which
    addresses.push_back(addressOf(one - 1));
  }
}

bool Visits::settle(std::uint64_t address, std::uint64_t offset) noexcept {
  copyGranule(alias_ + offset, reinterpret_cast<const void*>(address));
  if (!mapped(address, PROT_READ | PROT_WRITE, memory_, offset)) return false;
  origins_[index(address)].offset = offset;
  return true;
}

Status Visits::watch(AddressRange granules) {
  if (!window_.contains(granules) || !isAligned(granules.base, kGranuleBytes) || !isAligned(granules.bytes, kGranuleBytes))
    return Error{CudaError::invalidValue, "to notice writes: " + std::to_string(granules.bytes) +
                                              " bytes that are not whole granules of the device window"};
  // Neighbours with the same rights become one mapping again, so vm.max_map_count hardly stands in the way.
  if (::mprotect(reinterpret_cast<void*>(granules.base), granules.bytes, PROT_READ) != 0)
    return Error{CudaError::unknown, std::string("to notice writes: mprotect: ") + std::strerror(errno)};
  for (std::uint64_t at = granules.base; at < granules.end(); at += kGranuleBytes)
    states_[index(at)].store(State::here, std::memory_order_release);
  return {};
}

__attribute__((no_sanitize("address", "thread"))) Visits::Brought Visits::bring(std::uint64_t address) noexcept {
  const std::size_t granule = index(address);
  std::atomic<State>& state = states_[granule];
  State expected = State::expected;
  if (!state.compare_exchange_strong(expected, State::coming, std::memory_order_acq_rel)) {
    while (state.load(std::memory_order_acquire) == State::coming) __builtin_ia32_pause();
    return state.load(std::memory_order_acquire) != State::expected ? Brought::before : Brought::failed;
  }
  // Through the device's own mapping of its memory: until all bytes are there, the address leads nowhere.
  const Origin origin = origins_[granule];
  std::memcpy(alias_ + origin.offset, origin.home, kGranuleBytes);
  if (!mapped(addressOf(granule), PROT_READ, memory_, origin.offset)) {
    state.store(State::expected, std::memory_order_release);
    return Brought::failed;
  }
  state.store(State::here, std::memory_order_release);
  return Brought::now;
}

__attribute__((no_sanitize("address", "thread"))) bool Visits::letWrite(std::size_t granule) noexcept {
  // vm.max_map_count may stand in the way: the write is a fault then.
  if (syscall(SYS_mprotect, addressOf(granule), kGranuleBytes, PROT_READ | PROT_WRITE) != 0) return false;
  noteWritten(granule);
  return true;
}

__attribute__((no_sanitize("address", "thread"))) void Visits::noteWritten(std::size_t granule) noexcept {
  const std::size_t at = writtenCount_.fetch_add(1, std::memory_order_acq_rel);
  if (at < window_.bytes / kGranuleBytes) written_[at] = static_cast<std::uint32_t>(granule);
}

// Nobody writes what is copied: all who have it mapped have it as this one does, and the device's memory stays where it is until the
// executor has been told. The copy takes the granule's place when all of it is there.
__attribute__((no_sanitize("address", "thread"))) bool Visits::copy(std::size_t granule) noexcept {
  const long made = syscall(SYS_mmap, nullptr, kGranuleBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_POPULATE, -1, 0);
  if (made < 0 && made > -4096) return false;
  copyGranule(reinterpret_cast<void*>(made), alias_ + origins_[granule].offset);
  if (syscall(SYS_mremap, made, kGranuleBytes, kGranuleBytes, MREMAP_MAYMOVE | MREMAP_FIXED, addressOf(granule)) !=
      static_cast<long>(addressOf(granule))) {
    syscall(SYS_munmap, made, kGranuleBytes);
    return false;
  }
  noteWritten(granule);
  const std::uint64_t at = copiedCount_.fetch_add(1, std::memory_order_acq_rel);
  copied_[at % (window_.bytes / kGranuleBytes)].store(static_cast<std::uint32_t>(granule + 1), std::memory_order_release);
  return true;
}

__attribute__((no_sanitize("address", "thread"))) bool Visits::access(std::uint64_t address, bool write) noexcept {
  const std::size_t granule = index(address);
  std::atomic<State>& state = states_[granule];
  for (;;) {
    switch (State now = state.load(std::memory_order_acquire)) {
      case State::nothing:
        return false;
      case State::expected:
        switch (bring(addressOf(granule))) {
          case Brought::failed:
            return false;
          case Brought::now:
            demanded_.fetch_add(1, std::memory_order_relaxed);
            if (demands_ != nullptr) demands_->onDemand(kGranuleBytes, origins_[granule].way);
            [[fallthrough]];
          case Brought::before:
            return true;
        }
        return false;
      case State::coming:
        return bring(addressOf(granule)) != Brought::failed;
      case State::here:
        if (!write) return true;  // it has come since the access failed
        if (!state.compare_exchange_strong(now, State::opening, std::memory_order_acq_rel)) continue;
        if (const bool open = letWrite(granule); !open) {
          state.store(State::here, std::memory_order_release);
          return false;
        }
        state.store(State::written, std::memory_order_release);
        return true;
      case State::lent:
        if (!write) return true;
        if (!state.compare_exchange_strong(now, State::opening, std::memory_order_acq_rel)) continue;
        if (const bool copied = copy(granule); !copied) {
          state.store(State::lent, std::memory_order_release);
          return false;
        }
        state.store(State::copied, std::memory_order_release);
        return true;
      case State::opening:
        __builtin_ia32_pause();
        continue;
      case State::written:
      case State::copied:
        return true;  // another thread has been at it since the access failed
    }
  }
}

__attribute__((no_sanitize("address", "thread"))) bool Visits::onFault(std::uint64_t address, bool write) noexcept {
  const std::size_t used = entriesUsed.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < used; ++i) {
    if (address >= entries[i].end.load(std::memory_order_acquire) ||
        address < entries[i].base.load(std::memory_order_acquire))
      continue;
    Visits* visits = entries[i].visits.load(std::memory_order_acquire);
    const int before = errno;
    const bool handled = visits != nullptr && visits->access(address, write);
    errno = before;
    return handled;
  }
  return false;
}

}  // namespace rouse::cpu
