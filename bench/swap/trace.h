// The chart of one traced request, from what the client saw: its own calls, and times that each layer's kernel took on the device.
#pragma once

#include <nlohmann/json.hpp>

#include "bench/swap/chart.h"
#include "bench/swap/networks.h"

namespace rouse::bench {

// `answer`: of swap-client to `infer … trace`.
SwapChart chartOf(const Network& network, const nlohmann::json& answer);

}  // namespace rouse::bench
