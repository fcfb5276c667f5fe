// When requests are due, of which function: generated, or from a trace. Known before the load begins, whatever becomes of it (open loop). Pure.
#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace rouse::bench {

struct Arrival {
  double at = 0;               // seconds from the beginning
  std::uint32_t function = 0;  // by index
  auto operator<=>(const Arrival&) const = default;
};

// Of one function: gaps are of a Gamma distribution with this mean and coefficient of variation; 1 makes it Poisson, above 1 come bursts.
struct Stream {
  double perSecond = 1;
  double variation = 1;
};

// In order of time. A function's arrivals depend on the seed and its index alone.
std::vector<Arrival> generate(const std::vector<Stream>& streams, double seconds, std::uint64_t seed);

// From text, up to `seconds` of it; a trace is played `speed` times as fast as it was recorded. Either events, lines of
// `timestamp,function[,...]` with seconds in any order, the first of which is the beginning; or the minute counts of the Azure Functions trace of
// 2019 (`HashOwner,HashApp,HashFunction,Trigger,1,...`), whose requests are spread evenly at random over their minute. Functions are numbered in the
// order in which they appear, modulo `functions`. Throws std::runtime_error that names the line, of `name`.
std::vector<Arrival> readTrace(std::istream&, const std::string& name, std::uint32_t functions, double seconds, double speed, std::uint64_t seed);

}  // namespace rouse::bench
