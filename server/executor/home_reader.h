// A thread that reads pages of the host store beside the reactor: their fingerprints, and whether two are the same, byte by byte.
// It runs when nobody else wants a core (SCHED_IDLE), unless it is waited for.
//
// Whoever gives it pages sees to it that nobody writes them until they have been taken back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "memory/fingerprint.h"

namespace rouse::executor {

class HomeReader {
 public:
  struct Reading {
    const std::byte* page = nullptr;   // kGranuleBytes
    const std::byte* other = nullptr;  // to be compared with; null: the fingerprint is wanted
    // The answer. Not done: it was left off.
    bool done = false, equal = false;
    memory::PageFingerprint print{};
  };

  // `key` outlives it. `ring` is called from the thread whenever there is something to take.
  HomeReader(const memory::FingerprintKey& key, std::function<void()> ring);
  ~HomeReader();
  HomeReader(const HomeReader&) = delete;

  // All on one thread, the reactor's.
  bool idle() const { return state_.load(std::memory_order_acquire) == kIdle; }
  // Idle; at least one.
  void begin(std::vector<Reading> readings);
  bool ready() const { return state_.load(std::memory_order_acquire) == kDone; }
  // Ready; idle again. In their order.
  std::vector<Reading> take();
  // Not idle: leaves off what has not begun and waits for the page that is being read: some 0.2 ms. Ready then.
  void hurry();

 private:
  static constexpr std::uint32_t kIdle = 0, kGiven = 1, kDone = 2, kEnding = 3;

  void run();
  void schedule(int policy);
  void read(Reading& reading) const;

  const memory::FingerprintKey& key_;
  const std::function<void()> ring_;
  std::atomic<std::uint32_t> state_{kIdle};  // given: readings_ is the thread's, else the reactor's
  std::atomic<bool> hurry_{false};
  std::vector<Reading> readings_;
  std::thread thread_;
};

}  // namespace rouse::executor
