#include "bench/targets.h"

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

// A figure that cannot be had yet is a missed one: what is promised is promised.
std::vector<Target> swapTargets(const std::vector<std::string>& networks) {
  std::vector<Target> targets{
      {"wrong", 0, false},
      {"ladder_grouped_by_per_parameter", 0.85, false},
      {"ladder_grouped_by_naive", 0.5, false},
      {"link_ratio", 0.95, true},
      {"evict_clean_us", 50, false},
      {"path_allocations", 0, false},
      {"fragmentation", 0.15, false},
      {"allocate_ns_p50", 200, false},
      {"instances_host_copies", 1.25, false},
      {"instances_gpu_copies", 1.25, false},
  };
  for (const std::string& network : networks) {
    targets.push_back({"overlap_ratio_" + network, 1.10, false});
    targets.push_back({"peer_by_home_" + network, 1.0, false});
  }
  return targets;
}

const std::vector<Target>& kernelsTargets() {
  static const std::vector<Target> targets{
      {"ratio_saxpy", 1.5, false},     {"ratio_stencil", 1.5, false},  {"ratio_sgemm_naive", 1.5, false}, {"ratio_black_scholes", 1.5, false},
      {"ratio_sgemm_tiled", 4, false}, {"ratio_reduction", 4, false},  {"ratio_scan", 4, false},          {"ratio_histogram", 4, false},
      {"ratio_nbody", 4, false},       {"compile_ms_p50", 50, false},  {"warm_compilations", 0, false},
  };
  return targets;
}

std::vector<Target> networksTargets(const std::vector<std::string>& networks) {
  std::vector<Target> targets{{"wrong", 0, false}};
  for (const std::string& network : networks) targets.push_back({"round_trips_" + network, 3, false});
  return targets;
}

std::vector<std::string> missedTargets(const std::vector<Target>& targets, const nlohmann::json& report, double slack) {
  std::vector<std::string> missed;
  const nlohmann::json reasons = report.value("not_measured", nlohmann::json::object());
  for (const Target& target : targets) {
    const auto found = report.find(target.key);
    if (found == report.end()) {
      missed.push_back(target.key + ": not measured: " + reasons.value(target.key, "not in the report"));
      continue;
    }
    char line[160];
    const double value = found->get<double>();
    const double limit = target.atLeast ? target.limit / slack : target.limit * slack;
    if (target.atLeast ? value < limit : value > limit) {
      std::snprintf(line, sizeof line, "%s: %.4g, %s %.4g", target.key.c_str(), value, target.atLeast ? "at least" : "at most", limit);
      missed.emplace_back(line);
    }
  }
  return missed;
}

}  // namespace rouse::bench
