#include <unistd.h>

#include "bench/remoting/bare_wake.h"
#include "bench/remoting/client.h"
#include "bench/report.h"

namespace rouse::bench {
namespace {

// The executor polls for 50 µs, naps for 2 ms and then sleeps. After a longer pause the machine itself is slower to answer:
// caches are cold, cores in deeper sleep.
constexpr useconds_t kShortPauseUs = 3'000, kLongPauseUs = 20'000;

// A blocking call that nothing can answer locally: the stream has unfinished work.
double roundTrip(void* device) {
  const double begin = now();
  check(cudaMemsetAsync(device, 0, 4, nullptr), "cudaMemsetAsync");
  check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  return (now() - begin) * 1e9;
}

// Calls to a sleeping executor, and bare wake-ups after the same pause: in turns of 20, so that whatever else the machine does
// meets both.
struct Sleeping {
  std::vector<double> calls, bare;
};

Sleeping measureSleeping(void* device, BareWake& bare, useconds_t pauseUs, int count) {
  Sleeping result;
  for (int i = 0; i < 2 * count; ++i) {
    usleep(pauseUs);
    if (i / 20 % 2 == 0)
      result.calls.push_back(roundTrip(device));
    else
      result.bare.push_back(bare.roundTrip());
  }
  return result;
}

}  // namespace

nlohmann::json measureRoundTrips() {
  BareWake bare;
  void* device = nullptr;
  check(cudaMalloc(&device, 4096), "cudaMalloc");
  for (int i = 0; i < 1000; ++i) roundTrip(device);

  std::vector<double> polled;
  for (int i = 0; i < 20'000; ++i) polled.push_back(roundTrip(device));
  const Sleeping sleeping = measureSleeping(device, bare, kShortPauseUs, 300);
  const Sleeping idle = measureSleeping(device, bare, kLongPauseUs, 100);
  check(cudaFree(device), "cudaFree");
  return {{"rtt_polled_ns_p50", median(polled)},
          {"rtt_polled_ns_p99", percentile(polled, 0.99)},
          {"rtt_sleeping_ns_p50", median(sleeping.calls)},
          {"rtt_sleeping_ns_p99", percentile(sleeping.calls, 0.99)},
          {"rtt_sleeping_20ms_ns_p50", median(idle.calls)},
          {"bare_wake_ns_p50", median(sleeping.bare)},
          {"bare_wake_20ms_ns_p50", median(idle.bare)}};
}

}  // namespace rouse::bench
