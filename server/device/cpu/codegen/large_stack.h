// LLVM recurses along chains of operations: as deep as a kernel is long, and kernels come from clients.
#pragma once

#include <cstddef>
#include <functional>

#include "schemas/base/result.h"

namespace rouse::cpu::codegen {

// Memory is only taken as far as it is used: 270 to 890 bytes for an instruction of a chain, as measured, of which a text has 2^21 at most (ptx/parse_instruction.cc).
inline constexpr std::size_t kStackBytes = std::size_t{2} << 30;

// Runs it to its end on a thread with a stack for the longest chain that a PTX text can hold; what it throws is thrown here. memoryAllocation: there is no
// such thread to be had, and it was not run. Any thread.
Status onLargeStack(const std::function<void()>& work);

}  // namespace rouse::cpu::codegen
