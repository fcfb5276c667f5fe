// Random events against what the scheduler promises always (scheduler.h), whatever its policies.
#include <map>
#include <random>
#include <set>

#include "test/sched/node.h"

namespace rouse::sched {
namespace {

struct World {
  struct Function { FunctionSpec spec; };
  struct Copy { bool arriving = false; std::uint64_t bytes = 0; int readers = 0; std::optional<GpuId> from; };
  std::map<FunctionId, FunctionSpec> functions;
  std::map<GpuId, GpuSpec> gpus;
  std::set<GpuId> lost;
  std::map<std::pair<GpuId, FunctionId>, Copy> copies;
  std::map<RequestId, FunctionId> waiting, retried;
  std::map<RequestId, std::pair<FunctionId, GpuId>> running;
  std::map<RequestId, int> runs;
  std::set<FunctionId> leaving;
};

class Check {
 public:
  World world;
  unsigned evicted = 0, parts = 0, fetched = 0, ran = 0, fromPeers = 0, refusals = 0;

  int runningOn(GpuId gpu) const {
    int count = 0;
    for (const auto& [id, where] : world.running) count += where.second == gpu;
    return count;
  }
  int runningOf(FunctionId f) const {
    int count = 0;
    for (const auto& [id, where] : world.running) count += where.first == f;
    return count;
  }
  std::uint64_t used(GpuId gpu) const {
    std::uint64_t sum = 0;
    for (const auto& [key, copy] : world.copies)
      if (key.first == gpu) sum += copy.bytes;
    return sum;
  }

  void operator()(const Evict& evict) {
    for (const Leave& leave : evict.leave) {
      const auto copy = world.copies.find({evict.gpu, leave.function});
      REQUIRE(copy != world.copies.end());
      REQUIRE_FALSE(copy->second.arriving);
      REQUIRE(copy->second.readers == 0);
      REQUIRE(world.functions.at(leave.function).pinned != evict.gpu);
      for (const auto& [id, where] : world.running) REQUIRE_FALSE((where.first == leave.function && where.second == evict.gpu));
      ++(leave.whole ? evicted : parts);
      if (leave.whole) {
        world.copies.erase(copy);
      } else {
        REQUIRE(leave.bytes < copy->second.bytes);
        copy->second.bytes -= leave.bytes;
      }
    }
  }
  void bring(FunctionId f, GpuId gpu, const Source& source) {
    const FunctionSpec& spec = world.functions.at(f);
    REQUIRE_FALSE(world.lost.contains(gpu));
    REQUIRE((!spec.tied || *spec.tied == gpu));
    auto& copy = world.copies[{gpu, f}];
    REQUIRE_FALSE(copy.arriving);
    REQUIRE(copy.bytes < spec.memoryBytes);
    copy.arriving = true, copy.bytes = spec.memoryBytes;
    if (source.kind == Source::Kind::peer) {
      auto& from = world.copies.at({source.peer, f});
      REQUIRE_FALSE(from.arriving);
      REQUIRE(from.bytes == spec.memoryBytes);
      ++from.readers;
      copy.from = source.peer;
    }
    REQUIRE(used(gpu) <= world.gpus.at(gpu).memoryBytes);
  }
  void operator()(const Fetch& fetch) {
    REQUIRE(fetch.source.kind != Source::Kind::resident);
    ++fetched;
    bring(fetch.function, fetch.gpu, fetch.source);
  }
  void operator()(const Run& run) {
    const auto request = world.waiting.find(run.request);
    REQUIRE(request != world.waiting.end());
    REQUIRE(request->second == run.function);
    world.waiting.erase(request);
    ++ran;
    fromPeers += run.source.kind == Source::Kind::peer;
    REQUIRE(++world.runs[run.request] <= (world.retried.contains(run.request) ? 2 : 1));
    if (run.source.kind != Source::Kind::resident) bring(run.function, run.gpu, run.source);
    REQUIRE(world.copies.contains({run.gpu, run.function}));
    REQUIRE(world.copies[{run.gpu, run.function}].bytes == world.functions.at(run.function).memoryBytes);
    world.running[run.request] = {run.function, run.gpu};
    REQUIRE(runningOn(run.gpu) <= static_cast<int>(world.gpus.at(run.gpu).slots));
    REQUIRE(runningOf(run.function) <= static_cast<int>(world.functions.at(run.function).concurrency));
  }
  void operator()(const Refuse& refuse) {
    ++refusals;
    REQUIRE(world.waiting.erase(refuse.request) + world.running.erase(refuse.request) == 1);
  }
  void operator()(const SetTimer&) {}

