// A thread's registers of an operation on matrices (matrix.cc), where they lie for the runtime (matrix_form.h): a variable to which words are stored,
// on which operations are called, and from which words are loaded.
#pragma once

#include "server/device/cpu/codegen/module_emitter.h"

namespace rouse::cpu::codegen {

// The variable that a call of the runtime for one operation is given; null if it is no such call, or not known which operation.
const llvm::AllocaInst* matrixVariable(const llvm::CallInst&);

// How many words such a variable has.
unsigned matrixWordCount(const llvm::AllocaInst&);

// Whether the variable is such, and nothing else is done with it.
bool isMatrixRegisters(const llvm::AllocaInst&);

// Of such a variable: whether nothing is found there that was left before one of the blocks where a segment begins, so that it need not be kept from one to the next.
bool keepsNothing(const llvm::AllocaInst&, const llvm::SmallPtrSetImpl<const llvm::BasicBlock*>& begins);

// Makes each access of such a variable compute its own address.
void separateAddresses(llvm::Function&);

// LLVM makes of words of such a variable, or something else, depending on the way that led there, a load by an address that depends on it: the variable would be no such any more. Undoes
// that: each way has a load of its own.
void separateLoads(llvm::Function&);

// Takes what an operation has left out of such a variable as soon as it is done: where threads wait in between, it would have to be kept. Each access has its own address (separateAddresses()).
void gatherLoads(llvm::Function&);

// What such a variable's words are accessed by: the variable, and the first word.
struct MatrixWords {
  const llvm::AllocaInst* variable = nullptr;  // null: it is no such access
  unsigned first = 0, count = 0;
};
MatrixWords matrixWordsOf(const llvm::Instruction& access);

}  // namespace rouse::cpu::codegen
