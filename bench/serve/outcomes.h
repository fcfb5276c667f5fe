// What became of each request of a load, and what follows from it. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace rouse::bench {

struct Sample {
  enum class Verdict : std::uint8_t { right, wrong, refused, lost };
  double due = 0;  // seconds from the beginning of the load
  double ms = 0;   // from then until its answer, or until it was given up
  Verdict verdict = Verdict::right;
  std::uint64_t number = 0;  // of the request
};

struct ServedFunction {
  std::string name;
  double deadlineMs = 1000;
  double percentile = 98;  // of its requests that are to be in time
  std::vector<Sample> samples{};

  bool inTime(const Sample& sample) const { return sample.verdict == Sample::Verdict::right && sample.ms <= deadlineMs; }
};

struct Served {
  std::string title;
  double seconds = 0;  // of load
  std::vector<ServedFunction> functions;
  std::vector<std::pair<std::string, std::string>> conditions;  // under which, in words
};

struct ServedFigures {
  std::size_t requests = 0, answered = 0, inTime = 0, wrong = 0, refused = 0, lost = 0;
  double p50 = 0, p90 = 0, p98 = 0, p99 = 0;  // ms, of those answered; 0: none was
  double attainment() const { return requests == 0 ? 1 : static_cast<double>(inTime) / static_cast<double>(requests); }
};
ServedFigures figuresOf(const ServedFunction&);
ServedFigures figuresOf(const Served&);  // of all; latencies too

// The same as JSON: totals, goodput, and by function.
nlohmann::ordered_json toJson(const Served&);

}  // namespace rouse::bench
