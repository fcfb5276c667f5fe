// LLVM recurses along chains of operations: as deep as a kernel is long, and kernels come from clients.
#pragma once

#include <functional>

#include "schemas/base/result.h"

namespace rouse::cpu::codegen {

// Runs it to its end on a thread with a stack for the longest chain that a PTX text can hold; what it throws is thrown here. memoryAllocation: there is no
// such thread to be had, and it was not run. Any thread.
Status onLargeStack(const std::function<void()>& work);

}  // namespace rouse::cpu::codegen
