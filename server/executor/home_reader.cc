#include "server/executor/home_reader.h"

#include <pthread.h>
#include <sched.h>

#include <cstring>
#include <span>
#include <utility>

namespace rouse::executor {

HomeReader::HomeReader(const memory::FingerprintKey& key, std::function<void()> ring)
    : key_(key), ring_(std::move(ring)), thread_([this] { run(); }) {
  schedule(SCHED_IDLE);
}

HomeReader::~HomeReader() {
  if (!idle()) hurry();
  // Done or idle: the thread stores nothing any more.
  state_.store(kEnding, std::memory_order_release);
  state_.notify_all();
  thread_.join();
}

void HomeReader::begin(std::vector<Reading> readings) {
  if (hurry_.load(std::memory_order_relaxed)) schedule(SCHED_IDLE);
  readings_ = std::move(readings);
  hurry_.store(false, std::memory_order_relaxed);
  state_.store(kGiven, std::memory_order_release);
  state_.notify_all();
}

std::vector<HomeReader::Reading> HomeReader::take() {
  std::vector<Reading> readings = std::exchange(readings_, {});
  state_.store(kIdle, std::memory_order_relaxed);
  return readings;
}

void HomeReader::hurry() {
  hurry_.store(true, std::memory_order_relaxed);
  schedule(SCHED_OTHER);  // it is waited for now
  state_.wait(kGiven, std::memory_order_acquire);
}

// With SCHED_IDLE whoever wakes up takes the core from the thread at once, which is not so with mere niceness: a thread may use its
// slice up, and with nice 19 the reactor was seen to wait 2 ms. Can it not be had, it is an ordinary thread.
void HomeReader::schedule(int policy) {
  const sched_param none{};
  (void)::pthread_setschedparam(thread_.native_handle(), policy, &none);
}

void HomeReader::run() {
  for (;;) {
    const std::uint32_t state = state_.load(std::memory_order_acquire);
    if (state == kEnding) return;
    if (state != kGiven) {
      state_.wait(state, std::memory_order_acquire);
      continue;
    }
    for (Reading& reading : readings_) {
      if (hurry_.load(std::memory_order_relaxed)) break;
      read(reading);
    }
    state_.store(kDone, std::memory_order_release);
    state_.notify_all();
    if (ring_) ring_();
  }
}

void HomeReader::read(Reading& reading) const {
  if (reading.other == nullptr)
    reading.print = memory::fingerprintOf(key_, std::span<const std::byte, kGranuleBytes>(reading.page, kGranuleBytes));
  else
    reading.equal = std::memcmp(reading.page, reading.other, kGranuleBytes) == 0;
  reading.done = true;
}

}  // namespace rouse::executor
