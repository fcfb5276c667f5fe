// A scheduler with functions and GPUs, told of events at times in milliseconds.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "sched/scheduler.h"

namespace rouse::sched {

inline Time at(double ms) { return Time(fromSeconds(ms * 1e-3)); }
inline Duration ms(double value) { return fromSeconds(value * 1e-3); }
inline FunctionId F(unsigned id) { return static_cast<FunctionId>(id); }
inline GpuId G(unsigned id) { return static_cast<GpuId>(id); }
inline RequestId R(unsigned id) { return static_cast<RequestId>(id); }

inline Policies policies(const PolicyNames& names) {
  auto made = makePolicies(names);
  REQUIRE(made.ok());
  return std::move(*made);
}

// The kinds of Torpor's Table 4: a light model, a heavy one, a very heavy one.
inline FunctionSpec densenet() {
  return {.deadline = ms(80), .memoryBytes = 120, .transferBytes = 57, .run = ms(25), .hostSwap = ms(27), .peerSwap = ms(26)};
}
inline FunctionSpec resnet() {
  return {.deadline = ms(80), .memoryBytes = 300, .transferBytes = 241, .run = ms(17), .hostSwap = ms(25), .peerSwap = ms(20)};
}
inline FunctionSpec bert() {
  return {.deadline = ms(200), .memoryBytes = 1400, .transferBytes = 1336, .run = ms(43), .hostSwap = ms(144), .peerSwap = ms(45)};
}

// Megabytes and megabytes a second, to be read easily.
struct Node {
  explicit Node(const PolicyNames& names, unsigned gpus = 4, std::uint64_t memory = 3000) : scheduler(policies(names)) {
    for (unsigned g = 0; g < gpus; ++g) {
      GpuSpec spec{.memoryBytes = memory, .linkBytesPerSecond = 10470, .switchId = g / 2, .uplinkBytesPerSecond = 12000};
      // Fast between 0-3, 1-2 and 2-3, as in Figure 5.
      for (unsigned other = 0; other < gpus; ++other)
        if (other != g) spec.peers.push_back({G(other), (g + other == 3 || g + other == 5) ? 50000.0 : 25000.0});
      tell(GpuAdded{G(g), spec}, 0);
    }
  }

  // Actions of this step, SetTimer left out.
  std::vector<Action> tell(const Event& event, double when) {
    std::vector<Action> all, told;
    const Status status = scheduler.step(event, at(when), all);
    INFO(status.error().message);
    REQUIRE(status.ok());
    for (const Action& action : all)
      if (!std::holds_alternative<SetTimer>(action)) told.push_back(action);
    return told;
  }
  std::string refused(const Event& event, double when) {
    std::vector<Action> all;
    const Status status = scheduler.step(event, at(when), all);
    REQUIRE_FALSE(status.ok());
    REQUIRE(all.empty());
    return status.error().message;
  }
  // Runs it at once, to its end.
  void serve(unsigned function, unsigned request, double begin, double end) {
    tell(RequestArrived{R(request), F(function)}, begin);
    tell(RequestFinished{R(request), ms(end - begin)}, end);
  }

  Scheduler scheduler;
};

inline const Run& asRun(const Action& action) {
  REQUIRE(std::holds_alternative<Run>(action));
  return std::get<Run>(action);
}

inline const PolicyNames kTorpor{"torpor", "torpor", "torpor", "limits"};
inline const PolicyNames kRouse{};

}  // namespace rouse::sched
