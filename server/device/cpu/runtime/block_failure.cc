// How a block ends its launch, and what is said of that.
#include <cstdio>
#include <string>

#include "server/device/cpu/runtime/block.h"
#include "server/device/cpu/runtime/interruption.h"
#include "server/device/cpu/runtime/signal_faults.h"

namespace rouse::cpu {
namespace {

std::string bracketed(const std::uint32_t (&value)[3]) {
  return "[" + std::to_string(value[0]) + "," + std::to_string(value[1]) + "," + std::to_string(value[2]) + "]";
}

}  // namespace

std::string Block::where(const ThreadContext* thread) const {
  std::string text = "kernel " + grid_->options().kernel + ", block " + bracketed(context_.ctaid);
  if (thread != nullptr) text += ", thread " + bracketed(thread->tid);
  return text + ": ";
}

void Block::fail(const ThreadContext* thread, CudaError error) {
  grid_->fail(error, where(thread) + runner_.scratch());
  runner_.leaveForGood(runner_.current());
}

void Block::leaveStopped() {
  runner_.leaveKernelCode();
  runner_.leaveForGood(runner_.current());
}

void Block::failFor(const Fault& fault, const Fiber* fiber) {
  if (fault.signal == interruptSignal()) return;  // stopped: whoever stopped it has said why
  const bool isThread = grid_->options().code.loop == nullptr;
  const bool misaligned = isThread ? fiber->context.misaligned != 0 : (context_.misaligned & ~kStuck) != 0;
  Error error = describe(fault, misaligned);
  grid_->fail(error.code, where(isThread ? &fiber->context : nullptr) + error.message);
}

void Block::failDeadlocked() {
  std::uint32_t atBarrier[kBarriers] = {};
  std::uint32_t inWarp = 0, inCluster = 0;
  std::uint32_t mask = 0;
  for (std::uint32_t thread = 0; thread < context_.threads; ++thread) {
    const Fiber* fiber = fibers_[thread];
    if (fiber == nullptr) continue;
    if (fiber->wait == Wait::barrier) ++atBarrier[fiber->detail % kBarriers];
    if (fiber->wait == Wait::cluster) ++inCluster;
    if (fiber->wait == Wait::warp) {
      ++inWarp;
      mask = fiber->detail;
    }
  }
  std::string text = where(nullptr) + "deadlock: ";
  for (std::uint32_t id = 0; id < kBarriers; ++id) {
    if (atBarrier[id] != 0) {
      text += std::to_string(atBarrier[id]) + " threads wait at " +
              (id < kNumberedBarriers ? "barrier " + std::to_string(id) : "wgmma.wait_group of warpgroup " + std::to_string(id - kNumberedBarriers)) + ", ";
    }
  }
  if (inCluster != 0) text += std::to_string(inCluster) + " threads wait at the barrier of their cluster, ";
  if (inWarp != 0) {
    char hex[16];
    std::snprintf(hex, sizeof hex, "0x%x", mask);
    text += std::to_string(inWarp) + " threads wait in warp operations (mask " + hex + "), ";
  }
  grid_->fail(CudaError::launchFailure, text + "no thread can run");
}

}  // namespace rouse::cpu
