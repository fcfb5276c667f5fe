// Calls of cuSOLVER's sparse part as jobs (server/library/job.h).
#pragma once

#include <memory>

#include "schemas/systems/call.h"
#include "server/library/job.h"

namespace rouse::library::cpu {

// The call has been checked; indices, and factors, in memory have not.
Result<std::unique_ptr<Job>> makeSystem(systems::Function function, const systems::Call& call);

}  // namespace rouse::library::cpu
