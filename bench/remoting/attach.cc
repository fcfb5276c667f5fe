#include <unistd.h>

#include <cstdio>

#include "bench/remoting/attach.h"
#include "bench/remoting/client.h"
#include "bench/pool.h"
#include "bench/report.h"

namespace rouse::bench {

// In a fresh process: the first call that needs the pool pays for attaching to it.
nlohmann::json measureFirstCall() {
  const double begin = now();
  check(cudaFree(nullptr), "cudaFree");
  return {{"attach_ms", (now() - begin) * 1e3}};
}

// Attached, then silent until standard input closes.
nlohmann::json waitIdle() {
  check(cudaFree(nullptr), "cudaFree");
  std::puts("attached");
  std::fflush(stdout);
  char byte = 0;
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  return {{"idle", true}};
}

nlohmann::json measureAttach(const std::string& device) {
  Pool pool({.device = device});
  std::vector<double> milliseconds;
  for (int i = 0; i < 31; ++i) milliseconds.push_back(pool.runClient("first-call").at("attach_ms").get<double>());
  return {{"attach_ms_p50", median(milliseconds)}, {"attach_ms_p99", percentile(milliseconds, 0.99)}};
}

nlohmann::json measureIdle(const std::string& device) {
  constexpr int kClients = 50;
  constexpr double kSeconds = 5;
  Pool pool({.device = device});
  auto clients = pool.startIdleClients(kClients);
  sleep(1);
  const double cpuBefore = pool.cpuSeconds(), begin = now();
  usleep(static_cast<useconds_t>(kSeconds * 1e6));
  const double percent = (pool.cpuSeconds() - cpuBefore) / (now() - begin) * 100;
  return {{"idle_cpu_percent", percent}, {"idle_clients", kClients}};
}

}  // namespace rouse::bench
