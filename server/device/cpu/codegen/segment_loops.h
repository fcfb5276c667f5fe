// The loop of a whole block: loops over its threads around each segment of a step, in the order in which the threads come to them.
#pragma once

#include "server/device/cpu/codegen/frame.h"
#include "server/device/cpu/codegen/lane_shapes.h"
#include "server/device/cpu/codegen/thread_loops.h"

namespace llvm {
class TargetMachine;
}

namespace rouse::cpu::codegen {

class SegmentLoops {
 public:
  // `independent`: accesses of different threads in one segment may be reordered. `target`: null, or for whom they may be put side by
  // side (lanes.h).
  SegmentLoops(llvm::Function& step, std::size_t cuts, const Frame& frame, bool independent, llvm::TargetMachine* target, Beside beside)
      : module_(*step.getParent()), step_(step), frame_(frame), cuts_(cuts), independent_(independent), target_(target), beside_(beside), b(step.getContext()) {}

  // Adds the BlockLoop. All threads come to the same segments. False, with nothing added, where they must be side by side, as whole warps, and
  // cannot.
  bool addCommon(llvm::StringRef name);
  // Adds the BlockLoop. Each thread's next segment is noted. While all have the same, it is run as above; else each thread runs its own (a round
  // of the step). A barrier is complete when all threads that have not ended have come to one: so after each round. The first `branches` cuts are
  // where nobody waits; those that poll go on from the `polls` next ones in each round.
  void addApart(llvm::StringRef name, std::uint32_t branches, std::uint32_t polls);

 private:
  bool runAll(ThreadLoops&, std::uint32_t number, llvm::Function* segment, llvm::Value* reduced);
  // One segment, with nothing but what it reaches.
  llvm::Function* segment(std::uint32_t number);
  llvm::Function* begin(llvm::StringRef name);
  void allocate(const ThreadLoops&);
  llvm::AllocaInst* variable(llvm::Type*, std::uint64_t align);
  llvm::BasicBlock* newBlock(const char* name);
  // `count`: of threads side by side.
  llvm::CallInst* call(ThreadLoops&, llvm::Function* callee, llvm::Value* number, llvm::Value* reduced, llvm::Value* count = nullptr);
  void go(llvm::Value* next, llvm::Function* from, llvm::BasicBlock* done);
  llvm::Value* field(llvm::Value* base, std::size_t offset);
  llvm::Value* state(ThreadLoops&);
  void note(llvm::Value* next);
  void beginRound();
  void runOwn(ThreadLoops&, std::uint32_t branches, std::uint32_t polls, llvm::Value* least);
  void letOthers(const ThreadLoops&, std::uint32_t branches, std::uint32_t polls);
  llvm::Value* isAmong(llvm::Value* segment, std::uint32_t before, std::uint32_t count);
  bool runBeside(ThreadLoops&, std::uint32_t number, llvm::Function* segment);

  llvm::Module& module_;
  llvm::Function& step_;
  const Frame& frame_;
  const std::size_t cuts_;
  const bool independent_;
  llvm::TargetMachine* const target_;
  const Beside beside_;
  llvm::IRBuilder<> b;
  llvm::Function* function_ = nullptr;
  llvm::SmallVector<llvm::BasicBlock*, 16> blocks_;  // of segments
  llvm::AllocaInst *next_ = nullptr, *least_ = nullptr, *greatest_ = nullptr, *arrived_ = nullptr;
  llvm::AllocaInst *uniformIn_ = nullptr, *uniformOut_ = nullptr;
  llvm::Value *stride_ = nullptr, *frames_ = nullptr;
};

}  // namespace rouse::cpu::codegen
