// A number of functions and their requests, made of what the command line says.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/sim/engine.h"

namespace rouse::sim {

struct WorkloadOptions {
  std::string trace;                 // a file of minute counts or of events; empty: generated
  std::string arrivals = "torpor";   // parseProcess
  std::size_t minutes = 30;          // at most those of the trace
  std::uint64_t seed = 1;
};

struct Workload {
  std::vector<std::uint32_t> modelOf;  // round robin (section 7, Settings)
  Counts counts;                       // empty for a file of events
  std::vector<Arrival> arrivals;
};

// A function of a file of events that bears a model's name has that model.
Result<Workload> makeWorkload(const WorkloadOptions& options, std::size_t functions, const Models& models);

// A policy by one name: rouse, torpor, torpor_fifo, torpor_random, torpor_lru, torpor_block; or QUEUEING/PLACEMENT/EVICTION/ADMISSION.
struct NamedPolicy {
  std::string name;
  std::string queueing, placement, eviction, admission;
  bool naiveBlocks = false;
  sched::PolicyNames names() const { return {queueing, placement, eviction, admission}; }
};
const std::vector<NamedPolicy>& namedPolicies();
Result<NamedPolicy> findPolicy(const std::string& name);

}  // namespace rouse::sim
