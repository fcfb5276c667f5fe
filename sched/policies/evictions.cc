#include "sched/policies/policies.h"

namespace rouse::sched {
namespace {

bool copiedElsewhere(const Function& f, const Copy& copy) {
  for (const Copy& other : f.copies)
    if (other.gpu != copy.gpu && !other.arriving) return true;
  return false;
}

// Least recently used: Torpor-LRU (section 7.3).
class Lru final : public Eviction {
 public:
  Rank rank(const State&, const Function&, const Copy& copy, Time) const override {
    return {0, seconds(copy.usedAt.time_since_epoch())};
  }
};

// Torpor's (section 5.4): light models and second copies first, then heavy ones; the least recently used among equals.
class Torpor final : public Eviction {
 public:
  Rank rank(const State& state, const Function& f, const Copy& copy, Time) const override {
    const bool precious = state.heavy(f, state[copy.gpu]) && !copiedElsewhere(f, copy);
    return {precious ? 1 : 0, seconds(copy.usedAt.time_since_epoch())};
  }
};

// What it costs to bring it back, times how often that will be, for each byte that it takes: of several, the set that stays saves
// most (the greedy solution of a knapsack; Cao and Irani's GreedyDual-Size, USITS '97, with the chance of need in place of its clock).
// The cost is the time by which a request is later than if the model were there: from another GPU where one has it, else from the host.
// A function that waits stays: it is needed now.
class Rouse final : public Eviction {
 public:
  Rank rank(const State& state, const Function& f, const Copy& copy, Time now) const override {
    const Gpu& gpu = state[copy.gpu];
    Duration cost = state.hostSwap(f, gpu) - state.run(f);
    for (const Copy& other : f.copies)
      if (other.gpu != copy.gpu && !other.arriving) cost = std::min(cost, state.peerSwap(f, state.peerRate(gpu, other.gpu)) - state.run(f));
    const double bytes = static_cast<double>(std::max<std::uint64_t>(1, f.spec.memoryBytes));
    return {f.waiting.empty() ? 0 : 1, std::max(1e-6, seconds(cost)) * f.rate(now) / bytes};
  }
};

}  // namespace

std::unique_ptr<Eviction> lruEviction() { return std::make_unique<Lru>(); }
std::unique_ptr<Eviction> torporEviction() { return std::make_unique<Torpor>(); }
std::unique_ptr<Eviction> rouseEviction() { return std::make_unique<Rouse>(); }

}  // namespace rouse::sched
