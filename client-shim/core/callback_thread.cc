#include "client-shim/core/callback_thread.h"

#include <signal.h>

#include <algorithm>
#include <memory>
#include <system_error>
#include <vector>

#include "client-shim/core/device.h"
#include "client-shim/core/log.h"
#include "client-shim/core/session.h"
#include "client-shim/core/slot_wait_any.h"
#include "schemas/wire/futex.h"
#include "schemas/wire/slot_wait.h"

namespace rouse::client {

namespace {
thread_local bool isCallbackThread = false;
}

bool CallbackThread::isCurrent() { return isCallbackThread; }

CallbackThread::~CallbackThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  notify();
  if (thread_.joinable()) thread_.join();
}

void CallbackThread::submit(const Call& call) {
  pending_[call.deviceIndex].fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  calls_[call.streamId].push_back(call);
}

void CallbackThread::notify() {
  bell_.fetch_add(1, std::memory_order_release);
  ringBell(bell_);
}

bool CallbackThread::start() try {
  if (started_.load(std::memory_order_acquire)) return true;
  const std::lock_guard lock(mutex_);
  if (thread_.joinable()) return true;
  // The program's signals are for the program's own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const std::unique_ptr<sigset_t, void (*)(sigset_t*)> restore(
      &before, [](sigset_t* set) { pthread_sigmask(SIG_SETMASK, set, nullptr); });
  thread_ = std::thread([this] { run(); });
  started_.store(true, std::memory_order_release);
  return true;
} catch (const std::system_error& failure) {
  log(LogLevel::error, "no thread for host functions: %s", failure.what());
  return false;
}

void CallbackThread::forget(std::uint32_t deviceIndex) {
  const std::lock_guard lock(mutex_);
  std::erase_if(calls_, [&](const auto& entry) {
    const std::deque<Call>& queue = entry.second;
    if (queue.front().deviceIndex != deviceIndex) return false;
    pending_[deviceIndex].fetch_sub(static_cast<std::uint32_t>(queue.size()), std::memory_order_release);
    return true;
  });
}

void CallbackThread::perform(const Call& call) {
  const CudaError status = session_.device(call.deviceIndex).peekError();
  if (status == CudaError::success || call.evenAfterError) call.function(call.data, status);
  pending_[call.deviceIndex].fetch_sub(1, std::memory_order_release);
  wire::signal(session_.slot(call.returned.slot), call.returned.value);
}

void CallbackThread::run() {
  isCallbackThread = true;
  std::vector<AwaitedSlot> awaited;
  std::uint32_t first = 0;  // where waiting begins: with more slots than one wait can have, each gets its turn
  for (;;) {
    const std::uint32_t seen = bell_.load(std::memory_order_acquire);
    Call ready;
    awaited.clear();
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      for (auto entry = calls_.begin(); entry != calls_.end(); ++entry) {
        const Call& call = entry->second.front();
        if (session_.reached(call.reached) || !session_.probe(call.deviceIndex)) {
          ready = call;
          entry->second.pop_front();
          if (entry->second.empty()) calls_.erase(entry);
          break;
        }
        awaited.push_back({&session_.slot(call.reached.slot), call.reached.value});
      }
    }
    if (ready.function != nullptr) {
      perform(ready);
      continue;
    }
    if (!awaited.empty()) std::rotate(awaited.begin(), awaited.begin() + first++ % awaited.size(), awaited.end());
    waitForAny(awaited, &bell_, seen,
               awaited.empty() ? std::chrono::hours(1) : std::chrono::nanoseconds(wire::kLivenessInterval));
  }
}

}  // namespace rouse::client
