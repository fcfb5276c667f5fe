// One unit of compilation from emission to linked code.
#pragma once

#include <cstdint>

#include "server/device/cpu/abi.h"
#include "server/device/cpu/codegen/jit.h"
#include "server/device/cpu/ptx/call_graph.h"

namespace rouse::cpu::codegen {

// A kernel with what it calls. `pointersWait`: functions called through pointers may wait. Throws ptx::Failure.
Result<KernelCode> compileKernel(Jit&, const ptx::Module&, const ptx::CallGraph&, std::uint32_t function,
                                 bool pointersWait);

// The functions whose address is taken; each is then found in the Jit under ModuleEmitter::pointerName. Yields whether
// they may wait.
Result<bool> compilePointers(Jit&, const ptx::Module&, const ptx::CallGraph&);

std::string pointerName(std::uint32_t function);

}  // namespace rouse::cpu::codegen
