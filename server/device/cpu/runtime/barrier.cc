#include "server/device/cpu/runtime/barrier.h"

#include <bit>

namespace rouse::cpu {
namespace {

// Fiber::result is free while a fiber waits: it carries bar.red's operation. (Fiber::yields counts on: loops wait by reductions as well.)
std::uint64_t reduction(std::uint32_t op, std::uint32_t trueCount, std::uint32_t predicates) {
  switch (op) {
    case 0:
      return trueCount;
    case 1:
      return trueCount == predicates ? 1 : 0;
    default:
      return trueCount != 0 ? 1 : 0;
  }
}

}  // namespace

void Barriers::reset() {
  for (; used_ != 0; used_ &= used_ - 1) barriers_[std::countr_zero(used_)] = Barrier{};
}

Barriers::Barrier& Barriers::use(std::uint32_t id, std::uint32_t count) {
  Barrier& barrier = barriers_[id % kBarriers];
  used_ |= 1u << (id % kBarriers);
  barrier.expected = count;
  ++barrier.arrived;
  return barrier;
}

bool Barriers::completeIfFull(Barrier& barrier, std::uint32_t live, Fiber* last, FiberQueue& ready) {
  const std::uint32_t expected = barrier.expected == 0 ? live : barrier.expected;
  if (barrier.arrived < expected || barrier.arrived == 0) return false;
  if (barrier.reducing) {
    for (Fiber* fiber = barrier.waiting.front(); fiber != nullptr; fiber = fiber->next) {
      fiber->result = reduction(static_cast<std::uint32_t>(fiber->result), barrier.trueCount, barrier.predicates);
    }
    if (last != nullptr) last->result = reduction(static_cast<std::uint32_t>(last->result), barrier.trueCount, barrier.predicates);
    barrier.trueCount = barrier.predicates = 0;
    barrier.reducing = false;
  }
  barrier.arrived = 0;
  ready.append(barrier.waiting);
  return true;
}

bool Barriers::arriveAndWait(Fiber* fiber, std::uint32_t id, std::uint32_t count, std::uint32_t live,
                             FiberQueue& ready) {
  Barrier& barrier = use(id, count);
  if (completeIfFull(barrier, live, fiber, ready)) return true;
  fiber->wait = Wait::barrier;
  fiber->detail = id;
  barrier.waiting.push(fiber);
  return false;
}

bool Barriers::reduce(Fiber* fiber, std::uint32_t id, std::uint32_t count, std::uint32_t live, std::uint32_t op,
                      bool predicate, FiberQueue& ready) {
  Barrier& barrier = use(id, count);
  barrier.reducing = true;
  barrier.trueCount += predicate ? 1 : 0;
  ++barrier.predicates;
  fiber->result = op;
  if (completeIfFull(barrier, live, fiber, ready)) return true;
  fiber->wait = Wait::barrier;
  fiber->detail = id;
  barrier.waiting.push(fiber);
  return false;
}

void Barriers::arrive(std::uint32_t id, std::uint32_t count, std::uint32_t live, FiberQueue& ready) {
  completeIfFull(use(id, count), live, nullptr, ready);
}

void Barriers::threadExited(std::uint32_t live, FiberQueue& ready) {
  if (live == 0) return;
  for (std::uint32_t bits = used_; bits != 0; bits &= bits - 1) {
    Barrier& barrier = barriers_[std::countr_zero(bits)];
    if (barrier.expected == 0) completeIfFull(barrier, live, nullptr, ready);
  }
}

}  // namespace rouse::cpu
