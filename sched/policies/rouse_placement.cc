#include <algorithm>
#include <vector>

#include "sched/policies/policies.h"

namespace rouse::sched {
namespace {

// Transfers and runs are two resources, and are given out apart; in the order of urgency, each request gets the first of these
// that it can have:
//
//   1. Its model is on an idle GPU, or what is missing will be there in time: it runs.
//   2. Its model is on a busy GPU: it waits if it can, for that is cheapest. An idle GPU that has nothing else to do, or a last chance
//      that would pass, and it runs there at once, copied over NVLink.
//   3. Its model is nowhere: it is fetched while GPUs run others, to where the request should end first. A long transfer (half a deadline
//      and more) has a switch for itself as far as possible: two that share one would both be late.
//
// A request thus holds a GPU for as long as it runs, not for as long as its model travels; Torpor's GPU waits through the
// transfer (section 4.5). That GPUs must not disturb each other's transfers is Torpor's insight (section 5.3).
class Rouse final : public Placement {
 public:
  std::optional<Decision> next(const State& state, Time now) override {
    wake_.reset();
    toGpu_.assign(state.gpus.size(), 0);
    toSwitch_.assign(state.traffic.size(), 0);
    int looked = 0;
    for (const Entry& entry : state.order) {
      if (looked == kLook) break;
      const Function& f = state[entry.function];
      bool placeable = false;
      if (auto decision = f.comes() || f.wholeSomewhere() ? run(state, f, entry.key, now, placeable)
                                                          : fetch(state, f, entry.key, now, placeable))
        return decision;
      looked += placeable;
    }
    // No idle GPU waits although what it has could run.
    for (const GpuId id : state.idle)
      for (const Entry& entry : state[id].ready)
        if (const Function& f = state[entry.function]; isReady(state, f, *f.copyOn(id), now)) return resident(f, id, Why::idleOtherwise);
    return std::nullopt;
  }

  std::optional<Time> wakeAt() const override { return wake_; }

 private:
  static constexpr int kLook = 24;             // requests, from the most urgent on
  static constexpr double kLongPart = 0.5;     // of a deadline, that a long transfer takes
  static constexpr Duration kHorizon = std::chrono::seconds(10);  // what is evicted is counted as missing for so long
  static constexpr double kBacklog = 0.010;    // seconds, for each that could run there too: half of a run, for it may run elsewhere
  static constexpr double kLoad = 0.0001;       // seconds, for a GPU that has had as much to do lately as the others: among equal ones the lesser loaded
  static constexpr double kUneven = 1.04;      // of a GPU's part of the load: from there on another one is made to share it
  static constexpr int kLateGroup = 2;         // of the queueing policy: from there on nothing is gained by hurry

  static Decision resident(const Function& f, GpuId gpu, Why why) { return {Decision::Kind::run, f.id, gpu, {}, false, why}; }

  bool isReady(const State& state, const Function& f, const Copy& copy, Time now) {
    if (!copy.arriving) return copy.missing == 0;
    const Time ready = state.ready(f, copy, now);
    if (ready <= now) return true;
    wakeUp(ready);
    return false;
  }

  void wakeUp(Time at) {
    if (!wake_ || at < *wake_) wake_ = at;
  }

  bool hasReady(const State& state, const Gpu& gpu, Time now) {
    for (const Entry& entry : gpu.ready)
      if (const Function& f = state[entry.function]; isReady(state, f, *f.copyOn(gpu.id), now)) return true;
    return false;
  }

  std::optional<Decision> run(const State& state, const Function& f, const Key& key, Time now, bool& placeable) {
    Time free = Time::max();
    const Copy* from = nullptr;
    const Copy* here = nullptr;  // of those that it could run on now, the one that has done least lately
    for (const Copy& copy : f.copies) {
      if (copy.missing != 0) continue;
      const Gpu& gpu = state[copy.gpu];
      if (gpu.idle()) {
        if (isReady(state, f, copy, now) && (here == nullptr || state.loadShare(gpu) < state.loadShare(state[here->gpu]))) here = &copy;
        free = std::min(free, state.ready(f, copy, now));
      } else {
        free = std::min(free, std::max(state.freeAt(gpu, now), state.ready(f, copy, now)));
      }
      if (!copy.arriving) from = &copy;
    }
    if (here != nullptr) return resident(f, here->gpu, here->arriving ? Why::inTime : Why::resident);
    placeable = true;
    if (from == nullptr || state.idle.empty()) return std::nullopt;
    if (auto decision = even(state, f, *from, now)) return decision;

    const Time last = f.headDeadline - state.run(f);
    const bool canWait = last >= free || key.group >= kLateGroup;
    const Gpu* best = nullptr;
    Duration least = Duration::max();
    bool bestFree = false;
    for (const GpuId id : state[from->gpu].readers) {
      const Gpu& gpu = state[id];
      const double rate = state.peerRate(gpu, from->gpu);
      if (!gpu.idle() || f.copyOn(id) != nullptr || !f.allowedOn(id) || !state.fits(f, gpu)) continue;
      const bool nothingElse = !hasReady(state, gpu, now);
      if (!nothingElse && canWait) continue;
      const Duration extra = state.peerSwap(f, rate) - state.run(f);
      if (now + extra >= free || (best != nullptr && (bestFree > nothingElse || (bestFree == nothingElse && extra >= least)))) continue;
      best = &gpu, least = extra, bestFree = nothingElse;
    }
    if (best == nullptr) return std::nullopt;
    return Decision{Decision::Kind::run, f.id, best->id, {Source::Kind::peer, from->gpu}, false, bestFree ? Why::nothingElse : Why::lastChance};
  }

