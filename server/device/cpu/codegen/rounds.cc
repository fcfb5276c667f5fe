#include "server/device/cpu/codegen/rounds.h"

#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "server/device/cpu/codegen/passes.h"

namespace rouse::cpu::codegen {
namespace {

// Where a thread's own elements are closer to each other, it goes through memory by itself.
constexpr std::int64_t kLeastStep = 256;

bool isFar(const llvm::Value& step) {
  const auto* const known = llvm::dyn_cast<llvm::ConstantInt>(&step);
  return known == nullptr || known->getValue().abs().sge(kLeastStep);
}

// Nothing that waits, prints or may come back to other threads' rounds; faults end all of it.
bool isPlain(const llvm::Instruction& instruction) {
  const auto* const call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  return call == nullptr || llvm::isa<llvm::IntrinsicInst>(call) || call->doesNotAccessMemory() || isCallOf(instruction, "rouse_cpu_misaligned");
}

// Of a line of the cache of 64 bytes, neighbours in a vector of 16 take all with words, and a part with less: then the rest is fetched again by others, a round for all later.
constexpr std::uint64_t kWordBytes = 4;

bool takesPartsOfLines(const llvm::Loop& loop) {
  const llvm::DataLayout& layout = loop.getHeader()->getModule()->getDataLayout();
  for (llvm::BasicBlock* block : loop.blocks()) {
    for (llvm::Instruction& instruction : *block) {
      if (llvm::getLoadStorePointerOperand(&instruction) != nullptr && layout.getTypeStoreSize(llvm::getLoadStoreType(&instruction)) < kWordBytes) return true;
    }
  }
  return false;
}

// Bits of addresses, which at the end tell whether one was misaligned (Emitter::address): a word to keep.
bool collectsBits(const llvm::PHINode& phi, const llvm::Loop& loop) {
  const auto* const next = llvm::dyn_cast<llvm::BinaryOperator>(phi.getIncomingValueForBlock(loop.getLoopLatch()));
  return next != nullptr && next->getOpcode() == llvm::Instruction::Or && (next->getOperand(0) == &phi || next->getOperand(1) == &phi);
}

}  // namespace

llvm::Value* stepOf(const llvm::PHINode* phi, const llvm::Loop& loop) {
  llvm::BasicBlock* const latch = loop.getLoopLatch();
  if (latch == nullptr || phi->getNumIncomingValues() != 2 || phi->getBasicBlockIndex(latch) < 0) return nullptr;
  llvm::Value* const next = phi->getIncomingValueForBlock(latch);
  llvm::Value* step = nullptr;
  if (auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(next); sum != nullptr && sum->getOpcode() == llvm::Instruction::Add) {
    step = sum->getOperand(0) == phi ? sum->getOperand(1) : sum->getOperand(1) == phi ? sum->getOperand(0) : nullptr;
  } else if (auto* moved = llvm::dyn_cast<llvm::GetElementPtrInst>(next)) {
    if (moved->getPointerOperand() == phi && moved->getNumIndices() == 1 && moved->getSourceElementType()->isIntegerTy(8) &&
        moved->getOperand(1)->getType()->isIntegerTy(64)) {
      step = moved->getOperand(1);
    }
  }
  if (step == nullptr || step == phi) return nullptr;
  auto* const instruction = llvm::dyn_cast<llvm::Instruction>(step);
  return instruction != nullptr && loop.contains(instruction) ? nullptr : step;
}

llvm::Instruction* endOfRound(llvm::Function& function) {
  if (!llvm::all_of(llvm::instructions(function), isPlain)) return nullptr;
  const llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  if (loops.getTopLevelLoops().size() != 1) return nullptr;
  const llvm::Loop& loop = *loops.getTopLevelLoops().front();
  if (loop.getLoopLatch() == nullptr || loop.getHeader()->phis().empty() || !takesPartsOfLines(loop)) return nullptr;
  bool goesOn = false;
  for (const llvm::PHINode& phi : loop.getHeader()->phis()) {
    if (collectsBits(phi, loop)) continue;
    const llvm::Value* const step = stepOf(&phi, loop);
    if (step == nullptr || !isFar(*step)) return nullptr;
    goesOn = true;
  }
  if (!goesOn) return nullptr;
  return loop.getLoopLatch()->getTerminator();
}

}  // namespace rouse::cpu::codegen
