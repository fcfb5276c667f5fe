#include "bench/remoting/client.h"
#include "bench/report.h"

namespace rouse::bench {

// What the caller pays while the ring has room: short bursts, each begun with an empty ring.
nlohmann::json measureEnqueue() {
  const EmptyKernel kernel;
  constexpr int kBurst = 256, kBursts = 2000;
  std::vector<double> perLaunch;
  for (int burst = 0; burst < kBursts; ++burst) {
    const double begin = now();
    for (int i = 0; i < kBurst; ++i) kernel.launch();
    perLaunch.push_back((now() - begin) * 1e9 / kBurst);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  return {{"enqueue_ns_p50", median(perLaunch)}, {"enqueue_ns_p99", percentile(perLaunch, 0.99)}};
}

// End to end: until the executor has taken the last launch.
nlohmann::json measureLaunchRate() {
  const EmptyKernel kernel;
  constexpr int kLaunches = 2'000'000, kRuns = 5;
  std::vector<double> rates;
  for (int run = 0; run < kRuns; ++run) {
    const double begin = now();
    for (int i = 0; i < kLaunches; ++i) kernel.launch();
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    rates.push_back(kLaunches / (now() - begin));
  }
  return {{"launches_per_s", median(rates)}};
}

}  // namespace rouse::bench
