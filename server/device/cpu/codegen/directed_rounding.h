// Double precision with a direction (PTX ISA: .rz, .rm, .rp), which has no wider type to go through.
#pragma once

#include "server/device/cpu/codegen/floating_point.h"

namespace rouse::cpu::codegen {

// add, sub, mul, div of x and y; sqrt of x; fma of all three. Null where there is no such operand.
llvm::Value* directedDouble(Emitter&, ptx::Opcode, llvm::Value* x, llvm::Value* y, llvm::Value* z, Rounding);

// An exact zero sum of opposite signs is -0 when rounding down (IEEE 754, 6.3); computed to nearest it was +0.
llvm::Value* signZeroSum(Emitter&, llvm::Value* sum, llvm::Value* x, llvm::Value* y);

}  // namespace rouse::cpu::codegen
