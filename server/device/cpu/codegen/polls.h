// Accesses to what other threads may write.
#pragma once

#include <llvm/IR/Instructions.h>

namespace rouse::cpu::codegen {

// Whether it reads what others may have written, and changes nothing.
bool isPoll(const llvm::Instruction&);

// Where it loads, stores or does both; null: nowhere.
llvm::Value* placeOf(const llvm::Instruction& access);

}  // namespace rouse::cpu::codegen
