// What happens to a module between emission and machine code, in this order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "server/device/cpu/codegen/module_emitter.h"

namespace llvm {
class TargetMachine;
}

namespace rouse::cpu::codegen {

// How much work a module is worth: large ones get less, so that compile time stays bounded.
enum class Effort : std::uint8_t { least, less, full };
// `instructions`: of emitted, not yet simplified code. `matrices`: with operations on matrices, which as fibers are slower by far, and are code without branches.
Effort effortFor(std::size_t instructions, bool matrices = false);
// Whether there are any.
bool hasMatrices(const llvm::Module&);

// Of large functions, turns variables into values; what is worked on is where each is alive.
void promoteRegisters(llvm::Function&);

// Puts functions that only compute into those that call them. True if there was one.
bool inlineLeaves(llvm::Module&);

// Inlines and promotes, so that loops, addresses and calls show what they are.
void simplify(llvm::Module&, llvm::TargetMachine&, Effort);

// Rewrites addresses that are computed as integers to pointer arithmetic, which LLVM's analyses understand.
void recoverPointers(llvm::Function&);

// Whether a function is called by this name.
bool isCallOf(const llvm::Instruction&, llvm::StringRef name);

// Lets other threads run, by a call of kYield, in loops that may wait for another thread's store. True if there was one.
constexpr llvm::StringLiteral kYield = "rouse_cpu_yield";
// Of a loop over the block's threads: lets other blocks run (abi.h).
constexpr llvm::StringLiteral kLetOthers = "rouse_cpu_let_others";
// Makes a load volatile; yieldInSpinLoops takes it back of those in no such loop.
void markUncached(llvm::LoadInst&);
bool yieldInSpinLoops(llvm::Module&);

// Puts a call of rouse_cpu_endless (abi.h) in the place of loops that do nothing and have no end.
void endAtEndlessLoops(llvm::Module&);

// Says where threads poll at barriers of the program's own, and where they change what others poll there (rouse_cpu_poll_begin). True if there is one: such kernels are for fibers. Before yieldInSpinLoops.
bool announcePolls(llvm::Module&);

// Whether the code may wait for other threads of the block.
bool mayWait(const llvm::Module&);
// Whether it is one of the runtime's functions (abi.h) that may.
bool isWaitingFunction(llvm::StringRef name);

// Adds a function that runs the kernel's body for all threads of a block: BlockLoop in abi.h. `lanes`: null, or for whom threads may be put side by
// side (lanes.h). `code`: which of them. True if it is one for several blocks (KernelCode::rows).
bool addBlockLoop(llvm::Module&, llvm::Function& body, llvm::StringRef name, llvm::TargetMachine* lanes, Code code);

// Adds a BlockLoop of a kernel that never waits, by threads' numbers in the block, a warp at once. False, and nothing added, where that cannot be. `tidy`: simplifies a function.
bool addWarpLoop(llvm::Module&, llvm::Function& body, llvm::StringRef name, llvm::TargetMachine& lanes, Code code, const std::function<void(llvm::Function&)>& tidy);

// Adds a BlockLoop for a kernel whose threads wait for each other, where they do so at barriers of the whole block, or as whole warps, only. Nothing,
// with the module as it was, where the kernel is one for fibers. `independent`: accesses of different threads that no barrier separates may be
// reordered. `lanes`: as above. `code`: of threads that go by their number what they do a warp at once. `tidy`: simplifies a function after calls in it were inlined.
struct SplitLoop {
  std::uint32_t frameBytes;  // that it needs of rouse_cpu_frames for each thread
  bool wholeWarps;           // KernelCode::wholeWarps
  bool mayPoll;              // KernelCode::mayPoll
};
std::optional<SplitLoop> splitAtBarriers(llvm::Module&, llvm::Function& body, llvm::StringRef name, bool independent, llvm::TargetMachine* lanes, Code code,
                                         const std::function<void(llvm::Function&)>& tidy);
// The same for a kernel that has no barriers, nothing where threads leave each other nothing in shared memory.
std::optional<SplitLoop> splitAtShared(llvm::Module&, llvm::Function& body, llvm::StringRef name, bool independent, llvm::TargetMachine* lanes, Code code);

// The same for a kernel that has no barriers, cut between rounds of a loop by which threads divide work (rounds.h); nothing where it has none.
std::optional<SplitLoop> splitAtRounds(llvm::Module&, llvm::Function& body, llvm::StringRef name, bool independent, llvm::TargetMachine* lanes, Code code);

// Of what is left for fibers: threads that poll yield while what they poll for is what it was. Behind placeSteps.
void watchPolls(llvm::Function& body);

// Of what is left for fibers: what all load right behind a barrier is loaded by all before it is stored over.
void holdLoads(llvm::Function& body);
// The same of a warp's lanes behind __syncwarp(). Behind placeSteps.
void holdLoadsOfWarps(llvm::Function& body);

// Of what is left for fibers: where each step (rouse_cpu_step) is in the program, and those that only fibers need. `body`: the kernel's, null where there is none.
void placeSteps(llvm::Module&, llvm::Function* body);

// Of phis that are moved on by the same in all threads, takes the start, which is not the same, out of the loop.
class Uniformity;
void splitInductions(llvm::Function&, const Uniformity&);

// Simplifies one function in which calls were inlined.
void tidy(llvm::Function&, llvm::TargetMachine&);

// Stores to one place by whichever way threads come are made once, behind the ways (store_joins.cc).
void joinStores(llvm::Function&);

// One end, stores joined, branches of two ways, loops in simplified form and LCSSA.
void straighten(llvm::Function&, llvm::TargetMachine&);

// Atomic operations that only threads of one block see need no more than any load and store.
void relaxAtomics(llvm::Module&);

// Atomic operations that are loops anyway store nothing where they change nothing (unchanged_updates.cc).
void leaveUnchanged(llvm::Module&);

// Puts all accesses to what threads share into the group of accesses.
void markIndependent(llvm::Function&);

// Takes `noalias` from the parameters of a function that is to be inlined into a loop: what inlining makes of that keeps the loop from being
// known as one of independent accesses.
void dropNoAlias(llvm::Function&);

// The group of accesses that threads of a block make independently of each other; made at its first use if `create`.
llvm::MDNode* accessGroup(llvm::Module&, bool create = false);

// `inLanes`: whether all of it is done side by side (isInLanes).
void optimize(llvm::Module&, llvm::TargetMachine&, Effort, bool inLanes);

// Of code that is not optimized: where a choice becomes a branch, the code generator moves all of the block that comes behind, once for each.
void shortenBlocks(llvm::Function&);

// Of code that nothing else is done to: masks are computed as masks (mask_selects.cc).
void keepMasks(llvm::Function&);

}  // namespace rouse::cpu::codegen
