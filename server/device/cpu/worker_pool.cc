#include "server/device/cpu/worker_pool.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>

#include "server/device/cpu/engine_thread.h"

namespace rouse::cpu {
namespace {

using Clock = std::chrono::steady_clock;

// A worker that has just run out of work looks for more for this long before it sleeps: a wake-up costs 5–50 µs, more
// than many kernels. Only one worker at a time does. Where cores are scarce it would take them from client and
// executor.
std::chrono::microseconds spinTime() {
  return std::chrono::microseconds(std::thread::hardware_concurrency() > 2 ? 40 : 5);
}

// Blocks that spin wait for something outside their worker: first busily, then leaving the core to others, then in
// naps. They need not wait: what looks like polling may be a walk along a list, or two blocks that answer each other. So they run as long as they sleep, for
// the time that such a thing may take, and a tenth of that when they must wait for something.
constexpr std::uint32_t kBusyRounds = 256;
constexpr std::uint32_t kYieldRounds = 2048;
constexpr std::chrono::microseconds kNap{50}, kBetweenNaps{50}, kBetweenLateNaps{5};
constexpr std::chrono::seconds kLate{10};

// A worker that has been without work for so long gives the memory of its large stacks back.
constexpr long kTrimNs = 20'000'000;

const std::atomic<std::uint32_t> kAlways{1};

// False: the time was over.
bool futexWait(std::atomic<std::uint32_t>& word, std::uint32_t value, const timespec* timeout) {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, value, timeout, nullptr, 0) ==
             0 ||
         errno != ETIMEDOUT;
}

void futexWake(std::atomic<std::uint32_t>& word, std::uint32_t waiters) {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, waiters, nullptr, nullptr, 0);
}

}  // namespace

const std::atomic<std::uint32_t>& Worker::others() const {
  // A worker that holds several launches shares its time between them.
  return residues_.size() > 1 ? kAlways : pool_.unattended_;
}

bool Worker::runResidue(bool& spinning) {
  if (residues_.empty()) return false;
  turn_ = (turn_ + 1) % residues_.size();
  std::unique_ptr<Residue> residue = std::move(residues_[turn_]);
  const Residue::Turn result = residue->run(*this);
  if (result == Residue::Turn::done) {
    residues_.erase(residues_.begin() + static_cast<std::ptrdiff_t>(turn_));
  } else {
    residues_[turn_] = std::move(residue);
  }
  spinning = result == Residue::Turn::spinning;
  return true;
}

WorkerPool::WorkerPool(std::uint32_t workers, const char* name, Kind kind)
    : name_(name), kind_(kind), spin_(kind == Kind::kernels ? spinTime() : std::chrono::microseconds{0}) {
  for (std::uint32_t index = 0; index < std::max(workers, 1u); ++index) {
    threads_.emplace_back([this, index] { main(index); });
  }
}

WorkerPool::~WorkerPool() {
  ending_ = true;
  submissions_.fetch_add(1);
  futexWake(submissions_, ~0u >> 1);
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::submit(std::shared_ptr<Work> work, std::uint32_t helpers) {
  auto entry = std::make_shared<Waiting>();
  entry->work = std::move(work);
  {
    std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(entry));
    unattended_.fetch_add(1, std::memory_order_relaxed);
  }
  submissions_.fetch_add(1);
  wake(helpers);
}

void WorkerPool::wake(std::uint32_t workers) {
  const std::uint32_t looking = spinners_.load();
  if (workers > looking && sleepers_.load() != 0) futexWake(submissions_, workers - looking);
}

void WorkerPool::interrupt() {
  std::lock_guard lock(workersMutex_);
  for (Worker* worker : workers_) worker->runner().interrupt();
}

