#include "bench/remoting/targets.h"

#include <cstdio>

namespace rouse::bench {

const std::vector<Target>& remotingTargets() {
  static const std::vector<Target> targets{
      {"enqueue_ns_p50", 100, false},      {"launches_per_s", 5e6, true},       {"rtt_polled_ns_p50", 2000, false},
      {"rtt_sleeping_ns_p50", 25e3, false}, {"h2d_pageable_ratio", 0.8, true},   {"d2h_pageable_ratio", 0.8, true},
      {"h2d_pinned_ratio", 0.95, true},    {"d2h_pinned_ratio", 0.95, true},    {"attach_ms_p50", 5, false},
      {"idle_cpu_percent", 1, false},
  };
  return targets;
}

std::vector<std::string> missedTargets(const nlohmann::json& report, double slack) {
  std::vector<std::string> missed;
  for (const Target& target : remotingTargets()) {
    const auto found = report.find(target.key);
    char line[160];
    if (found == report.end()) {
      std::snprintf(line, sizeof line, "%s: not in the report", target.key);
      missed.emplace_back(line);
      continue;
    }
    const double value = found->get<double>();
    const double limit = target.atLeast ? target.limit / slack : target.limit * slack;
    if (target.atLeast ? value < limit : value > limit) {
      std::snprintf(line, sizeof line, "%s: %.4g, %s %.4g", target.key, value, target.atLeast ? "at least" : "at most", limit);
      missed.emplace_back(line);
    }
  }
  return missed;
}

}  // namespace rouse::bench
