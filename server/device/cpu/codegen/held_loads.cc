// What threads that are fibers load right behind a barrier, before any of them stores over it.
//
// `__syncthreads(); if (next == kNone) break; if (next == threadIdx.x) next = kNone;`: CUDA leaves open who comes first, but on a GPU all warps load within a few cycles, and such programs work
// (Merrill, Garland, Grimshaw, "Scalable GPU Graph Traversal", PPoPP 2012, 5.2: threads compete for their block). Fibers run one after the other to where they wait, so the second would find what
// the first has stored. They meet once more behind the loads. In loops over threads it is the same cut (overwrites.h).
//
// So it is with the lanes of a warp behind __syncwarp(): `if (lane == 0) next = ...; __syncwarp(); sum += next;` in a loop lacks another one, and works where lanes go in step. They need not have met
// at one place, so they only wait until their mates have come as far as they can.
#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include "server/device/cpu/codegen/address_sums.h"
#include "server/device/cpu/codegen/passes.h"
#include "server/device/cpu/codegen/polls.h"
#include "server/device/cpu/codegen/uniformity.h"

namespace rouse::cpu::codegen {
namespace {

constexpr std::size_t kMostBlocks = 400;
constexpr llvm::StringLiteral kBarrier = "rouse_cpu_barrier", kReduce = "rouse_cpu_barrier_reduce", kClusterWait = "rouse_cpu_cluster_wait", kWarpSync = "rouse_cpu_warp_sync";

bool isBarrier(const llvm::Instruction& instruction) { return isCallOf(instruction, kBarrier) || isCallOf(instruction, kReduce) || isCallOf(instruction, kClusterWait); }

// Of all the block's threads, and of no others.
bool isOfAll(const llvm::Instruction& barrier) {
  if (isCallOf(barrier, kClusterWait)) return false;
  const auto& call = llvm::cast<llvm::CallInst>(barrier);
  const auto* const count = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(2));
  return llvm::isa<llvm::ConstantInt>(call.getArgOperand(1)) && count != nullptr && count->isZero();
}

// Where shared memory is stored to; null if the instruction does not.
const llvm::Value* sharedStoredTo(const llvm::Instruction& instruction) {
  const llvm::Value* const pointer = llvm::isa<llvm::LoadInst>(instruction) ? nullptr : placeOf(instruction);
  return pointer != nullptr && isOfShared(pointer, *instruction.getFunction()) ? pointer : nullptr;
}

class Holding {
 public:
  Holding(llvm::Function& body, const llvm::SmallPtrSetImpl<llvm::Instruction*>& barriers) : body_(body), barriers_(barriers) {}

  // Whether all threads come to every barrier together: else one more of them might be one too many.
  bool isPossible() {
    for (const auto& [early, loads] : {std::pair{Early::never, Loads::known}, {Early::mayEnd, Loads::promised}}) {
      uniformity_.emplace(body_, barriers_, early, loads);
      if (uniformity_->barriersAreUniform()) return true;
    }
    return false;
  }

  void run() {
    for (llvm::Instruction* barrier : barriers_) {
      if (isOfAll(*barrier)) hold(llvm::cast<llvm::CallInst>(*barrier));
    }
  }

  void runWarps() {
    llvm::SmallVector<llvm::CallInst*, 16> meetings;
    for (llvm::Instruction& instruction : llvm::instructions(body_)) {
      if (isCallOf(instruction, kWarpSync)) meetings.push_back(llvm::cast<llvm::CallInst>(&instruction));
    }
    if (meetings.empty()) return;
    ofWarps_ = true;
    uniformity_.emplace(body_, barriers_, Early::never, Loads::known);
    for (llvm::CallInst* meeting : meetings) hold(*meeting);
  }