  void arrived(GpuId gpu, FunctionId f) {
    auto& copy = world.copies.at({gpu, f});
    copy.arriving = false;
    if (copy.from) {
      const auto from = world.copies.find({*copy.from, f});
      if (from != world.copies.end()) --from->second.readers;
      copy.from.reset();
    }
  }
  void clear(GpuId gpu) {
    for (auto& [key, copy] : world.copies)
      if (copy.from == gpu) copy.from.reset();
    for (auto at = world.copies.begin(); at != world.copies.end();) {
      if (at->first.first != gpu) {
        ++at;
        continue;
      }
      if (at->second.from) {
        const auto from = world.copies.find({*at->second.from, at->first.second});
        if (from != world.copies.end()) --from->second.readers;
      }
      at = world.copies.erase(at);
    }
  }
  void forget(FunctionId f) {
    for (auto at = world.copies.begin(); at != world.copies.end();) at = at->first.second == f ? world.copies.erase(at) : std::next(at);
    world.functions.erase(f);
    world.leaving.erase(f);
  }
};

}  // namespace

TEST_CASE("random events, every policy: nothing lost, nothing twice, memory kept, nothing in use evicted, no idling") {
  const PolicyNames names = GENERATE(PolicyNames{"rouse", "rouse", "rouse", "rouse"}, PolicyNames{"torpor", "torpor", "torpor", "limits"},
                                     PolicyNames{"fifo", "random", "lru", "limits"}, PolicyNames{"edf", "rouse", "lru", "limits"},
                                     PolicyNames{"rouse", "torpor", "rouse", "limits"}, PolicyNames{"torpor", "random", "rouse", "rouse"});
  const std::uint64_t seed = GENERATE(1u, 2u, 3u, 4u);
  INFO(names.queueing << "/" << names.placement << "/" << names.eviction << "/" << names.admission << " seed " << seed);
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  Scheduler scheduler(policies(names));
  Check check;
  World& world = check.world;
  double now = 0;
  unsigned request = 0;
  const auto step = [&](const Event& event, auto&& before) {
    std::vector<Action> actions;
    const Status status = scheduler.step(event, at(now), actions);
    INFO(status.error().message);
    REQUIRE(status.ok());
    before();
    for (const Action& action : actions) std::visit(check, action);
  };
  const auto nothing = [] {};
  constexpr unsigned kGpus = 4, kFunctions = 24;
  constexpr std::uint64_t kMB = std::uint64_t{1} << 20;
  for (unsigned g = 0; g < kGpus; ++g) {
    GpuSpec spec{.memoryBytes = 3000 * kMB,
                 .linkBytesPerSecond = 10000.0 * kMB,
                 .switchId = g / 2,
                 .uplinkBytesPerSecond = 12000.0 * kMB,
                 .slots = g == 3 ? 2u : 1u};
    for (unsigned other = 0; other < kGpus; ++other)
      if (other != g) spec.peers.push_back({G(other), 25000.0 * kMB});
    step(GpuAdded{G(g), spec}, [&] { world.gpus[G(g)] = spec; });
  }
  const auto spec = [&] {
    FunctionSpec one = below(3) == 0 ? bert() : below(2) == 0 ? resnet() : densenet();
    one.memoryBytes *= kMB, one.transferBytes *= kMB;  // of that order: parts that leave are whole pieces
    one.concurrency = 1 + below(2);
    one.retry = below(2) == 0;
    one.strict = below(5) != 0;
    if (below(8) == 0) one.tied = G(static_cast<unsigned>(below(kGpus)));
    if (below(12) == 0) one.pinned = one.tied ? one.tied : G(static_cast<unsigned>(below(kGpus)));
    if (below(3) == 0) one.run = one.hostSwap = one.peerSwap = Duration::zero();
    return one;
  };
  std::size_t pinned = 0;
  for (int turn = 0; turn < 6000; ++turn) {
    now += static_cast<double>(below(8));
    const FunctionId f = F(static_cast<unsigned>(below(kFunctions)));
    const GpuId gpu = G(static_cast<unsigned>(below(kGpus)));
    switch (below(16)) {
      case 0: {
        if (world.functions.contains(f)) break;
        FunctionSpec one = spec();
        if (one.pinned && ++pinned > 3) one.pinned.reset();
        step(FunctionAdded{f, one}, [&] { world.functions[f] = one; });
        break;
      }
      case 1:
        if (below(6) != 0 || !world.functions.contains(f) || world.leaving.contains(f)) break;
        world.leaving.insert(f);
        step(FunctionRemoved{f}, nothing);
        if (check.runningOf(f) == 0) check.forget(f);
        break;
      case 2: {
        if (below(10) != 0 || world.lost.contains(gpu)) break;
        const bool whole = below(2) == 0;
        // What runs there waits again, or is refused.
        const auto fails = [&] {
          for (auto at = world.running.begin(); at != world.running.end();) {
            if (at->second.second != gpu) {
              ++at;
              continue;
            }
            const FunctionId function = at->second.first;
            const bool again =
                world.functions.at(function).retry && !world.retried.contains(at->first) && !world.leaving.contains(function);
            if (again) world.retried[at->first] = function;
            world.waiting[at->first] = function;  // until it is refused
            at = world.running.erase(at);
          }
          check.clear(gpu);
          if (whole) world.lost.insert(gpu);
        };
        whole ? step(GpuLost{gpu}, fails) : step(ExecutorFailed{gpu}, fails);
        for (const FunctionId one : std::set<FunctionId>(world.leaving))
          if (check.runningOf(one) == 0) check.forget(one);
        break;
      }
      case 3:
        if (!world.lost.contains(gpu)) break;
        world.lost.erase(gpu);
        step(GpuReturned{gpu}, nothing);
        break;
      case 4: {
        if (world.waiting.empty() || below(3) != 0) break;
        const RequestId id = std::next(world.waiting.begin(), static_cast<std::ptrdiff_t>(below(world.waiting.size())))->first;
        step(RequestCancelled{id}, [&] { world.waiting.erase(id); });
        break;
      }
      case 5: step(TimerFired{}, nothing); break;
      case 6:
      case 7:
      case 8: {
        std::vector<std::pair<GpuId, FunctionId>> arriving;
        for (const auto& [key, copy] : world.copies)
          if (copy.arriving) arriving.push_back(key);
        if (arriving.empty()) break;
        const auto key = arriving[below(arriving.size())];
        step(ModelArrived{key.second, key.first}, [&] { check.arrived(key.first, key.second); });
        break;
      }
      case 9:
      case 10:
      case 11:
      case 12: {
        if (world.running.empty()) break;
        const auto one = *std::next(world.running.begin(), static_cast<std::ptrdiff_t>(below(world.running.size())));
        const auto ends = [&] {
          check.arrived(one.second.second, one.second.first);
          world.running.erase(one.first);
          if (world.leaving.contains(one.second.first) && check.runningOf(one.second.first) == 0) check.forget(one.second.first);
        };
        step(RequestFinished{one.first, ms(static_cast<double>(below(100))), below(20) != 0}, ends);
        break;
      }
      default:
        if (!world.functions.contains(f) || world.leaving.contains(f)) break;
        const RequestId id = R(++request);
        step(RequestArrived{id, f}, [&] { world.waiting[id] = f; });
    }
    // What the scheduler believes is what has been done.
    const State& state = scheduler.state();
    for (const auto& [id, one] : world.gpus) {
      REQUIRE(state[id].used == check.used(id));
      REQUIRE(state[id].running.size() == static_cast<std::size_t>(check.runningOn(id)));
      REQUIRE(state[id].held <= state[id].used);
    }
    REQUIRE(state.requests.size() == world.waiting.size() + world.running.size());
    // Work conserving: no model rests whole on an idle GPU while a request of its function waits and could run.
    for (const auto& [key, copy] : world.copies) {
      if (copy.arriving || world.lost.contains(key.first) || world.leaving.contains(key.second)) continue;
      const FunctionSpec& one = world.functions.at(key.second);
      if (copy.bytes != one.memoryBytes || check.runningOn(key.first) >= static_cast<int>(world.gpus.at(key.first).slots)) continue;
      if (check.runningOf(key.second) >= static_cast<int>(one.concurrency)) continue;
      for (const auto& [id, function] : world.waiting) REQUIRE(function != key.second);
    }
  }
  // All that waits is served in the end.
  for (const GpuId gpu : std::set<GpuId>(world.lost)) {
    world.lost.erase(gpu);
    step(GpuReturned{gpu}, nothing);
  }
  for (int turn = 0; turn < 20000 && (!world.waiting.empty() || !world.running.empty()); ++turn) {
    now += 10;
    bool done = false;
    for (const auto& [key, copy] : world.copies)
      if (copy.arriving && !done) {
        const auto what = key;
        step(ModelArrived{what.second, what.first}, [&] { check.arrived(what.first, what.second); });
        done = true;
        break;
      }
    if (!world.running.empty()) {
      const auto one = *world.running.begin();
      step(RequestFinished{one.first, ms(20)}, [&] {
        check.arrived(one.second.second, one.second.first);
        world.running.erase(one.first);
        if (world.leaving.contains(one.second.first) && check.runningOf(one.second.first) == 0) check.forget(one.second.first);
      });
      done = true;
    }
    if (!done) step(TimerFired{}, nothing);
  }
  REQUIRE(world.waiting.empty());
  REQUIRE(world.running.empty());
  // All of it has happened.
  INFO("ran " << check.ran << " evicted " << check.evicted << " parts " << check.parts << " fetched " << check.fetched << " peers "
              << check.fromPeers << " refused " << check.refusals);
  REQUIRE(check.ran > 300);
  REQUIRE(check.evicted > 30);
  REQUIRE(check.refusals > 0);
  REQUIRE((names.eviction != "rouse" || check.parts > 20));
  REQUIRE((names.placement != "rouse" || check.fetched > 100));
  REQUIRE((names.placement == "random" || check.fromPeers > 5));
}

}  // namespace rouse::sched
