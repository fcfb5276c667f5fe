// Granules that visit one context's window, and which of them have been written (memory/device.h, restore()).
//
//   nothing → expected → coming → here (read-only) → opening → written
//                                  ↕
//                                 lent (read-only)  → opening → copied
//
// One that is expected comes when its stream gets there, or with the first access to it: the fault handler then brings it, on
// the thread that needs it. One that is here is mapped read-only, and the first write to it, by whatever thread of this
// process, is let through by the handler and noted: what nobody writes costs nothing, and who asks gets what changed
// and nothing else. One that was written, and has been saved, can be made `here` again where it is (watch()).
//
// The device's memory at which one lies that is lent may be mapped in other windows, too. Its first write gets it a copy, made by the handler
// in memory of the process and put in its place whole: who reads it meanwhile reads what was there, who writes it waits for the copy. So
// the handler waits for nobody but another handler at the same granule.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "schemas/base/range.h"
#include "schemas/base/result.h"

namespace rouse::cpu {

// Windows at one time, in this process.
inline constexpr std::size_t kMaxVisitedWindows = 8192;

// Told of each granule that comes with an access.
class DemandObserver {
 public:
  // In the handler of a fault, on any thread: takes no lock, and returns at once. `way`: as Visits::expect() was told.
  virtual void onDemand(std::uint64_t bytes, std::uint8_t way) noexcept = 0;

 protected:
  ~DemandObserver() = default;
};

class Visits {
 public:
  // The observer lives longer; null: none.
  explicit Visits(DemandObserver* demands = nullptr) : demands_(demands) {}
  ~Visits() { close(); }
  Visits(const Visits&) = delete;

  // --- The executor's thread
  // Before the context's first work. `memory`: the device's, a file that is mapped whole at `alias`.
  Status open(AddressRange window, int memory, std::byte* alias);
  // After the context's last work.
  void close();
  // The granule will come from `home` to the device's memory at `offset`. Nothing is mapped there, and nobody uses it yet. `way`: for the
  // observer, over which it comes.
  void expect(std::uint64_t address, std::uint64_t offset, const std::byte* home, std::uint8_t way = 0);
  // The granules are about to be unmapped, or mapped otherwise; nobody uses them meanwhile.
  void left(AddressRange granules);
  // Appends the addresses of visiting granules that were written since they came, each once. Nobody writes meanwhile.
  void takeWritten(std::vector<std::uint64_t>& addresses);

  // The granules, mapped in whatever way, are `here` from now on; nobody uses them meanwhile.
  Status watch(AddressRange granules);
  // The granule is mapped to the device's memory at `offset`, and is not watched.
  void placed(std::uint64_t address, std::uint64_t offset) { origins_[index(address)].offset = offset; }
  // Lends a granule: one that is not there (`fresh`), or one that is here or lent already, while it is used; false: it has been written, or
  // has not come. It lies at `offset` from now on, where the same bytes are as where it lay.
  Result<bool> lend(std::uint64_t address, std::uint64_t offset, bool fresh);
  // One that is lent is `here` again.
  void own(std::uint64_t address);
  // Appends those that were copied, each once. To be called before any of them leaves.
  void takeCopied(std::vector<std::uint64_t>& addresses);

  // --- Any thread
  enum class Brought : std::uint8_t {
    now,
    before,  // by somebody else, whom this may have waited for
    failed,  // it cannot be mapped
  };
  // Brings an expected granule, or waits for whoever is at it.
  Brought bring(std::uint64_t address) noexcept;
  // Nobody has begun to bring it.
  bool expects(std::uint64_t address) const { return states_[index(address)].load(std::memory_order_acquire) == State::expected; }
  // Moves the bytes of a granule that was copied to the device's memory at `offset`, and maps that in its place. False: it cannot be mapped.
  bool settle(std::uint64_t address, std::uint64_t offset) noexcept;
  // Of those that came with an access rather than in their turn.
  std::uint64_t demanded() const { return demanded_.load(std::memory_order_relaxed); }

  // In the handler of a fault (SIGSEGV, SEGV_ACCERR) at the address. True: that was a visitor's, and the instruction may be tried
  // again.
  static bool onFault(std::uint64_t address, bool write) noexcept;

 private:
  enum class State : std::uint8_t { nothing, expected, coming, here, lent, opening, written, copied };
  struct Origin {
    const std::byte* home;  // of an expected granule
    std::uint64_t offset;   // where it lies, or will, unless it was copied
    std::uint8_t way;
  };

  std::size_t index(std::uint64_t address) const { return (address - window_.base) / kGranuleBytes; }
  std::uint64_t addressOf(std::size_t granule) const { return window_.base + granule * kGranuleBytes; }
  bool access(std::uint64_t address, bool write) noexcept;
  bool letWrite(std::size_t granule) noexcept;
  bool copy(std::size_t granule) noexcept;
  void noteWritten(std::size_t granule) noexcept;

  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  template <class T>
  using Lazy = std::unique_ptr<T[], Free>;  // windows are large and mostly empty: what nobody touches stays unbacked

  AddressRange window_;
  int memory_ = -1;
  std::byte* alias_ = nullptr;
  Lazy<std::atomic<State>> states_;  // these by granule
  Lazy<Origin> origins_;
  Lazy<std::uint32_t> written_;  // granules, in the order of their first writes
  // More than there are granules, when some were written, left and written again between two takeWritten(): then the
  // list is not complete.
  std::atomic<std::size_t> writtenCount_{0};
  // Granules that were copied, and 1, in a ring of as many places as there are granules: a granule is in it once at most. 0: free.
  Lazy<std::atomic<std::uint32_t>> copied_;
  std::atomic<std::uint64_t> copiedCount_{0};
  std::uint64_t copiedTaken_ = 0;
  std::atomic<std::uint64_t> demanded_{0};
  std::size_t entry_ = kMaxVisitedWindows;
  DemandObserver* const demands_;
};

}  // namespace rouse::cpu
