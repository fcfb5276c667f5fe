// Loops by which threads divide work go through memory in steps that are as large as what all threads of the grid take at once: too far for the processor to follow by itself, and a multiple of
// what its first caches tell apart, so that a line that several vectors of a block want, each in its turn, is gone when the next comes. Where a round is short the processor is in later ones already; where it
// does something lane by lane (histograms), it waits for memory in each. So there, what a vector will load some rounds from now is asked for. (Not elsewhere: what leads beyond an array's end costs a walk through
// page tables: once a round there, once a grid here.)
//
// What a block fetches outside of loops it fetches at its beginning. The processor is not in the next block by then where there is a barrier, and only a few vectors ahead where there is none (each comes
// with its bounds and its address): memory is waited for once a block, or all the time. So what the same load will want a block later is asked for, or what is somewhat further where blocks are small.
#include <llvm/IR/IntrinsicInst.h>

#include "server/device/cpu/codegen/context_fields.h"
#include "server/device/cpu/codegen/lane_emitter.h"
#include "server/device/cpu/codegen/rounds.h"
#include "server/device/cpu/codegen/uniformity.h"

namespace rouse::cpu::codegen {
namespace {

// How far ahead: long enough for memory to answer, and fewer lines than a set of a first cache has (8 or 12), where all of them may be in one.
constexpr unsigned kRoundsAhead = 6;
// What is closer the processor finds by itself (Intel 64 and IA-32 Architectures Optimization Reference Manual, "Hardware Prefetching": within a page).
constexpr std::int64_t kLeastBytes = 2048;
// Some ten vectors: what a processor has in work at once, and what memory takes.
constexpr std::uint64_t kBytesAhead = 1024;

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
  if (loop == nullptr) return fetchForNextBlock(pointer);
  if (loop->getLoopLatch() == nullptr || isOfShared(pointer, from_) || !doesOneByOne(*loop)) return;
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
    prefetch(there);
    return;
  }
}

void LaneEmitter::fetchForNextBlock(const llvm::Value* pointer) {
  if (isOfShared(pointer, from_)) return;
  const auto step = growthOf(pointer, layout_, [&](const llvm::Value* value) -> std::optional<std::int64_t> {
    if (!llvm::isa<llvm::Instruction>(value)) return 0;
    const auto* const load = llvm::dyn_cast<llvm::LoadInst>(value);
    if (load == nullptr) return std::nullopt;
    return blockField(load->getPointerOperand(), from_) == offsetof(BlockContext, ctaid) ? 1 : 0;
  });
  if (!step || step->times <= 0 || (step->factor != nullptr && !shapes_.of(step->factor).isScalar())) return;
  llvm::Value* bytes = b.getInt64(static_cast<std::uint64_t>(step->times));
  if (step->factor != nullptr) bytes = b.CreateMul(bytes, b.CreateZExtOrTrunc(scalarOf(step->factor), b.getInt64Ty()));
  bytes = b.CreateBinaryIntrinsic(llvm::Intrinsic::umax, bytes, b.getInt64(kBytesAhead));
  prefetch(b.CreateGEP(b.getInt8Ty(), scalarOf(pointer), bytes));
}

void LaneEmitter::prefetch(llvm::Value* address) {
  b.CreateIntrinsic(llvm::Intrinsic::prefetch, {address->getType()}, {address, b.getInt32(0), b.getInt32(3), b.getInt32(1)});
}

}  // namespace rouse::cpu::codegen
