// Which granules of a window have been written: they are mapped read-only, and the first write to each, by whatever thread
// of this process, is let through by the fault handler and noted. Cheaper than looking at the bytes: what nobody writes
// costs nothing, and who asks gets what changed and nothing else.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "schemas/base/range.h"
#include "schemas/base/result.h"

namespace rouse::cpu {

// Windows that are watched at one time, in this process.
inline constexpr std::size_t kMaxWatchedWindows = 8192;

class WriteWatch {
 public:
  static Result<std::unique_ptr<WriteWatch>> create(AddressRange window);
  // Nothing writes to the window any more.
  ~WriteWatch();
  WriteWatch(const WriteWatch&) = delete;

  // The granule is about to be mapped read-only; nobody writes to it yet. Any thread.
  void begin(std::uint64_t address) { state(address).store(State::watched, std::memory_order_release); }
  // The granules are about to be unmapped, or mapped for all to write; nobody writes to them meanwhile.
  void end(AddressRange granules);
  // Appends the addresses of granules that were written since begin(), each once; they are not watched any more. Nobody writes meanwhile.
  void take(std::vector<std::uint64_t>& addresses);

  // In the handler of a fault (SIGSEGV, SEGV_ACCERR) at the address. True: it was the first write to a watched granule, or one
  // beside it; the instruction may be tried again.
  static bool onFault(std::uint64_t address) noexcept;

 private:
  enum class State : std::uint8_t { free, watched, opening, written };

  explicit WriteWatch(AddressRange window);
  std::atomic<State>& state(std::uint64_t address) { return states_[(address - window_.base) / kGranuleBytes]; }
  bool open(std::uint64_t address) noexcept;

  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  const AddressRange window_;
  // By granule. Windows are large and mostly empty: memory that nobody touches stays unbacked.
  const std::unique_ptr<std::atomic<State>[], Free> states_;
  const std::unique_ptr<std::uint32_t[], Free> written_;  // granules, in the order of their first writes
  // More than there are granules, when some were unmapped and watched again between two take(): then the list is not complete.
  std::atomic<std::size_t> writtenCount_{0};
  std::size_t entry_ = kMaxWatchedWindows;
};

}  // namespace rouse::cpu
