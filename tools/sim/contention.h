// Table 3 of the Torpor paper from the model of the links: what a swap takes while other models come to the GPU beside it, over
// and over.
#pragma once

#include "tools/sim/node.h"

namespace rouse::sim {

// Milliseconds, the mean of many; `beside` null: nothing comes. The node's first two GPUs.
double swapBeside(const Node& node, const Models& models, const Model& model, const Model* beside);

}  // namespace rouse::sim
