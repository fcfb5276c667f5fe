// Functions to be served: HTTP on the Unix socket that ROUSE_FUNCTION_SOCKET names, one request after the other.
#pragma once

#include <cstdint>
#include <string>

#include "bench/swap/weights.h"

namespace rouse::bench {

// POST with a number as the body is answered by "NUMBER SERIAL VERDICT": SERIAL counts the requests executed so far by
// this process, VERDICT is "ok", or what of the output is wrong. GET /executed is answered by the count, any other GET
// by 200. kind "echo": nothing is computed. "model": an inference of a small network on the device, compared with a
// reference on the host.
// kind "weights": the same of a network of as many MiB of parameters as `weights` says, each function's own.
struct WeightsOptions {
  unsigned mib = 1;
  std::uint64_t seed = 0;
  Effort effort;
};
int serveFunction(const std::string& kind, const WeightsOptions& weights = {});
// The same of a network (bench/swap/networks.h) of that scale; of its words an inference reads one in `stride`, others each time.
// `spoiled`: one bit of it is flipped on the device, for the test that wrong answers are noticed.
int serveNetwork(const std::string& network, double scale, std::uint32_t stride, std::uint64_t seed, bool spoiled);

}  // namespace rouse::bench
