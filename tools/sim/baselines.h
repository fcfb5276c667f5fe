// What Torpor is compared with (section 7.3): functions bound to a GPU for good, and functions that are started when they are asked for.
#pragma once

#include "tools/sim/engine.h"

namespace rouse::sim {

// Function i is on GPU i mod GPUs; those that find a GPU full (Node::nativeFunctions) never run. Those of one GPU share its time
// equally, a function runs one request at a time (assumptions).
Outcome simulateNative(const Setup& setup, const std::vector<Arrival>& arrivals, std::size_t functionsPerGpu);

// INFless' keep-alive as the prototype's baseline_keepalive.py has it: a function is ended when it has been idle for the 99th percentile of
// its own gaps; one that is asked for while it is not there is started where a GPU has a place, first come, first served, which is
// looked at every 2 s and takes Model::cold.
Outcome simulateKeepAlive(const Setup& setup, const std::vector<Arrival>& arrivals);

// Functions of which a request has been answered.
std::size_t executed(const Outcome& result);

}  // namespace rouse::sim
