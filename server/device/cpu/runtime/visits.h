// Granules that visit one context's window, and which of them have been written (memory/device.h, restore()).
//
//   nothing → expected → coming → here (read-only) → opening → written
//
// One that is expected comes when its stream gets there, or with the first access to it: the fault handler then brings it, on
// the thread that needs it. One that is here is mapped read-only, and the first write to it, by whatever thread of this
// process, is let through by the handler and noted: what nobody writes costs nothing, and who asks gets what changed
// and nothing else. One that was written, and has been saved, can be made `here` again where it is (watch()).
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
  // Of those that came with an access rather than in their turn.
  std::uint64_t demanded() const { return demanded_.load(std::memory_order_relaxed); }

  // In the handler of a fault (SIGSEGV, SEGV_ACCERR) at the address. True: that was a visitor's, and the instruction may be tried
  // again.
  static bool onFault(std::uint64_t address, bool write) noexcept;

 private:
  enum class State : std::uint8_t { nothing, expected, coming, here, opening, written };
  // Of an expected granule.
  struct Origin {
    const std::byte* home;
    std::uint64_t offset;
    std::uint8_t way;
  };

  std::size_t index(std::uint64_t address) const { return (address - window_.base) / kGranuleBytes; }
  std::uint64_t addressOf(std::size_t granule) const { return window_.base + granule * kGranuleBytes; }
  bool access(std::uint64_t address, bool write) noexcept;
  bool letWrite(std::size_t granule) noexcept;

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
  std::atomic<std::uint64_t> demanded_{0};
  std::size_t entry_ = kMaxVisitedWindows;
  DemandObserver* const demands_;
};

}  // namespace rouse::cpu
