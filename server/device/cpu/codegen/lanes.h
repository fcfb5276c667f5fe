// A function for neighbouring threads side by side.
#pragma once

#include "server/device/cpu/codegen/lane_shapes.h"

namespace llvm {
class TargetMachine;
}

namespace rouse::cpu::codegen {

// Whether the processor has vectors in which warps exchange values (AVX2).
bool hasLanes(const llvm::TargetMachine&);
// Whether it leaves out lanes of those at no cost (AVX-512): then threads are better side by side than one after the other also where nobody must be.
bool hasMasks(const llvm::TargetMachine&);

// Whether there is nothing in it that is never done side by side.
bool hasLaneForms(const llvm::Function&);
// Whether it is worth asking: that, and no more than what is looked at in bounded time.
bool mayBeSideBySide(const llvm::Function&);

// Of a row, in a kernel's code of that kind.
constexpr Beside neighboursOf(Code code) { return code == Code::full ? Beside::full : Beside::neighbours; }

// What `scalar` does, whose first argument is a ThreadContext, for threads side by side; those of a warp may exchange values. With one more argument,
// i32: how many, at least 1; or with Present::some which of them, by a bit each, at least one: the others do nothing, ever. Each thread does what it would do alone, in the same order. Null where that cannot be done; `scalar` stays as it is.
llvm::Function* sideBySide(llvm::Function& scalar, Beside, llvm::TargetMachine&, Present = Present::all);

// The same where most vectors go one way as a whole (lane_way.h), on processors without masks: `together`, with the same arguments, for those for which `goTogether`, i1 of `scalar`'s arguments, is
// true. Both null where that is no better than `lanes` alone; all three where there is nothing.
struct SideBySide {
  llvm::Function *lanes = nullptr, *together = nullptr, *goTogether = nullptr;
};
SideBySide sideBySideTogether(llvm::Function& scalar, Beside, llvm::TargetMachine&);

// For a function that calls such: vectors as they come.
void allowLanes(llvm::Function&);
bool allowsLanes(const llvm::Function&);
// For one that does, too, what threads do one after the other, which LLVM may put side by side.
void noteInTurn(llvm::Function&);
// Whether a kernel's loop calls such, and nothing that it runs is done in turn. (Its entry, a thread alone, is a fallback then.)
bool isInLanes(const llvm::Module&, llvm::StringRef loop);

}  // namespace rouse::cpu::codegen
