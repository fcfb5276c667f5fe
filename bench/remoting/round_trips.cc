#include <unistd.h>

#include "bench/remoting/client.h"
#include "bench/report.h"

namespace rouse::bench {
namespace {

// A blocking call that nothing can answer locally: the stream has unfinished work.
double roundTrip(void* device) {
  const double begin = now();
  check(cudaMemsetAsync(device, 0, 4, nullptr), "cudaMemsetAsync");
  check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  return (now() - begin) * 1e9;
}

}  // namespace

nlohmann::json measureRoundTrips() {
  void* device = nullptr;
  check(cudaMalloc(&device, 4096), "cudaMalloc");
  for (int i = 0; i < 1000; ++i) roundTrip(device);

  std::vector<double> polled;
  for (int i = 0; i < 20'000; ++i) polled.push_back(roundTrip(device));

  // Long enough for the executor to have gone from polling through napping to sleep.
  std::vector<double> sleeping;
  for (int i = 0; i < 100; ++i) {
    usleep(20'000);
    sleeping.push_back(roundTrip(device));
  }
  check(cudaFree(device), "cudaFree");
  return {{"rtt_polled_ns_p50", median(polled)},
          {"rtt_polled_ns_p99", percentile(polled, 0.99)},
          {"rtt_sleeping_ns_p50", median(sleeping)},
          {"rtt_sleeping_ns_p99", percentile(sleeping, 0.99)}};
}

}  // namespace rouse::bench
