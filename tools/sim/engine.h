// The simulator: sched::Scheduler under virtual time, on GPUs and links that take the time that they were measured to take.
// Deterministic: the same arguments give the same result, wall times aside.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sched/policy.h"
#include "tools/sim/node.h"
#include "tools/sim/trace.h"

namespace rouse::sim {

struct Setup {
  Node node;
  unsigned copies = 1;  // nodes, under one scheduler; no copies between GPUs of different ones
  Models models;
  std::vector<std::uint32_t> modelOf;  // of each function, an index into models
  sched::PolicyNames policies;
  bool naiveBlocks = false;  // memory is allocated as by Torpor-Block
  std::uint64_t seed = 1;
  sched::Duration warmUp = std::chrono::minutes(1);  // what arrives in it is served and not counted
  bool measureSteps = false;
};

struct FunctionResult {
  std::uint32_t requests = 0, inTime = 0, refused = 0;  // refused ones are among requests
  std::vector<float> latencies;                         // ms, of those answered
  bool complies(double percentile) const { return inTime >= percentile * requests; }
};

struct GpuResult {
  double busySeconds = 0;           // with requests
  std::vector<float> latencies;     // ms, of requests that ran here
};

struct LinkResult {
  std::string name;
  double bytes = 0, capacity = 0;  // carried; bytes a second
};

struct Outcome {
  std::vector<FunctionResult> functions;
  std::vector<GpuResult> gpus;
  std::vector<LinkResult> links;
  std::uint64_t runs = 0, hostSwaps = 0, peerSwaps = 0, evictions = 0;
  std::vector<float> allocations;  // of memory, by naiveBlocks or not, for each run with a swap: part of the run's own time
  double virtualSeconds = 0, wallSeconds = 0, cpuSeconds = 0;
  std::uint64_t steps = 0;
  double stepMeanUs = 0, stepP99Us = 0;  // where measured
  std::size_t compliant(double percentile) const;
};

// Serves all arrivals to the end. Throws std::logic_error when the scheduler breaks what it promises.
Outcome simulate(const Setup& setup, const std::vector<Arrival>& arrivals);

double percentileOf(std::vector<float> values, double part);  // nearest rank; 0 of none

}  // namespace rouse::sim
