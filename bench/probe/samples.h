// Repeated timing within a cap, and the lines that figures end up in.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "bench/report.h"

namespace rouse::probe {

struct Cap {
  double seconds;   // begins nothing after that; the first sample is taken in any case
  int samples;      // nor more than these
};

// Seconds of each run; the first run warms up and is not among them.
template <class Body>
std::vector<double> repeat(const Cap& cap, Body&& body) {
  body();
  std::vector<double> seconds;
  const double end = bench::now() + cap.seconds;
  do {
    const double begin = bench::now();
    body();
    seconds.push_back(bench::now() - begin);
  } while (static_cast<int>(seconds.size()) < cap.samples && bench::now() < end);
  return seconds;
}

// A cost: microseconds of one of `each` equal parts of a sample.
inline nlohmann::json cost(const std::string& name, const std::vector<double>& seconds, int each = 1) {
  return {{"name", name},
          {"us_p50", bench::median(seconds) * 1e6 / each},
          {"us_p99", bench::percentile(seconds, 0.99) * 1e6 / each},
          {"samples", seconds.size()}};
}

// A bandwidth in 10^9 bytes a second: a sample moved `moved` bytes, in blocks of `bytes`.
inline nlohmann::json rate(const std::string& name, std::size_t bytes, std::size_t moved, const std::vector<double>& seconds) {
  return {{"name", name}, {"bytes", bytes}, {"gb_per_s", static_cast<double>(moved) / bench::median(seconds) * 1e-9}, {"samples", seconds.size()}};
}

}  // namespace rouse::probe
