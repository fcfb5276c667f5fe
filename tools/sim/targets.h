// What is promised of the simulated figures (SPECIFICATION.md).
#pragma once

#include <string>
#include <vector>

#include "tools/sim/report.h"

namespace rouse::sim {

struct Target {
  std::string key;
  double least = 0, most = 0;
};

std::vector<Target> torporTargets();
std::vector<Target> scaleTargets();
// Names those that are missed, or not there, on standard error. 4 if there are any, else 0.
int checkTargets(const std::vector<Target>& targets, const Json& report);

}  // namespace rouse::sim
