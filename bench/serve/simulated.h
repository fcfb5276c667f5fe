// What functions were asked live, as a workload of rouse-sim: what each takes alone, the links, when it was asked.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/serve/fleet.h"

namespace rouse::bench {

// By a function's size, milliseconds through the router: with its memory on the GPU, and coming there.
struct Calibration {
  struct Times {
    double run = 0, hostSwap = 0;
    std::size_t swaps = 0;  // that were measured; 0: made of the link's rate and other sizes
  };
  std::map<unsigned, Times> byMib;
};
// Medians of requests one after the other, so that each has the node to itself. Throws where no function was swapped in.
Calibration calibrate(const Fleet& fleet, const FleetOptions& setup);
nlohmann::json describe(const Calibration& calibration);

// Runs `rouse-sim run` on it, and returns what that printed. `keep`: a folder that is made, in which node.toml, models.toml and events.csv are left; empty: none.
nlohmann::json simulateServed(const std::vector<std::string>& names, const FleetOptions& setup, const Calibration& alone,
                              const std::vector<Arrival>& schedule, double warmUp, const std::string& keep);

}  // namespace rouse::bench
