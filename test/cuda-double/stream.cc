#include "test/cuda-double/stream.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "test/cuda-double/context.h"
#include "test/cuda-double/gpu.h"

namespace rouse::cuda_double {
namespace {

// As wire/layout.h says waiters do; wakes by itself now and then, so that no wake-up is waited for in vain.
void await(wire::Slot& slot, std::uint64_t value) {
  for (int round = 0; round < 200; ++round) {
    if (slot.value.load(std::memory_order_acquire) >= value) return;
    std::this_thread::yield();
  }
  slot.waiters.fetch_add(1, std::memory_order_seq_cst);
  for (;;) {
    const std::uint64_t seen = slot.value.load(std::memory_order_seq_cst);
    if (seen >= value) break;
    timespec limit{0, 10'000'000};
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&slot.value), FUTEX_WAIT, static_cast<std::uint32_t>(seen),
            &limit, nullptr, 0);
  }
  slot.waiters.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace

Stream::Stream(Context& context, std::unique_ptr<memory::Stream> device, int priority)
    : context(context), priority(priority), device_(std::move(device)), thread_([this] { work(); }) {}

Stream::~Stream() {
  join();
  // The device looks at the slot once more after it has signalled it.
  for (;;) {
    std::lock_guard lock(context.gpu.deviceMutex);
    if (!device_->idle()) continue;
    device_.reset();
    return;
  }
}

void Stream::push(Operation operation) {
  std::lock_guard lock(mutex_);
  operations_.push_back(std::move(operation));
  ++pushed_;
  changed_.notify_all();
}

void Stream::drain() {
  std::unique_lock lock(mutex_);
  const std::uint64_t target = pushed_;
  changed_.wait(lock, [&] { return completed_ >= target || ended_; });
}

bool Stream::idle() {
  std::lock_guard lock(mutex_);
  return completed_ == pushed_;
}

bool Stream::uses(AddressRange range) {
  std::lock_guard lock(mutex_);
  for (const Operation& operation : operations_) {
    for (const AddressRange& used : operation.ranges) {
      if (used.overlaps(range)) return true;
    }
  }
  return false;
}

void Stream::close() {
  std::lock_guard lock(mutex_);
  closing_ = true;
  changed_.notify_all();
}

bool Stream::closed() {
  std::lock_guard lock(mutex_);
  return ended_;
}

void Stream::join() {
  std::lock_guard lock(joinMutex_);
  if (thread_.joinable()) thread_.join();
}

void Stream::wake() {
  std::lock_guard lock(mutex_);
  changed_.notify_all();
}

void Stream::releaseRanges() {
  std::lock_guard lock(mutex_);
  operations_.front().ranges.clear();
}

CUresult Stream::onDevice(const std::function<void(memory::Context&, memory::Stream&)>& work) {
  {
    std::lock_guard lock(context.gpu.deviceMutex);
    work(*context.device, *device_);
    context.device->signal(*device_, slot_, ++signalled_, false);
  }
  await(slot_, signalled_);
  return static_cast<CUresult>(slot_.result.load());
}

void Stream::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return !operations_.empty() || closing_ || context.stopping(); });
    if (context.stopping() || operations_.empty()) break;
    Operation& front = operations_.front();  // stays where it is while more are pushed behind it
    lock.unlock();
    // Once a context has failed, a GPU runs nothing more of it.
    if (!context.failed()) {
      if (const CUresult result = front.run(); result != CUDA_SUCCESS) context.fail(result, "queued work failed");
    }
    lock.lock();
    operations_.pop_front();
    ++completed_;
    changed_.notify_all();
  }
  ended_ = true;
  changed_.notify_all();
}

}  // namespace rouse::cuda_double
