// Loops by which threads divide work between them: each takes what lies a stride behind what it took before (`for (i = thread; i < n; i += threads)`).
#pragma once

#include <llvm/Analysis/LoopInfo.h>

#include <cstdint>
#include <optional>

namespace rouse::cpu::codegen {

// What is added to `phi` of the loop's header in each round, if that is all that happens to it: a value from outside of the loop, of 64 bits for addresses. Null else.
llvm::Value* stepOf(const llvm::PHINode* phi, const llvm::Loop&);

// What is added to `phi` of the loop's header in a round, one after the other (of unrolled loops, several): values from outside of the loop. None where anything else happens to it. The loop has one latch.
llvm::SmallVector<const llvm::Value*, 4> stepsOf(const llvm::PHINode& phi, const llvm::Loop&);

// The way from a round to the next.
struct EndOfRound {
  llvm::BasicBlock *latch, *header;
};

// By how much a value grows: so much, times `factor` if there is one; bytes of addresses.
struct Growth {
  std::int64_t times = 0;
  const llvm::Value* factor = nullptr;
};
// Of what is computed of values of which it is known; of others (`known` says nothing) it is what their operands' growth makes it. Nothing where that is not known, or depends.
std::optional<Growth> growthOf(const llvm::Value*, const llvm::DataLayout&, llvm::function_ref<std::optional<std::int64_t>(const llvm::Value*)> known, unsigned depth = 0);
// By how much `value` grows when `phi` of the loop's header grows by one.
std::optional<std::int64_t> growthOf(const llvm::Value* value, const llvm::PHINode& phi, const llvm::Loop&, const llvm::DataLayout&);

// Of those loops of the function by which threads divide what lies in memory, and which keep nothing from round to round but where a thread is (and whether an address was
// misaligned). Neighbours then take neighbouring elements in each round, and a thread those far from each other, so memory is gone through as it lies if all threads do a round
// before one does the next. None if the function waits, or calls what may. What loops are stepped by is moved out of them.
llvm::SmallVector<EndOfRound, 2> endsOfRounds(llvm::Function&);

}  // namespace rouse::cpu::codegen
