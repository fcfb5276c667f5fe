#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/networks/served.h"

namespace rouse::bench {

struct NetworksOptions {
  NetworkSize size = NetworkSize::whole;
  std::vector<std::string> only{};  // names; empty: all
  int repetitions = 5;
  double seconds = 20;              // of the storm
  std::uint64_t gpuMib = 0;         // 0: half of all models, or what the largest needs where that is more
  std::string device = "cpu";
};

// Throws where a network does not answer.
nlohmann::json measureNetworks(const NetworksOptions&);

}  // namespace rouse::bench
