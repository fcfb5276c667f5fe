// What requests took, by function; as Prometheus reads it (text format 0.0.4). Never a request's id in a label.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "server/router/gate.h"
#include "server/router/outcome.h"
#include "server/router/recent.h"

namespace rouse::router {

class Histogram {
 public:
  static constexpr std::array<double, 14> kBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                     0.25,  0.5,    1,     2.5,  5,     10,   30};

  void add(double seconds);
  // "NAME_bucket{LABELS,le=...}", "_sum", "_count".
  void print(std::string& to, const std::string& name, const std::string& labels) const;
  std::uint64_t count() const { return count_; }
  double sum() const { return sum_; }

 private:
  std::array<std::uint64_t, kBounds.size()> buckets_{};  // not cumulative
  std::uint64_t count_ = 0;
  double sum_ = 0;
};

// Where the time of a request went that was let in; seconds. Together: from its arrival to the end of its answer.
struct Split {
  double queue = 0;  // until a GPU was given to it, an earlier try included; without a scheduler: until it was admitted
  double swap = 0;   // from then on, until all of its model was there, or it had ended: its run may be under way
  double run = 0;    // after that
};
Split split(const Stages&, Time arrived, Time admitted, Time ended);

// Of requests that were let in and have ended.
struct StageSums {
  std::uint64_t requests = 0;
  Split sum;
};

struct FunctionMetrics {
  // `admitted`: Time{} if it was not; then nothing is added.
  void add(const Stages&, Time arrived, Time admitted, Time ended);


  std::array<std::uint64_t, kOutcomes> requests{};
  std::uint64_t retries = 0;
  std::uint64_t late = 0;  // answered behind their deadline
  std::uint64_t requestBytes = 0, responseBytes = 0;
  Histogram queue, run, whole;
  std::array<StageSums, kModelSources> stages{};  // by where its model was
  Recent recent;
};

class Metrics {
 public:
  FunctionMetrics& of(std::string_view function);
  const FunctionMetrics* find(std::string_view function) const;
  void forget(std::string_view function);

  // What was admitted to functions while they were served by this GPU, from admission to the end of the answer.
  void ran(std::uint32_t gpu, double seconds) {
    ++gpus_[gpu].requests;
    gpus_[gpu].seconds += seconds;
  }

  // Requests that no function is known for, by status.
  void countOther(unsigned status) { ++others_[status]; }
  std::uint64_t connections = 0;  // open now
  std::uint64_t connectionsRefused = 0;

  // `gpuLabels`: of a GPU's lines.
  std::string prometheus(const std::function<std::string(std::uint32_t gpu)>& gpuLabels) const;

 private:
  std::map<std::string, FunctionMetrics, std::less<>> functions_;
  std::map<unsigned, std::uint64_t> others_;
  struct GpuMetrics {
    std::uint64_t requests = 0;
    double seconds = 0;
  };
  std::map<std::uint32_t, GpuMetrics> gpus_;
};

}  // namespace rouse::router