bool WorkerPool::runOne(Worker& worker) {
  std::shared_ptr<Waiting> entry;
  {
    std::lock_guard lock(mutex_);
    // The most urgent; of those one that nobody attends to; of those the one that was served longest ago.
    auto best = waiting_.end();
    for (auto it = waiting_.begin(); it != waiting_.end(); ++it) {
      if (!(*it)->work->wants(worker)) continue;
      if (best == waiting_.end() || (*it)->work->priority() < (*best)->work->priority() ||
          ((*it)->work->priority() == (*best)->work->priority() && (*it)->attending < (*best)->attending)) {
        best = it;
      }
    }
    if (best == waiting_.end()) return false;
    entry = *best;
    if (entry->attending++ == 0) unattended_.fetch_sub(1, std::memory_order_relaxed);
    if (entry->work->shared()) {
      std::rotate(best, best + 1, waiting_.end());
    } else {
      waiting_.erase(best);
    }
  }
  const Work::Turn turn = entry->work->run(worker);
  if (!entry->work->shared()) return true;
  std::lock_guard lock(mutex_);
  const auto found = std::find(waiting_.begin(), waiting_.end(), entry);
  --entry->attending;
  if (found != waiting_.end()) {
    if (turn == Work::Turn::taken) {
      waiting_.erase(found);
    } else if (entry->attending == 0) {
      unattended_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  return true;
}

void WorkerPool::main(std::uint32_t index) {
  char name[16];
  std::snprintf(name, sizeof name, "%s-%u", name_, index);
  pthread_setname_np(pthread_self(), name);
  if (kind_ == Kind::engines) beEngine();
  Worker worker(*this, index);
  worker.runner_ = std::make_unique<Runner>();
  {
    std::lock_guard lock(workersMutex_);
    workers_.push_back(&worker);
  }
  std::uint32_t fruitless = 0;
  Clock::time_point firstNap, nextNap;
  while (!ending_.load(std::memory_order_relaxed)) {
    const bool worked = runOne(worker);
    bool spinning = false;
    const bool resident = worker.runResidue(spinning);
    if (worked || (resident && !spinning)) {
      fruitless = 0;
      continue;
    }
    if (!resident) {
      rest(worker);
    } else if (fruitless < kYieldRounds) {
      if (fruitless++ >= kBusyRounds) sched_yield();
      firstNap = nextNap = Clock::time_point();
    } else if (const auto now = Clock::now(); now >= nextNap) {
      if (firstNap == Clock::time_point()) firstNap = now;
      nap();
      nextNap = Clock::now() + (now - firstNap < kLate ? kBetweenNaps : kBetweenLateNaps);
    }
  }
  {
    std::lock_guard lock(workersMutex_);
    std::erase(workers_, &worker);
  }
}

// Unless something is submitted meanwhile.
void WorkerPool::nap() {
  const std::uint32_t seen = submissions_.load();
  const timespec time{0, std::chrono::nanoseconds(kNap).count()};
  futexWait(submissions_, seen, &time);
}

void WorkerPool::rest(Worker& worker) {
  const std::uint32_t seen = submissions_.load();
  {
    // Submitted between the last look and `seen`.
    std::lock_guard lock(mutex_);
    if (!waiting_.empty() || ending_) return;
  }
  if (spinners_.fetch_add(1) == 0) {
    const auto end = Clock::now() + spin_;
    bool found = false;
    for (std::uint32_t round = 0; !found; ++round) {
      __builtin_ia32_pause();
      found = submissions_.load(std::memory_order_relaxed) != seen;
      if (round % 32 == 31 && Clock::now() >= end) break;
    }
    spinners_.fetch_sub(1);
    if (found) return;
  } else {
    spinners_.fetch_sub(1);
  }
  sleepers_.fetch_add(1);
  const timespec quiet{0, kTrimNs};
  if (!worker.runner_->trimmable() || !futexWait(submissions_, seen, &quiet)) {
    worker.runner_->trim();
    futexWait(submissions_, seen, nullptr);
  }
  sleepers_.fetch_sub(1);
}

}  // namespace rouse::cpu
