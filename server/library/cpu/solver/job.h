// cuSOLVER's dense functions on processors, by OpenBLAS's LAPACK.
#pragma once

#include <memory>

#include "schemas/solver/check.h"
#include "server/library/job.h"

namespace rouse::library::cpu {

// The call has been checked, and what it names itself is mapped; addresses and pivots that lie there are read once, then checked, then used.
Result<std::unique_ptr<Job>> makeSolver(solver::Function function, const solver::Call& call, const MappedMemory& memory);

}  // namespace rouse::library::cpu
