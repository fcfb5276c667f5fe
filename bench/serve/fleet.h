// Functions with models of some size each, on GPUs with modelled links that do not hold them all at once: what the figures of a whole
// node are measured on.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/pool.h"
#include "bench/serve/load.h"
#include "bench/swap/weights.h"

namespace rouse::bench {

struct FleetOptions {
  std::vector<unsigned> mib;       // parameters of each function
  unsigned gpus = 2;
  unsigned gpuMib = 96;            // of each GPU
  double linkGbPerS = 0.25;        // of each GPU's own link
  double deadlineMs = 500;
  Effort effort{.stride = 1024};
  bool swaps = true;               // false: natively: functions keep their GPU memory
  unsigned startSeconds = 120;     // for all of them to be ready
};

// Of a function, on a GPU: its parameters, its activations, what is left of its last granule.
constexpr unsigned kBesideParametersMib = 4;

class Fleet {
 public:
  explicit Fleet(const FleetOptions& options);
  ~Fleet();
  Fleet(const Fleet&) = delete;

  const std::vector<std::string>& names() const { return names_; }
  Place router() const { return {"", pool_->routerPort()}; }
  const Pool& pool() const { return *pool_; }
  // Those that are ready after at most so many seconds; returns as soon as all are.
  std::vector<std::string> ready(double seconds) const;

  // GPU time with requests so far, seconds by GPU.
  std::map<unsigned, double> gpuSeconds() const;

 private:
  FleetOptions options_;
  std::vector<std::string> names_;
  std::string topology_;  // a file
  std::optional<Pool> pool_;
};

// The GPUs' links as memory/topology.h and tools/sim/node.h have them, each table below `prefix`.
std::string describeLinks(const FleetOptions& options, const std::string& prefix);

}  // namespace rouse::bench
