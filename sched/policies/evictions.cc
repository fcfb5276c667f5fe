#include <algorithm>
#include "sched/policies/policies.h"

namespace rouse::sched {
namespace {

bool copiedElsewhere(const Function& f, const Copy& copy) {
  for (const Copy& other : f.copies)
    if (other.gpu != copy.gpu && other.whole()) return true;
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

// What it costs to bring it back, times how often that will be, for each byte that it frees: of several, the set that stays saves
// most (the greedy solution of a knapsack; Cao and Irani's GreedyDual-Size, USITS '97, with the chance of need in place of its clock).
//
// The cost is the time by which a request would be later, weighed by the part of its slack that this takes, and the link's time. A
// function that has been late counts more, so that who is late at times is everybody in turn and not some always. A function that
// waits stays: it is needed now.
//
// A model leaves in two steps. First goes what it uses last, as much as travels while it runs anyway: when that is missing a request is
// hardly later, and five Bert-qa fit where four did. The rest goes together.
class Rouse final : public Eviction {
 public:
  Rank rank(const State& state, const Function& f, const Copy& copy, Time now) const override {
    const Gpu& gpu = state[copy.gpu];
    const std::uint64_t hidden = hides(state, f, gpu);
    const bool first = copy.missing < hidden;
    const std::uint64_t comes = first ? hidden : f.transferBytes();
    Duration later = state.hostSwap(f, gpu, comes) - state.run(f);
    double moves = static_cast<double>(comes);
    for (const Copy& other : f.copies) {
      if (other.gpu == copy.gpu || !other.whole()) continue;
      // From there, or served there, which waits for half a run if that GPU is busy.
      const double rate = state.peerRate(gpu, other.gpu);
      later = std::min(later, rate > 0 ? state.peerSwap(f, rate) - state.run(f) : state.run(f) / 2);
      moves = 0;
    }
    const double late = std::max(0.0, seconds(later)), slack = std::max(1e-3, seconds(f.spec.deadline - state.run(f)) - late);
    const double cost = late * std::min(kMostSlack, late / slack) * need(f) + kLinkWeight * moves / gpu.spec.uplinkBytesPerSecond;
    const double frees = static_cast<double>(first ? hidden : f.size(copy));
    return {f.waiting.empty() ? 0 : 1, cost * f.rate(now) / std::max(1.0, frees)};
  }
  std::uint64_t gives(const State& state, const Function& f, const Copy& copy) const override {
    const std::uint64_t hidden = hides(state, f, state[copy.gpu]);
    return copy.missing < hidden ? hidden - copy.missing : f.spec.memoryBytes;
  }

 private:
  static constexpr double kMostSlack = 10;
  static constexpr double kLinkWeight = 0.1;   // of a second of a link against one by which a request would be too late
  static constexpr double kHiddenPart = 0.6;   // of a run: links are shared
  static constexpr double kNeed = 4;
  static constexpr double kFew = 50;           // requests: fewer count as so many

  // Bytes that come while it runs, in whole pieces. Less than all of it, or none.
  static std::uint64_t hides(const State& state, const Function& f, const Gpu& gpu) {
    auto bytes = static_cast<std::uint64_t>(kHiddenPart * seconds(state.run(f)) * gpu.spec.linkBytesPerSecond);
    bytes -= bytes % kPieceBytes;
    return bytes < f.transferBytes() ? bytes : 0;
  }

  static double need(const Function& f) {
    const double all = f.window.requests(), late = all - f.window.inTime(), mayBe = (1 - f.spec.percentile) * std::max(all, kFew);
    return 1 + kNeed * std::min(1.0, late * late / (mayBe * mayBe));
  }
};

}  // namespace

std::unique_ptr<Eviction> lruEviction() { return std::make_unique<Lru>(); }
std::unique_ptr<Eviction> torporEviction() { return std::make_unique<Torpor>(); }
std::unique_ptr<Eviction> rouseEviction() { return std::make_unique<Rouse>(); }

}  // namespace rouse::sched
