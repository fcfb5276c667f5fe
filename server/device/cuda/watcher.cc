#include "server/device/cuda/watcher.h"

#include <sys/prctl.h>

#include <chrono>

#include "server/device/cuda/clock.h"
#include "server/device/cuda/lanes.h"

namespace rouse::cuda {
namespace {

// A look costs a few hundred nanoseconds, so this is a few per cent of a core, and only while the GPU works.
constexpr std::uint64_t kNapNs = 20'000;
// While the executor looks itself.
constexpr std::uint64_t kPolledNs = 100'000;
// How long nothing is under way before it sleeps: waking it costs the executor a system call.
constexpr std::uint64_t kLingerNs = 2'000'000;
// Work that does not move for so long may never: ask the driver.
constexpr std::uint64_t kAskNs = 500'000;

}  // namespace

Watcher::Watcher(std::shared_ptr<Gpu> gpu) : gpu_(std::move(gpu)), thread_([this] { run(); }) {}

Watcher::~Watcher() {
  {
    const std::lock_guard lock(gpu_->mutex);
    ending_ = true;
  }
  wanted_.notify_all();
  thread_.join();
}

void Watcher::wake() {
  if (sleeping_) wanted_.notify_one();
}

bool Watcher::lookAtAll() {
  bool any = false;
  for (std::size_t i = 0; i < gpu_->contexts.size(); ++i) any = gpu_->contexts[i]->look() || any;
  return any;
}

// A stream whose work failed stops, and its counter with it; only a call of the driver tells.
void Watcher::lookForLoss(std::uint64_t now) {
  if (gpu_->lost() || gpu_->contexts.empty() || now - movedNs_ < kAskNs || now - askedNs_ < kAskNs) return;
  askedNs_ = now;
  for (std::size_t i = 0; i < gpu_->contexts.size(); ++i) {
    Lanes* context = gpu_->contexts[askedContext_++ % gpu_->contexts.size()];
    const CUstream stream = context->anyBusyStream();
    if (stream == nullptr) continue;
    gpu_->makeCurrent();
    const CUresult result = gpu_->driver().cuStreamQuery(stream);
    if (result != CUDA_ERROR_NOT_READY) gpu_->good(result, "cuStreamQuery", context);
    return;
  }
}

bool Watcher::anythingWatched() const {
  if (gpu_->text.wanted() || gpu_->localMemory.wanted()) return true;
  for (const Lanes* context : gpu_->contexts)
    if (context->watched()) return true;
  return false;
}

bool Watcher::poll(bool& waiting) {
  const bool any = lookAtAll();
  const std::uint64_t now = steadyNs();
  polledNs_ = now;
  if (any) movedNs_ = now;
  lookForLoss(now);
  waiting = false;
  for (const Lanes* context : gpu_->contexts) waiting = waiting || context->waitsForSlots();
  return any;
}

void Watcher::run() {
  ::prctl(PR_SET_TIMERSLACK, 1);
  std::unique_lock lock(gpu_->mutex);
  std::uint64_t quietSince = steadyNs();
  while (!ending_) {
    std::uint64_t now = steadyNs();
    const bool polled = now - polledNs_ < kPolledNs;
    if (!polled) {
      if (lookAtAll()) movedNs_ = now;
      lookForLoss(now);
    }
    if (anythingWatched()) quietSince = now;
    if (now - quietSince > kLingerNs) {
      sleeping_ = true;
      wanted_.wait(lock, [this] { return ending_ || anythingWatched(); });
      sleeping_ = false;
      quietSince = steadyNs();
      continue;
    }
    lock.unlock();
    const timespec nap{0, static_cast<long>(polled ? kPolledNs : kNapNs)};
    ::nanosleep(&nap, nullptr);
    lock.lock();
  }
}

}  // namespace rouse::cuda
