// The figures that SPECIFICATION.md promises.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rouse::bench {

struct Target {
  std::string key;
  double limit;
  bool atLeast;  // else at most
};

const std::vector<Target>& remotingTargets();
// `networks`: those that were asked for.
std::vector<Target> swapTargets(const std::vector<std::string>& networks);
const std::vector<Target>& kernelsTargets();
// `networks`: those that were measured.
std::vector<Target> networksTargets(const std::vector<std::string>& networks);

// One line for each target that the report misses by more than `slack` (1: the promise itself; 3: a third of a rate, three
// times a duration), and for each that it lacks, with the reason where `not_measured` has one.
std::vector<std::string> missedTargets(const std::vector<Target>& targets, const nlohmann::json& report, double slack);

}  // namespace rouse::bench