  // It would have to wait where it is, and a GPU that has had less to do lately has nothing to do and room for it: it goes there, if its way is
  // nobody else's just now, and if what the models of the two are asked for will then be more alike: otherwise all that wait would
  // follow, until the other one has been the fuller one for as long.
  std::optional<Decision> even(const State& state, const Function& f, const Copy& from, Time now) {
    const Gpu& full = state[from.gpu];
    const double share = state.loadShare(full);
    if (share < kUneven) return std::nullopt;
    for (const GpuId id : state.idle) {
      const Gpu& gpu = state[id];
      const double less = share - state.loadShare(gpu);
      if (less < kUneven - 1 || f.copyOn(id) != nullptr || !f.allowedOn(id) || gpu.used + f.spec.memoryBytes > gpu.spec.memoryBytes) continue;
      if (!gpu.ready.empty() || !state.traffic[gpu.spec.switchId].transfers().empty()) continue;
      const double rate = state.peerRate(gpu, from.gpu);
      if (now + (rate > 0 ? state.peerSwap(f, rate) : state.hostSwap(f, gpu)) > f.headDeadline) continue;
      if (demand(state, f, now) >= demand(state, full, now) - demand(state, gpu, now)) continue;
      const Source source = rate > 0 ? Source{Source::Kind::peer, from.gpu} : Source{Source::Kind::host, {}};
      return Decision{Decision::Kind::run, f.id, id, source, false, Why::evenLoad};
    }
    return std::nullopt;
  }

  // Of a GPU's time, by one copy of a model; by all that are there.
  static double demand(const State& state, const Function& f, Time now) {
    return f.copies.empty() ? 0 : f.rate(now) * seconds(state.run(f)) / static_cast<double>(f.copies.size());
  }
  static double demand(const State& state, const Gpu& gpu, Time now) {
    double sum = 0;
    for (const FunctionId id : gpu.models) sum += demand(state, state[id], now);
    return sum;
  }

  std::optional<Decision> fetch(const State& state, const Function& f, const Key& key, Time now, bool& placeable) {
    const Gpu* best = nullptr;
    double least = 0, bestBytes = 0;
    bool bestLong = false, bestLater = false;
    const double run = seconds(state.run(f));
    // A GPU's part of the load, by slot, as State::loadShare: this loop looks at each GPU for each request that waits, and most are left at once.
    const double loadPart = state.load > 0 ? kLoad * static_cast<double>(state.slots) / state.load : 0;
    for (const Gpu& gpu : state.gpus) {
      const Copy* part = f.copyOn(gpu.id);
      if (!gpu.present || !f.allowedOn(gpu.id) || !State::fits(f, part, gpu)) continue;
      placeable = true;
      if (best != nullptr && f.headFailedOn == gpu.id) continue;
      const bool anyOther = best == nullptr || f.headFailedOn == best->id;
      const double runs = seconds(state.freeAt(gpu, now) - now) + static_cast<double>(gpu.ready.size() - (part != nullptr)) * kBacklog + run;
      const double bytes = static_cast<double>(part == nullptr ? f.transferBytes() : part->missing);
      // What others pay: who leaves has to be brought back.
      const double memory = part == nullptr ? static_cast<double>(f.spec.memoryBytes) : bytes;
      const bool evicts = static_cast<double>(gpu.used) + memory > static_cast<double>(gpu.spec.memoryBytes) && !gpu.leavers.empty();
      const double others = (evicts ? gpu.leavesFirst * memory * seconds(kHorizon) : 0) +
                            (loadPart > 0 ? loadPart * gpu.load / gpu.spec.slots : kLoad);
      // With the way to itself it would be no better.
      if (!anyOther && std::max((bytes + toGpu_[index(gpu.id)]) / gpu.spec.linkBytesPerSecond, runs) + others >= least) continue;
      const Traffic& traffic = state.traffic[gpu.spec.switchId];
      if (key.group >= kLateGroup && (!traffic.transfers().empty() || !gpu.idle())) continue;
      const bool isLong = bytes / gpu.spec.linkBytesPerSecond > seconds(f.spec.deadline) * kLongPart;
      // All that share a way get the same part of it: those with less left delay this one by what they have, the others by as
      // much as it has.
      double onLink = bytes + toGpu_[index(gpu.id)], onWay = bytes + toSwitch_[gpu.spec.switchId];
      unsigned shortOnes = 0;
      for (const Traffic::Transfer& other : traffic.transfers()) {
        const double shared = std::min(bytes, other.bytes);
        onWay += shared;
        if (other.gpu == gpu.id) onLink += shared, shortOnes += !other.isLong;
      }
      const bool later = isLong ? traffic.longOnes() != 0 : shortOnes != 0;
      const double travels = std::max(onLink / gpu.spec.linkBytesPerSecond, onWay / gpu.spec.uplinkBytesPerSecond);
      const double cost = std::max(travels, runs) + others;
      if (!anyOther && cost >= least) continue;
      best = &gpu, least = cost, bestLong = isLong, bestLater = later, bestBytes = bytes;
    }
    if (best == nullptr) return std::nullopt;
    if (bestLater) {  // the way there will be free soon enough: whoever comes next counts it as taken
      toGpu_[index(best->id)] += bestBytes;
      toSwitch_[best->spec.switchId] += bestBytes;
      return std::nullopt;
    }
    return Decision{Decision::Kind::fetch, f.id, best->id, {Source::Kind::host, {}}, bestLong, Why::earliestEnd};
  }

  std::optional<Time> wake_;
  std::vector<double> toGpu_, toSwitch_;  // bytes of those that wait for a way, within one next()
};

}  // namespace

std::unique_ptr<Placement> rousePlacement() { return std::make_unique<Rouse>(); }

}  // namespace rouse::sched
