// Kernels made from a seed: arithmetic of all widths, branches, loops, memory, calls, barriers and warp operations in
// ways that a compiler may take for something they are not. What one leaves in memory depends on its input only, not on
// the order of threads, nor on who runs it: nothing is left open by the PTX ISA, but for approximations and divisions
// by zero, which all GPUs do alike.
#pragma once

#include <cstdint>
#include <string>

namespace rouse::test {

// Of `RandomKernel::text`, as its parameters lie in memory.
struct RandomParameters {
  const std::byte* in = nullptr;  // read: by any index of 32 bits, signed or not, of elements of up to 8 bytes
  std::byte* own = nullptr;       // kOwnBytes of each thread
  std::byte* columns =
      nullptr;  // kColumns words of each thread, those of neighbours beside each other; also of threads alone
  std::byte* bins = nullptr;   // kBins words, and as many of 64 bits: for all
  std::byte* again = nullptr;  // `own`
  std::uint32_t n = 0;
  std::uint32_t zero = 0;
};

inline constexpr std::uint32_t kOwnBytes = 256, kColumns = 16, kBins = 64;
// Of a block of so many threads.
constexpr std::uint32_t randomSharedBytes(std::uint32_t threads) { return threads * 16 + 256; }

struct RandomKernel {
  std::string text;            // PTX, one kernel `k`
  bool wholeWarps = false;     // for blocks of whole warps only
  bool decidesByRows = false;  // of those, not for rows longer than a warp that end within one: lanes would miss others
  bool mayFault = false;       // one thread ends the launch; whether that leaves what others store is open
};

// The same for the same seed and compiler (in which order it evaluates operands is open).
RandomKernel randomKernel(std::uint64_t seed);

}  // namespace rouse::test
