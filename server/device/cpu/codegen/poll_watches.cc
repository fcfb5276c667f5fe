// Threads that poll as fibers, while nothing changes. A round of a loop that waits costs a fiber two switches, and a block of a thousand lanes that each wait for another row (synchronization-free
// triangular solves: Liu et al., Euro-Par 2016) as many of them a round, most of them for nothing. Where a round has left the thread as it was, it would do the same again until one of the places that
// decide about the loop holds something else: the runtime looks at those instead (rouse_cpu_yield_while).
//
// Of loops that write nowhere but by atomic operations that decide, whose places are all read in each round. An operation that has changed its place finds it changed, so its thread goes on.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "server/device/cpu/codegen/loop_slice.h"
#include "server/device/cpu/codegen/passes.h"
#include "server/device/cpu/codegen/polls.h"
#include "server/device/cpu/codegen/uniformity.h"

namespace rouse::cpu::codegen {
namespace {

constexpr std::size_t kMostBlocks = 400, kMostPhis = 8;
constexpr llvm::StringLiteral kYieldWhile = "rouse_cpu_yield_while";

llvm::Type* typeOf(const llvm::Instruction& access) {
  return llvm::isa<llvm::AtomicCmpXchgInst>(access) ? access.getType()->getStructElementType(0) : access.getType();
}

bool isWatchable(const llvm::Instruction& access) {
  const llvm::Type* const type = typeOf(access);
  const std::uint64_t bits = access.getModule()->getDataLayout().getTypeSizeInBits(const_cast<llvm::Type*>(type));
  return (type->isIntegerTy() || type->isFloatingPointTy() || type->isPointerTy()) && (bits == 8 || bits == 16 || bits == 32 || bits == 64);
}

class Watching {
 public:
  explicit Watching(llvm::Function& body) : body_(body), flow_(body), b_(body.getContext()) {}

  void run() {
    llvm::SmallVector<llvm::CallInst*, 4> yields;
    for (llvm::Instruction& instruction : llvm::instructions(body_)) {
      if (isCallOf(instruction, kYield)) yields.push_back(llvm::cast<llvm::CallInst>(&instruction));
    }
    struct Found {
      llvm::CallInst* yield;
      llvm::Loop* loop;
      llvm::SmallVector<llvm::Instruction*, kMostWatched> watched;
    };
    llvm::SmallVector<Found, 4> found;  // before any block is split
    for (llvm::CallInst* yield : yields) {
      llvm::Loop* const loop = flow_.loops.getLoopFor(yield->getParent());
      if (loop == nullptr || !loop->isInnermost() || loop->getLoopLatch() != yield->getParent()) continue;
      Found one{yield, loop, {}};
      if (find(*loop, *yield, one.watched)) found.push_back(std::move(one));
    }
    for (const Found& one : found) watch(*one.loop, *one.yield, one.watched);
  }

 private:
  // What decides about the loop. False: it is not one that may be watched.
  bool find(llvm::Loop& loop, llvm::CallInst& yield, llvm::SmallVectorImpl<llvm::Instruction*>& watched) {
    llvm::SmallPtrSet<llvm::Instruction*, 16> deciding;
    llvm::SmallVector<llvm::BasicBlock*, 8> exiting;
    loop.getExitingBlocks(exiting);
    for (llvm::BasicBlock* block : exiting) {
      llvm::Value* const condition = conditionOf(block);
      if (condition == nullptr) return false;
      const LoopSlice slice(loop, flow_, condition);
      deciding.insert(slice.instructions().begin(), slice.instructions().end());
    }
    for (llvm::BasicBlock* block : loop.blocks()) {
      for (llvm::Instruction& instruction : *block) {
        if (&instruction == &yield || llvm::isa<llvm::FenceInst>(instruction)) continue;
        const bool isDeciding = deciding.contains(&instruction);
        if (llvm::isa<llvm::StoreInst>(instruction) || placeOf(instruction) == nullptr) {
          if (instruction.mayReadOrWriteMemory() || instruction.mayHaveSideEffects()) return false;
          continue;
        }
        if (!isDeciding && !llvm::isa<llvm::LoadInst>(instruction)) return false;
        if (!isDeciding) continue;
        if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction); load != nullptr && isConstantLoad(*load)) continue;
        if (!isWatchable(instruction) || watched.size() == kMostWatched || !flow_.dominators.dominates(&instruction, &yield)) return false;
        watched.push_back(&instruction);
      }
    }
    const auto isPlain = [](const llvm::PHINode& phi) { return phi.getType()->isIntegerTy() || phi.getType()->isFloatingPointTy() || phi.getType()->isPointerTy(); };
    const auto phis = loop.getHeader()->phis();
    return !watched.empty() && static_cast<std::size_t>(std::distance(phis.begin(), phis.end())) <= kMostPhis && llvm::all_of(phis, isPlain);
  }

