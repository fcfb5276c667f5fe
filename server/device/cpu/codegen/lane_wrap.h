// Where a lane's number of 32 bits is extended to 64, an address that is made of it grows from lane to lane as long as none of them wraps.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "server/device/cpu/codegen/lane_shapes.h"

namespace rouse::cpu::codegen {

// What the instruction extends, of the shape `of`; null if it extends nothing.
const llvm::Value* extended(const llvm::Instruction&);
// i1: whether no lane's number wraps in an instruction that extends, of that shape. `number`: the first lane's, as extended() has it.
llvm::Value* fitsExtended(llvm::IRBuilderBase& b, const llvm::Instruction&, const Shape&, unsigned lanes, llvm::Value* number);

}  // namespace rouse::cpu::codegen
