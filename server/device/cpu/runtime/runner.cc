#include "server/device/cpu/runtime/runner.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <iterator>

#include "server/device/cpu/runtime/block.h"
#include "server/device/cpu/runtime/context_switch.h"
#include "server/device/cpu/runtime/signal_faults.h"

namespace rouse::cpu {
namespace {

// Initial-exec: a signal handler must not be the first to touch it, and generated code's calls go through it.
__attribute__((tls_model("initial-exec"))) thread_local Runner* activeRunner = nullptr;

constexpr std::size_t kSignalStackBytes = std::size_t{64} << 10;
constexpr std::size_t kOutputFlushBytes = std::size_t{16} << 10;
constexpr std::size_t kIdleBlocks = 64, kIdleClusters = 8;
constexpr std::size_t kLargeStackBytes = std::size_t{128} << 10;

std::size_t classIndex(std::size_t stackBytes) { return std::countr_zero(stackBytes / kMinStackBytes); }

}  // namespace

Runner::Runner() : thread_(pthread_self()), signalStack_(new std::byte[kSignalStackBytes]) {
  stack_t stack{};
  stack.ss_sp = signalStack_.get();
  stack.ss_size = kSignalStackBytes;
  sigaltstack(&stack, &previousSignalStack_);
  ownAnnotation_.adoptThread();
  activeRunner = this;
}

Runner::~Runner() {
  activeRunner = nullptr;
  sigaltstack(&previousSignalStack_, nullptr);
  for (auto& fiber : fibers_) fiber->annotation.end();
}

ROUSE_UNINSTRUMENTED Runner* Runner::active() { return activeRunner; }

void Runner::prepare(Fiber* fiber) {
  fiber->annotation.begin(fiber->stack.base, fiber->stack.bytes);
  // Neighbouring fibers begin at different cache lines of their top page.
  const std::size_t color = (reinterpret_cast<std::uintptr_t>(fiber) / alignof(Fiber) * 7 % 16) * 128;
  fiber->stackPointer = prepareStack(fiber->stack.top() - color, &Runner::fiberMain, fiber);
}

Fiber* Runner::takeFiber(std::size_t stackBytes, void (*body)(Fiber*)) {
  if (stackBytes == 0) return nullptr;  // more than any stack has (StackPool::classFor)
  auto& idle = idle_[classIndex(stackBytes)];
  Fiber* fiber = nullptr;
  if (!idle.empty()) {
    fiber = idle.back();
    idle.pop_back();
  } else {
    const Stack stack = stacks_.take(stackBytes);
    if (stack.base == nullptr) return nullptr;
    fibers_.push_back(std::make_unique<Fiber>());
    fiber = fibers_.back().get();
    fiber->stack = stack;
    idle.reserve(fibers_.size());  // retire() and abandon() must not allocate
    prepare(fiber);
  }
  if (stackBytes >= kLargeStackBytes) fiber->warm = largeUsed_ = true;
  fiber->body = body;
  fiber->wait = Wait::none;
  return fiber;
}

void Runner::trim() {
  if (!largeUsed_) return;
  largeUsed_ = false;
  for (std::size_t index = classIndex(kLargeStackBytes); index < std::size(idle_); ++index) {
    for (Fiber* fiber : idle_[index]) {
      if (!fiber->warm) continue;
      fiber->warm = false;
      madvise(fiber->stack.base, fiber->stack.bytes, MADV_DONTNEED);
      prepare(fiber);
    }
  }
}

void Runner::abandon(Fiber* fiber) {
  prepare(fiber);
  idle_[classIndex(fiber->stack.bytes)].push_back(fiber);
}

void Runner::enter(Fiber* fiber, Fault& fault) {
  current_ = fiber;
  leaveStack(ownAnnotation_, fiber->annotation);
  rouse_switch_stack(&ownStack_, fiber->stackPointer);
#ifdef ROUSE_TSAN
  if (fault_.signal != 0) __tsan_switch_to_fiber(ownAnnotation_.fiber, 0);
#endif
  arrivedOnStack(ownAnnotation_, nullptr);
  current_ = nullptr;
  fault = fault_;
  fault_ = {};
}

void* Runner::landing(const Fault& fault) {
  fault_ = fault;
  faulted_ = current_;
  inKernelCode_ = 0;
#ifdef ROUSE_ASAN
  __sanitizer_start_switch_fiber(nullptr, ownAnnotation_.bottom, ownAnnotation_.bytes);
#endif
  return ownStack_;
}

void Runner::leave(Fiber* self, Fiber* next) {
  current_ = next;
  leaveStack(self->annotation, next != nullptr ? next->annotation : ownAnnotation_);
  rouse_switch_stack(&self->stackPointer, next != nullptr ? next->stackPointer : ownStack_);
  arrivedOnStack(self->annotation, nullptr);
}

void Runner::retire(Fiber* self, Fiber* next) {
  idle_[classIndex(self->stack.bytes)].push_back(self);
  leave(self, next);
}

void Runner::leaveForGood(Fiber* self) {
  leave(self, nullptr);
  __builtin_unreachable();
}

void Runner::fiberMain(void* argument) {
  auto* self = static_cast<Fiber*>(argument);
  Runner* runner = activeRunner;
  arrivedOnStack(self->annotation, &runner->ownAnnotation_);
  for (;;) self->body(self);
}

void Runner::print(Fiber* self, std::string_view text, bool toStderr) {
  if (!output_.empty() && outputToStderr_ != toStderr) {
    flushRequest_ = self;
    leave(self, nullptr);
  }
  outputToStderr_ = toStderr;
  output_.append(text);
  if (output_.size() >= kOutputFlushBytes) {
    flushRequest_ = self;
    leave(self, nullptr);
  }
}

void Runner::flushOutput(Grid& grid) {
  if (output_.empty()) return;
  if (grid.options().output != nullptr) grid.options().output->onOutput(output_, outputToStderr_);
  output_.clear();
}

std::unique_ptr<Block> Runner::takeBlock() {
  if (blocks_.empty()) return std::make_unique<Block>(*this);
  auto block = std::move(blocks_.back());
  blocks_.pop_back();
  return block;
}

std::shared_ptr<Cluster> Runner::takeCluster() {
  std::unique_ptr<Cluster> cluster = clusters_.empty() ? std::make_unique<Cluster>() : std::move(clusters_.back());
  if (!clusters_.empty()) clusters_.pop_back();
  return {cluster.release(), [this](Cluster* given) {
            std::unique_ptr<Cluster> owned(given);
            if (clusters_.size() < kIdleClusters) clusters_.push_back(std::move(owned));
          }};
}

void Runner::giveBlock(std::unique_ptr<Block> block) {
  block->leaveCluster();
  if (blocks_.size() < kIdleBlocks) blocks_.push_back(std::move(block));
}

void Runner::interrupt() const { pthread_kill(thread_, interruptSignal()); }

}  // namespace rouse::cpu
