// Loops by which threads divide work go through memory in steps that are as large as what all threads of the grid take at once: too far for the processor to follow by itself, and a multiple of
// what its first caches tell apart, so that a line that several vectors of a block want, each in its turn, is gone when the next comes. Where a round is short the processor is in later ones already; where it
// does something lane by lane (histograms), it waits for memory in each. So there, what a vector will load some rounds from now is asked for. (Not elsewhere: what leads beyond an array's end costs a walk through
// page tables.)
#include <llvm/IR/IntrinsicInst.h>

#include "server/device/cpu/codegen/lane_emitter.h"
#include "server/device/cpu/codegen/rounds.h"
#include "server/device/cpu/codegen/uniformity.h"

namespace rouse::cpu::codegen {
namespace {

// How far ahead: long enough for memory to answer, and fewer lines than a set of a first cache has (8 or 12), where all of them may be in one.
constexpr unsigned kRoundsAhead = 6;
// What is closer the processor finds by itself (Intel 64 and IA-32 Architectures Optimization Reference Manual, "Hardware Prefetching": within a page).
constexpr std::int64_t kLeastBytes = 2048;

}  // namespace

bool LaneEmitter::doesOneByOne(const llvm::Loop& loop) const {
  return llvm::any_of(loop.blocks(), [&](const llvm::BasicBlock* block) {
    return llvm::any_of(*block, [&](const llvm::Instruction& instruction) {
      return llvm::isa<llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(instruction) || isOneByOne(instruction);
    });
  });
}

// Where the load is of neighbours, before it. Nothing is done where it is in no such loop; a prefetch has no other effect, wherever it leads.
void LaneEmitter::fetchAhead(const llvm::LoadInst& load) {
  const llvm::Loop* const loop = shapes_.loops().getLoopFor(load.getParent());
  const llvm::Value* const pointer = load.getPointerOperand();
  if (loop == nullptr || loop->getLoopLatch() == nullptr || isOfShared(pointer, from_) || !doesOneByOne(*loop)) return;
  for (const llvm::PHINode& phi : loop->getHeader()->phis()) {
    const auto bytes = growthOf(pointer, phi, *loop, layout_);
    if (!bytes || *bytes <= 0) continue;
    const auto steps = stepsOf(phi, *loop);
    const auto isKnown = [&](const llvm::Value* step) { return shapes_.of(step).isScalar(); };
    const auto* const constant = steps.size() == 1 ? llvm::dyn_cast<llvm::ConstantInt>(steps.front()) : nullptr;
    if (!llvm::any_of(steps, [&](const llvm::Value* step) { return isOfThreads(step); }) || !llvm::all_of(steps, isKnown) ||
        (constant != nullptr && constant->getValue().slt(kLeastBytes / *bytes)))
      continue;
    llvm::Value* ahead = b.getInt64(0);
    for (const llvm::Value* step : steps) ahead = b.CreateAdd(ahead, b.CreateZExtOrTrunc(scalarOf(step), b.getInt64Ty()));
    const unsigned rounds = std::max<unsigned>(1, kRoundsAhead / static_cast<unsigned>(steps.size()));
    llvm::Value* const there = b.CreateGEP(b.getInt8Ty(), scalarOf(pointer), b.CreateMul(ahead, b.getInt64(static_cast<std::uint64_t>(*bytes) * rounds)));
    b.CreateIntrinsic(llvm::Intrinsic::prefetch, {there->getType()}, {there, b.getInt32(0), b.getInt32(3), b.getInt32(1)});
    return;
  }
}

}  // namespace rouse::cpu::codegen
