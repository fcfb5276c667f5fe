// Figures of a whole node, live. Each throws where the functions do not come up, and counts wrong outputs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "bench/serve/fleet.h"

namespace rouse::bench {

struct BalanceOptions {
  unsigned functions = 40;
  double seconds = 40, warmUp = 5, requestsPerS = 30;
  std::uint64_t seed = 1;
};
// Busy functions, some several times as busy as others, which fit on two GPUs together and not on one. gpu_balance: GPU time with requests
// of the less busy GPU by that of the other.
nlohmann::json measureBalance(const BalanceOptions& options);

struct NativeOptions {
  unsigned mib = 16, gpuMib = 96;
  double times = 12;  // as many functions as natively
  double requestsAMinute = 10, seconds = 40, deadlineMs = 500;
  std::uint64_t seed = 1;
};
// One GPU: functions that it holds natively (whoever finds no memory does not come up), and functions through the pool of which so many
// requests are answered within the deadline as was promised. functions_vs_native: these by those.
nlohmann::json measureNative(const NativeOptions& options);

struct PredictOptions {
  unsigned functions = 20;
  double seconds = 60, warmUp = 5, requestsPerS = 5;
  unsigned repetitions = 3;
  std::uint64_t seed = 1;
  std::string keep;  // a folder for what rouse-sim was given; empty: not kept
};
// The same requests live and simulated by `rouse-sim run`: sim_p98_ms, live_p98_ms, sim_live_ratio, medians.
nlohmann::json measurePrediction(const PredictOptions& options);

}  // namespace rouse::bench
