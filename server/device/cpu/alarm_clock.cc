#include "server/device/cpu/alarm_clock.h"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>

#include "server/device/cpu/engine_thread.h"

namespace rouse::cpu {
namespace {

using Clock = std::chrono::steady_clock;

// A wake-up comes this much late on an idle machine: what is left then is waited for busily.
constexpr std::chrono::nanoseconds kWakeUp{20'000};

Clock::time_point timeOf(std::int64_t at) { return Clock::time_point(std::chrono::nanoseconds(at)); }

}  // namespace

std::int64_t AlarmClock::now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

AlarmClock::AlarmClock() : thread_([this] { main(); }) {}

AlarmClock::~AlarmClock() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void AlarmClock::set(std::int64_t at, std::shared_ptr<Alarm> alarm) {
  bool first = false;
  {
    std::lock_guard lock(mutex_);
    first = alarms_.empty() || at < alarms_.front().at;
    alarms_.push_back({at, std::move(alarm)});
    std::ranges::push_heap(alarms_, later);
  }
  if (first) changed_.notify_one();
}

void AlarmClock::main() {
  pthread_setname_np(pthread_self(), "cpu-links");
  // The kernel may otherwise add 50 µs to each wait, to save wake-ups.
  prctl(PR_SET_TIMERSLACK, 1);
  beEngine();
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (alarms_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const Clock::time_point at = timeOf(alarms_.front().at);
    if (const auto left = at - Clock::now(); left > kWakeUp) {
      changed_.wait_until(lock, at - kWakeUp);
      continue;
    } else if (left > std::chrono::nanoseconds(0)) {
      // Not under the lock: who sets an alarm meanwhile, even an earlier one, need not wait.
      lock.unlock();
      for (int i = 0; i < 16; ++i) __builtin_ia32_pause();
      lock.lock();
      continue;
    }
    std::ranges::pop_heap(alarms_, later);
    std::shared_ptr<Alarm> alarm = std::move(alarms_.back().alarm);
    alarms_.pop_back();
    lock.unlock();
    alarm->ring();
    alarm.reset();
    lock.lock();
  }
}

}  // namespace rouse::cpu
