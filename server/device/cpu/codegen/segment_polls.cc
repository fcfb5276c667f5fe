// Segments of a common kernel from where threads poll, and those from which they come there. Each unit, a thread or those side by side, does them in its own
// time, until all have come to where they wait for each other again.
#include <llvm/IR/InstIterator.h>

#include "server/device/cpu/codegen/lanes.h"
#include "server/device/cpu/codegen/passes.h"
#include "server/device/cpu/codegen/segment_loops.h"
#include "server/device/cpu/codegen/warp_calls.h"

namespace rouse::cpu::codegen {
namespace {

// Whether lanes of warps exchange values in it.
bool exchanges(const llvm::Function& segment) {
  return llvm::any_of(llvm::instructions(segment), [](const llvm::Instruction& instruction) {
    const auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    return isStep(instruction) || (call != nullptr && warpOperation(*call));
  });
}

}  // namespace

bool SegmentLoops::mayComeToPoll(const llvm::Function& segment) const {
  return llvm::any_of(waysFrom(segment), [&](std::uint32_t way) { return isPoll(way); });
}

// False where some of them can be done neither by warps, all of whose lanes poll together, nor by threads. All are done alike.
bool SegmentLoops::preparePolls() {
  polling_ = newBlock("polling");
  llvm::SmallVector<std::uint32_t, 8> numbers;
  for (std::uint32_t k = 0; k < segments_.size(); ++k) {
    if (isPoll(k) || mayComeToPoll(*segments_[k])) numbers.push_back(k);
  }
  for (const std::uint32_t k : numbers) {
    llvm::Function* const beside = target_ == nullptr ? nullptr : sideBySide(*segments_[k], beside_, *target_);
    if (beside == nullptr) break;
    units_[k] = beside;
  }
  unitsBeside_ = units_.size() == numbers.size();
  if (unitsBeside_) {
    allowLanes(*function_);
    return true;
  }
  noteInTurn(*function_);
  for (const auto& [number, beside] : units_) beside->eraseFromParent();
  units_.clear();
  if (ranges_.pollsTogether) return false;
  for (const std::uint32_t k : numbers) {
    if (exchanges(*segments_[k])) return false;
    units_[k] = segments_[k];
  }
  return true;
}

void SegmentLoops::forUnits(ThreadLoops& loops, const std::function<void(llvm::Value*)>& body) {
  if (!unitsBeside_) return loops.forAll([&] { body(nullptr); });
  beside_ == Beside::warps ? loops.forWarps(body) : loops.forAllBy(lanesOf(beside_), body);
}

void SegmentLoops::runOwnTime(ThreadLoops& loops, std::uint32_t number, llvm::Value* reduced) {
  beginRound();
  forUnits(loops, [&](llvm::Value* count) {
    llvm::CallInst* const next = call(loops, units_[number], b.getInt32(number), reduced, count);
    next->addFnAttr(llvm::Attribute::AlwaysInline);
    b.CreateStore(next, state(loops));
    note(next);
  });
  b.CreateBr(polling_);
}

// Rounds of those that poll, until there are none: then all have come to the same segment.
void SegmentLoops::addPolls(ThreadLoops& loops, ThreadLoops& single, llvm::BasicBlock* done) {
  llvm::BasicBlock* const round = newBlock("round");
  llvm::BasicBlock* const together = newBlock("together");
  b.SetInsertPoint(polling_);
  llvm::Value* const least = b.CreateLoad(b.getInt32Ty(), least_);
  llvm::Value* const greatest = b.CreateLoad(b.getInt32Ty(), greatest_);
  b.CreateCondBr(b.CreateOr(isPoll(least), isPoll(greatest)), round, together);
  b.SetInsertPoint(together);
  llvm::SwitchInst* const choice = b.CreateSwitch(least, done);
  for (std::uint32_t k = 1; k < blocks_.size(); ++k) {
    if (isPoll(k)) {
      blocks_[k]->eraseFromParent();
    } else {
      choice->addCase(b.getInt32(k), blocks_[k]);
    }
  }
  b.SetInsertPoint(round);
  b.CreateCall(module_.getOrInsertFunction(kLetOthers, b.getVoidTy(), b.getPtrTy()), {loops.block()});
  beginRound();
  forUnits(single, [&](llvm::Value* count) {
    llvm::Value* const at = state(single);
    llvm::Value* const now = b.CreateLoad(b.getInt32Ty(), at);
    llvm::BasicBlock* const before = b.GetInsertBlock();
    llvm::BasicBlock* const after = newBlock("after");
    llvm::SwitchInst* const way = b.CreateSwitch(now, after);
    llvm::SmallVector<std::pair<llvm::Value*, llvm::BasicBlock*>, 8> came{{now, before}};
    for (std::uint32_t k = 1; k < blocks_.size(); ++k) {
      if (!isPoll(k)) continue;
      way->addCase(b.getInt32(k), newBlock("poll"));
      b.SetInsertPoint(way->findCaseValue(b.getInt32(k))->getCaseSuccessor());
      llvm::Value* const next = call(single, units_[k], b.getInt32(k), b.getInt32(0), count);
      b.CreateStore(next, at);
      came.emplace_back(next, b.GetInsertBlock());
      b.CreateBr(after);
    }
    b.SetInsertPoint(after);
    llvm::PHINode* const then = b.CreatePHI(b.getInt32Ty(), static_cast<unsigned>(came.size()));
    for (const auto& [next, block] : came) then->addIncoming(next, block);
    note(then);
  });
  b.CreateBr(polling_);
}

}  // namespace rouse::cpu::codegen
