// Sleeping on a word that two processes share (futex(2), shared form: the key is the page of the memfd, not the
// address).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace rouse::wire {

// The half of a counter that waiters sleep on: x86-64 and AArch64 Linux are little-endian.
inline const std::uint32_t* lowWord(const std::atomic<std::uint64_t>& counter) {
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free && sizeof(std::atomic<std::uint64_t>) == 8);
  return reinterpret_cast<const std::uint32_t*>(&counter);
}

// Sleeps while the word is `expected`, at most this long. May return at any time for no reason.
void futexWait(const std::uint32_t* word, std::uint32_t expected, std::chrono::nanoseconds atMost);
void futexWakeAll(const std::uint32_t* word);

// A pause of the processor's own, for spinning.
inline void cpuRelax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// How long one sleep lasts at most before the peer's life is looked at.
inline constexpr std::chrono::milliseconds kLivenessInterval{100};

}  // namespace rouse::wire
