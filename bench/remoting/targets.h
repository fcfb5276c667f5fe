// The figures that SPECIFICATION.md promises for the remoting path.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rouse::bench {

struct Target {
  const char* key;
  double limit;
  bool atLeast;  // else at most
};

const std::vector<Target>& remotingTargets();

// One line for each target that the report misses by more than `slack` (1: the promise itself; 3: a third of a rate, three
// times a duration), and for each that it lacks.
std::vector<std::string> missedTargets(const nlohmann::json& report, double slack);

}  // namespace rouse::bench
