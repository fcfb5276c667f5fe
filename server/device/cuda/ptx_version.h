// Which PTX a driver's compiler takes.
#pragma once

#include <string>

namespace rouse::cuda {

// Says in the text, one module, that it is of the latest PTX that a driver knows (version as of cuDriverGetVersion()), if it is of a later one: most code
// uses nothing of what a version adds, and whether this does the driver's compiler tells. Returns what it said before; empty: it stays as it is, as it does
// for drivers of whose PTX nothing is known here. Pure.
std::string lowerPtxVersion(std::string& ptx, int driverVersion);

}  // namespace rouse::cuda
