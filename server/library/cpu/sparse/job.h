// Calls of cuSPARSE as jobs (server/library/job.h).
#pragma once

#include "schemas/sparse/call.h"
#include "server/library/job.h"

namespace rouse::library::cpu {

// The call has been checked; indices in memory have not.
Result<std::unique_ptr<Job>> makeSparse(sparse::Function function, const sparse::Call& call, const MappedMemory& memory);

}  // namespace rouse::library::cpu
