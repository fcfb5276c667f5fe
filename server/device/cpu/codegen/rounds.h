// Loops by which threads divide work between them: each takes what lies a stride behind what it took before (`for (i = thread; i < n; i += threads)`).
#pragma once

#include <llvm/Analysis/LoopInfo.h>

namespace rouse::cpu::codegen {

// What is added to `phi` of the loop's header in each round, if that is all that happens to it: a value from outside of the loop, of 64 bits for addresses. Null else.
llvm::Value* stepOf(const llvm::PHINode* phi, const llvm::Loop&);

// The end of a round of the one loop of the function that is such a one, keeps nothing from round to round but where it is (and whether an address was misaligned), and has elements of less than a word; null if there is
// none. Neighbours then take neighbouring elements in each round, and a thread those far from each other, so memory is gone through as it lies if all threads do a round before one
// does the next.
llvm::Instruction* endOfRound(llvm::Function&);

}  // namespace rouse::cpu::codegen
