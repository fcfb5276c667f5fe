#include "tools/sim/targets.h"

#include <cstdio>

namespace rouse::sim {
namespace {

constexpr double kAny = 1e18;

}  // namespace

std::vector<Target> torporTargets() {
  return {{"compliant_torpor_160", 160, 160}, {"compliant_native_160", 72, 72}, {"compliant_keep_alive_160", 0, 16},
          {"compliant_torpor_480", 470, 480}, {"compliant_torpor_560", 449, 560}, {"variants_worse_560", 1, 1},
          {"compliant_rouse_480", 480, 480},  {"compliant_rouse_560", 560, 560}, {"compliant_rouse_640", 640, 640},
          {"rouse_never_worse", 1, 1},        {"gpu_balance_rouse", 0.9, 1}};
}

std::vector<Target> scaleTargets() { return {{"speedup", 100, kAny}, {"step_us_p99", 0, 5}}; }

int checkTargets(const std::vector<Target>& targets, const Json& report) {
  int missed = 0;
  for (const Target& target : targets) {
    const auto found = report.find(target.key);
    if (found == report.end()) {
      std::fprintf(stderr, "missed: %s was not simulated\n", target.key.c_str());
      missed = 4;
      continue;
    }
    const double value = found->is_boolean() ? found->get<bool>() : found->get<double>();
    if (value >= target.least && value <= target.most) continue;
    std::fprintf(stderr, "missed: %s is %g, promised are %g to %g\n", target.key.c_str(), value, target.least, target.most);
    missed = 4;
  }
  return missed;
}

}  // namespace rouse::sim
