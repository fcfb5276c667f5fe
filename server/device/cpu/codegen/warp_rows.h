// What the lanes of a warp have side by side in shared memory, one place each.
#pragma once

#include <llvm/IR/Instructions.h>

namespace rouse::cpu::codegen {

// Whether, in blocks of one row, `load` is for all lanes of a warp the place of one of them, where each lane stores to its own by `store`: `row[threadIdx.x] = x; ... row[threadIdx.x / 32 * 32 + 31]`.
// False where that is not known.
bool loadsFromRow(const llvm::LoadInst& load, const llvm::StoreInst& store);

}  // namespace rouse::cpu::codegen
