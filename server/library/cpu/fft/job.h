// A transform of cuFFT as a job (server/library/job.h).
#pragma once

#include "schemas/fft/transform.h"
#include "server/library/job.h"

namespace rouse::library::cpu {

// The transform has been checked. notSupported, with the limit, where it needs more memory than a job may have.
Result<std::unique_ptr<Job>> makeTransform(const fft::Transform& transform);

}  // namespace rouse::library::cpu
