// Segments of a kernel whose warps come to barriers each in its own way (`for (row = warp; row < rows; row += warps)`, with a barrier in it and one behind): a round after the other, in which
// each warp goes from where it waits to where it waits next. While all are at the same place they are a loop around one segment.
#include "server/device/cpu/codegen/lanes.h"
#include "server/device/cpu/codegen/segment_loops.h"

namespace rouse::cpu::codegen {

bool SegmentLoops::addWarpsApart(llvm::StringRef name) {
  begin(name);
  for (std::uint32_t k = 0; k <= cuts_; ++k) {
    llvm::Function* const one = segment(k);
    llvm::Function* const beside = target_ == nullptr ? nullptr : sideBySide(*one, beside_, *target_);
    one->eraseFromParent();
    if (beside == nullptr) {
      for (const auto& [number, made] : units_) made->eraseFromParent();
      function_->eraseFromParent();
      return false;
    }
    units_[k] = beside;
  }
  unitsBeside_ = true;
  allowLanes(*function_);
  ThreadLoops loops(b);
  // Another context for what is not inlined, so that nobody sees this one's.
  ThreadLoops single(b);
  allocate(loops);
  llvm::BasicBlock* const done = newBlock("done");
  llvm::BasicBlock* const together = newBlock("together");
  llvm::BasicBlock* const apart = newBlock("apart");
  const auto dispatch = [&] { b.CreateCondBr(b.CreateICmpEQ(b.CreateLoad(b.getInt32Ty(), least_), b.CreateLoad(b.getInt32Ty(), greatest_)), together, apart); };
  b.CreateBr(blocks_[0]);
  for (std::uint32_t k = 0; k < blocks_.size(); ++k) {
    b.SetInsertPoint(blocks_[k]);
    beginRound();
    forUnits(loops, [&](llvm::Value* count) {
      llvm::CallInst* const next = call(loops, units_[k], b.getInt32(k), b.getInt32(0), count);
      if (blocks_.size() <= kMostInOne) next->addFnAttr(llvm::Attribute::AlwaysInline);
      b.CreateStore(next, state(loops));
      note(next);
    });
    dispatch();
  }
  b.SetInsertPoint(together);
  llvm::SwitchInst* const choice = b.CreateSwitch(b.CreateLoad(b.getInt32Ty(), least_), done);
  for (std::uint32_t k = 1; k < blocks_.size(); ++k) choice->addCase(b.getInt32(k), blocks_[k]);
  b.SetInsertPoint(apart);
  llvm::Value* const least = b.CreateLoad(b.getInt32Ty(), least_);
  beginRound();
  addRoundApart(single, least);
  dispatch();
  b.SetInsertPoint(done);
  loops.noteMisaligned();
  single.noteMisaligned();
  b.CreateRetVoid();
  return true;
}

// Each unit its own segments, up to where it waits or ends. While some have not come so far those that wait stay.
void SegmentLoops::addRoundApart(ThreadLoops& single, llvm::Value* least) {
  const auto isBranch = [&](llvm::Value* number) { return isAmong(number, 0, ranges_.branches); };
  llvm::Value* const allWait = b.CreateNot(isBranch(least));
  forUnits(single, [&](llvm::Value* count) {
    llvm::Value* const at = state(single);
    llvm::Value* const now = b.CreateLoad(b.getInt32Ty(), at);
    llvm::BasicBlock* const before = b.GetInsertBlock();
    llvm::BasicBlock* const runs = newBlock("runs");
    llvm::BasicBlock* const came = newBlock("came");
    llvm::BasicBlock* const after = newBlock("after");
    b.CreateCondBr(b.CreateOr(allWait, isBranch(now)), runs, after);
    b.SetInsertPoint(runs);
    llvm::PHINode* const segment = b.CreatePHI(b.getInt32Ty(), 2);
    segment->addIncoming(now, before);
    llvm::SwitchInst* const way = b.CreateSwitch(segment, after);
    b.SetInsertPoint(came);
    llvm::PHINode* const next = b.CreatePHI(b.getInt32Ty(), static_cast<unsigned>(blocks_.size() - 1));
    b.CreateStore(next, at);
    segment->addIncoming(next, came);
    b.CreateCondBr(isBranch(next), runs, after);
    b.SetInsertPoint(after);
    llvm::PHINode* const then = b.CreatePHI(b.getInt32Ty(), 3);
    then->addIncoming(now, before);
    then->addIncoming(segment, runs);
    then->addIncoming(next, came);
    for (std::uint32_t k = 1; k < blocks_.size(); ++k) {
      llvm::BasicBlock* const of = newBlock("of");
      way->addCase(b.getInt32(k), of);
      b.SetInsertPoint(of);
      next->addIncoming(call(single, units_[k], b.getInt32(k), b.getInt32(0), count), b.GetInsertBlock());
      b.CreateBr(came);
    }
    b.SetInsertPoint(after);
    note(then);
  });
}

}  // namespace rouse::cpu::codegen
