// The part of the status report that is about functions.d and the router.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace rouse::daemon {

class FunctionHost;

// "configured": one object a function, also for those whose file is broken.
nlohmann::ordered_json configuredFunctions(const FunctionHost&);

}  // namespace rouse::daemon
