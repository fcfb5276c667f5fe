// cublasLtMatrixTransform on processors.
#pragma once

#include <memory>

#include "schemas/blas/lt_transform.h"
#include "server/library/job.h"

namespace rouse::library::cpu {

// The call has been checked, and its operands are mapped.
std::unique_ptr<Job> makeLtTransform(const blas::LtTransform& call);

}  // namespace rouse::library::cpu