  llvm::Value* bitsOf(llvm::Value* value) {
    llvm::Type* const type = b_.getIntNTy(static_cast<unsigned>(body_.getParent()->getDataLayout().getTypeSizeInBits(value->getType())));
    return value->getType()->isPointerTy() ? b_.CreatePtrToInt(value, type) : b_.CreateBitCast(value, type);
  }

  void watch(llvm::Loop& loop, llvm::CallInst& yield, llvm::ArrayRef<llvm::Instruction*> watched) {
    llvm::BasicBlock* const latch = yield.getParent();
    b_.SetInsertPoint(&yield);
    llvm::Value* isSame = b_.getTrue();
    for (llvm::PHINode& phi : loop.getHeader()->phis()) {
      llvm::Value* const next = phi.getIncomingValueForBlock(latch);
      if (next != &phi) isSame = b_.CreateAnd(isSame, b_.CreateICmpEQ(bitsOf(next), bitsOf(&phi)));
    }
    llvm::Instruction *same = nullptr, *other = nullptr;
    llvm::SplitBlockAndInsertIfThenElse(isSame, yield.getIterator(), &same, &other);
    yield.moveBefore(other);
    llvm::IRBuilder<>& b = b_;
    b.SetInsertPoint(&*body_.getEntryBlock().getFirstInsertionPt());
    llvm::StructType* const type = llvm::StructType::get(b.getPtrTy(), b.getInt64Ty(), b.getInt64Ty());  // Watched
    llvm::Value* const list = b.CreateAlloca(llvm::ArrayType::get(type, kMostWatched));
    b.SetInsertPoint(same);
    for (unsigned k = 0; k < watched.size(); ++k) {
      llvm::Instruction& access = *watched[k];
      llvm::Value* const seen = llvm::isa<llvm::AtomicCmpXchgInst>(access) ? b.CreateExtractValue(&access, 0) : &access;
      llvm::Value* const one = b.CreateConstInBoundsGEP1_32(type, list, k);
      b.CreateStore(placeOf(access), b.CreateStructGEP(type, one, 0));
      b.CreateStore(b.CreateZExt(bitsOf(seen), b.getInt64Ty()), b.CreateStructGEP(type, one, 1));
      b.CreateStore(b.getInt64(body_.getParent()->getDataLayout().getTypeStoreSize(typeOf(access)).getFixedValue()), b.CreateStructGEP(type, one, 2));
    }
    const auto callee = body_.getParent()->getOrInsertFunction(kYieldWhile, llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getPtrTy(), b.getInt32Ty()}, false));
    b.CreateCall(callee, {body_.getArg(0), list, b.getInt32(static_cast<std::uint32_t>(watched.size()))});
  }

  llvm::Function& body_;
  ControlFlow flow_;
  llvm::IRBuilder<> b_;
};

}  // namespace

void watchPolls(llvm::Function& body) {
  if (body.size() <= kMostBlocks) Watching(body).run();
}

}  // namespace rouse::cpu::codegen
