// Graphs of cuDNN on processors.
#pragma once

#include <memory>

#include "schemas/dnn/check.h"
#include "server/library/job.h"

namespace rouse::library::cpu {

// The parts have been checked, and their memory is mapped. notSupported, by name: it needs more memory than a job may have. Throws
// std::bad_alloc.
Result<std::unique_ptr<Job>> makeGraph(dnn::Parts parts);

}  // namespace rouse::library::cpu
