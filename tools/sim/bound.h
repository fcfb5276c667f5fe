// How many functions could comply at most, whatever the policy: from GPU time and link time alone.
#pragma once

#include "tools/sim/node.h"
#include "tools/sim/trace.h"

namespace rouse::sim {

// Of a workload, parts that are necessary of what there is; above 1 not all functions can comply.
//
// gpu: a request that is in time holds a GPU for its model's run at least. In each minute at most all GPUs' time (and a longest deadline
// more, for what came at its end) is there; what does not fit is late, and of each function at most 1 - percentile of its requests may be.
// link: the same of the bytes that must come from the host when those models are on the GPUs all the time that save most (a
// policy that does not know the future cannot do better with requests that come independently of each other), with the
// uplinks in place of the GPUs.
struct Need {
  double gpu = 0, link = 0;
  bool possible() const { return gpu <= 1 && link <= 1; }
};
Need necessary(const Node& node, const Models& models, const std::vector<std::uint32_t>& modelOf, const Counts& counts);

}  // namespace rouse::sim
