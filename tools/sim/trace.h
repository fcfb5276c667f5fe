// Who asks when: minute counts, and arrivals made of them. All randomness from a seed; the same seed, the same arrivals, on
// every machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sched/time.h"
#include "schemas/base/result.h"

namespace rouse::sim {

// Uniform and Poisson numbers that do not depend on the standard library's distributions, which differ between implementations.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15ull + 0x2545f4914f6cdd1dull) {}
  std::uint64_t bits();  // SplitMix64 (Steele et al., OOPSLA '14)
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }  // [0, 1)
  std::uint64_t below(std::uint64_t limit) { return static_cast<std::uint64_t>(unit() * static_cast<double>(limit)); }
  double exponential(double mean);
  double normal();
  double gamma(double shape, double scale);  // Marsaglia and Tsang, TOMS 2000
  std::uint64_t poisson(double mean);

 private:
  std::uint64_t state_;
};

using Counts = std::vector<std::vector<double>>;  // requests by function and minute

// The layout of the Azure Functions 2019 files: HashOwner,HashApp,HashFunction,Trigger,1,2,…; a last minute that was cut off
// (less than a tenth of the mean) is left out. Errors name file and line.
Result<Counts> readMinuteCounts(const std::filesystem::path& file);
// What the project uses where no file is given: functions with 5 to 15 requests a minute on average, Poisson counts within
// that, and a common tide of a fifth up and down in 20 minutes. The counts published with Torpor's prototype are like that:
// means from 5.1 to 14.8, all together with a standard deviation of 14% over the minutes.
Counts generateCounts(std::size_t functions, std::size_t minutes, std::uint64_t seed);
// Each function gets one of the rows, drawn with replacement, as the prototype's sender does.
Counts drawRows(const Counts& rows, std::size_t functions, std::uint64_t seed);

struct Arrival {
  sched::Time at{};
  std::uint32_t function = 0;
};

struct Process {
  enum class Kind : std::uint8_t {
    torpor,   // the prototype's sender: within a minute, gaps of whole milliseconds, Poisson distributed around the mean gap of
              // all requests together, each for a function drawn in proportion to its count. More even than Poisson arrivals.
    poisson,  // each function's requests uniformly within its minute
    gamma,    // gaps of each function from a gamma distribution of the coefficient of variation below, rate by the minute
  };
  Kind kind = Kind::torpor;
  double variation = 1;
};
// torpor, poisson, gamma:CV
Result<Process> parseProcess(std::string_view text);

// In order of time.
std::vector<Arrival> arrivals(const Counts& counts, const Process& process, std::uint64_t seed);
// Lines "timestamp,function[,…]": seconds, and a number or a name; functions are numbered in order of appearance. A first line
// that holds no number is a header.
struct Events {
  std::vector<Arrival> arrivals;
  std::size_t functions = 0;
  std::vector<std::string> names;  // by number
};
Result<Events> readEvents(const std::filesystem::path& file);

}  // namespace rouse::sim
