#include "tools/sim/workload.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace rouse::sim {

Result<Workload> makeWorkload(const WorkloadOptions& options, std::size_t functions, const Models& models) {
  const auto process = parseProcess(options.arrivals);
  if (!process) return process.error();
  Workload workload;
  std::vector<std::string> names;  // of functions, as far as they have any
  if (!options.trace.empty()) {
    std::string first;
    std::ifstream(options.trace) >> first;
    if (!first.starts_with("HashOwner") && std::count(first.begin(), first.end(), ',') < 4) {
      auto events = readEvents(options.trace);
      if (!events) return events.error();
      if (events->functions > functions)
        return Error{CudaError::invalidValue, options.trace + ": " + std::to_string(events->functions) +
                                                  " functions, --functions says " + std::to_string(functions)};
      workload.arrivals = std::move(events->arrivals);
      names = std::move(events->names);
    }
  }
  if (workload.arrivals.empty()) {
    if (options.trace.empty()) {
      workload.counts = generateCounts(functions, options.minutes, options.seed);
    } else {
      const auto rows = readMinuteCounts(options.trace);
      if (!rows) return rows.error();
      workload.counts = drawRows(*rows, functions, options.seed);
      for (auto& row : workload.counts) row.resize(std::min(row.size(), options.minutes));
    }
    workload.arrivals = arrivals(workload.counts, *process, options.seed);
  }
  for (std::size_t f = 0; f < functions; ++f) {
    const Model* named = f < names.size() ? models.find(names[f]) : nullptr;
    workload.modelOf.push_back(static_cast<std::uint32_t>(named != nullptr ? static_cast<std::size_t>(named - models.models.data()) : f % models.models.size()));
  }
  return workload;
}

const std::vector<NamedPolicy>& namedPolicies() {
  static const std::vector<NamedPolicy> policies = {
      {"rouse", "rouse", "rouse", "rouse", "rouse", false},
      {"torpor", "torpor", "torpor", "torpor", "limits", false},
      {"torpor_fifo", "fifo", "torpor", "torpor", "limits", false},
      {"torpor_block", "torpor", "torpor", "torpor", "limits", true},
      {"torpor_lru", "torpor", "torpor", "lru", "limits", false},
      {"torpor_random", "torpor", "random", "torpor", "limits", false},
  };
  return policies;
}

Result<NamedPolicy> findPolicy(const std::string& name) {
  std::string known;
  for (const NamedPolicy& one : namedPolicies()) {
    if (one.name == name) return one;
    known += " " + one.name;
  }
  std::vector<std::string> parts;
  std::istringstream text(name);
  for (std::string part; std::getline(text, part, '/');) parts.push_back(part);
  if (parts.size() != 4)
    return Error{CudaError::invalidValue,
                 "policy '" + name + "' is not known (known are:" + known + ", or QUEUEING/PLACEMENT/EVICTION/ADMISSION)"};
  NamedPolicy policy{name, parts[0], parts[1], parts[2], parts[3], false};
  if (auto made = sched::makePolicies(policy.names()); !made) return made.error();
  return policy;
}

}  // namespace rouse::sim