 private:
  // What is stored there may be what another thread has loaded.
  bool isHit(const llvm::Value* loaded, const llvm::Value* stored) const {
    const Sum apart = difference(loaded, stored, body_.getParent()->getDataLayout());
    if (!apart.terms.empty()) return true;
    // One of a warp's own looks as one of a thread's own does.
    if (ofWarps_ && !uniformity_->isUniform(loaded)) return true;
    return uniformity_->isUniform(loaded) == (apart.constant == 0);
  }

  bool isStoredOver(const llvm::SmallVectorImpl<const llvm::Value*>& loaded, const llvm::Instruction& last) const {
    llvm::SmallPtrSet<const llvm::BasicBlock*, 32> seen;
    llvm::SmallVector<const llvm::BasicBlock*, 32> work;
    const auto look = [&](const llvm::BasicBlock& block, llvm::BasicBlock::const_iterator at) {
      for (; at != block.end(); ++at) {
        if (endsRound(*at)) return false;
        const llvm::Value* const stored = sharedStoredTo(*at);
        if (stored != nullptr && llvm::any_of(loaded, [&](const llvm::Value* address) { return isHit(address, stored); })) return true;
      }
      for (const llvm::BasicBlock* next : llvm::successors(&block)) {
        if (seen.insert(next).second) work.push_back(next);
      }
      return false;
    };
    if (look(*last.getParent(), std::next(last.getIterator()))) return true;
    while (!work.empty()) {
      const llvm::BasicBlock* const block = work.pop_back_val();
      if (look(*block, block->begin())) return true;
    }
    return false;
  }

  bool endsRound(const llvm::Instruction& instruction) const { return isBarrier(instruction) || (ofWarps_ && isCallOf(instruction, kWarpSync)); }

  void hold(llvm::CallInst& barrier) {
    llvm::SmallVector<const llvm::Value*, 8> loaded;
    llvm::Instruction* last = nullptr;
    for (llvm::Instruction* at = barrier.getNextNode(); at != nullptr; at = at->getNextNode()) {
      auto* const load = llvm::dyn_cast<llvm::LoadInst>(at);
      if (load != nullptr && isOfShared(load->getPointerOperand(), body_)) {
        loaded.push_back(load->getPointerOperand());
        last = at;
      } else if (load == nullptr && (at->mayWriteToMemory() || endsRound(*at))) {
        break;
      }
    }
    if (last == nullptr || !isStoredOver(loaded, *last)) return;
    llvm::IRBuilder<> b(last->getNextNode());
    if (ofWarps_) {
      const auto wait = body_.getParent()->getOrInsertFunction("rouse_cpu_fence_step", b.getVoidTy(), b.getPtrTy(), b.getInt64Ty());
      b.CreateCall(wait, {barrier.getArgOperand(0), b.getInt64(0)});  // the least place: all other steps come behind it
      return;
    }
    const auto wait = body_.getParent()->getOrInsertFunction(kBarrier, b.getVoidTy(), b.getPtrTy(), b.getInt32Ty(), b.getInt32Ty());
    b.CreateCall(wait, {barrier.getArgOperand(0), barrier.getArgOperand(1), barrier.getArgOperand(2)});
  }

  llvm::Function& body_;
  const llvm::SmallPtrSetImpl<llvm::Instruction*>& barriers_;
  std::optional<Uniformity> uniformity_;
  bool ofWarps_ = false;  // it is about lanes of warps that meet
};

}  // namespace

void holdLoads(llvm::Function& body) {
  if (body.size() > kMostBlocks) return;
  llvm::SmallPtrSet<llvm::Instruction*, 16> barriers;
  for (llvm::Instruction& instruction : llvm::instructions(body)) {
    if (isBarrier(instruction)) barriers.insert(&instruction);
  }
  if (Holding holding(body, barriers); !barriers.empty() && holding.isPossible()) holding.run();
}

void holdLoadsOfWarps(llvm::Function& body) {
  const llvm::SmallPtrSet<llvm::Instruction*, 1> none;
  if (body.size() <= kMostBlocks) Holding(body, none).runWarps();
}

}  // namespace rouse::cpu::codegen
