// The loop of a whole block: loops over its threads around each segment of a step, in the order in which the threads come to them.
#pragma once

#include <functional>

#include "server/device/cpu/codegen/frame.h"
#include "server/device/cpu/codegen/lane_shapes.h"
#include "server/device/cpu/codegen/thread_loops.h"

namespace llvm {
class TargetMachine;
}

namespace rouse::cpu::codegen {

constexpr std::size_t kMostInOne = 40;  // segments whose loops are in one function

// Of cuts: the first are branches', where nobody waits if threads go apart; then come those where threads poll.
struct Ranges {
  std::uint32_t branches = 0, polls = 0;
  bool pollsTogether = false;  // whole warps, or not at all
};

class SegmentLoops {
 public:
  // `independent`: accesses of different threads in one segment may be reordered. `target`: null, or for whom they may be put side by
  // side (lanes.h).
  SegmentLoops(llvm::Function& step, std::size_t cuts, const Frame& frame, bool independent, llvm::TargetMachine* target, Beside beside, Ranges ranges)
      : module_(*step.getParent()), step_(step), frame_(frame), cuts_(cuts), independent_(independent), target_(target), beside_(beside), ranges_(ranges), b(step.getContext()) {}

  // Adds the BlockLoop. All threads come to the same segments; but for those from where they poll, which each thread, or warp, does in its own time. False, with
  // nothing added, where they must be side by side, as whole warps, and cannot.
  bool addCommon(llvm::StringRef name);
  // Adds the BlockLoop. Each thread's next segment is noted. While all have the same, it is run as above; else each thread runs its own (a round
  // of the step). A barrier is complete when all threads that have not ended have come to one: so after each round.
  void addApart(llvm::StringRef name);
  // The same of warps, each as a whole; what they do is the segments' functions side by side. False, with nothing added, where lanes of one may not come to the same barrier.
  bool addWarpsApart(llvm::StringRef name);

 private:
  using Ways = llvm::SmallSetVector<std::uint32_t, 8>;
  static Ways waysFrom(const llvm::Function& segment);
  bool runAll(ThreadLoops&, std::uint32_t number, llvm::Function* segment, llvm::Value* reduced);
  bool runLeft(ThreadLoops&, std::uint32_t number, llvm::Function* segment, llvm::Value* reduced);
  bool runCommon(ThreadLoops&, std::uint32_t number, llvm::Function* segment, llvm::Value* reduced);
  bool runOutlined(ThreadLoops&, std::uint32_t number, llvm::Function* segment, llvm::Value* reduced);
  void noteNext(llvm::CallInst* next);
  llvm::Value* ended(llvm::Value* linear);
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
  void addRoundApart(ThreadLoops&, llvm::Value* least);
  void runOwn(ThreadLoops&, llvm::Value* least);
  void letOthers(const ThreadLoops&);
  bool isPoll(std::uint32_t number) const { return number - 1 - ranges_.branches < ranges_.polls; }
  llvm::Value* isPoll(llvm::Value* number) { return isAmong(number, ranges_.branches, ranges_.polls); }
  // Of polls in common kernels (segment_polls.cc).
  bool mayComeToPoll(const llvm::Function& segment) const;
  bool preparePolls();
  void runOwnTime(ThreadLoops&, std::uint32_t number, llvm::Value* reduced);
  void addPolls(ThreadLoops&, ThreadLoops& single, llvm::BasicBlock* done);
  void forUnits(ThreadLoops&, const std::function<void(llvm::Value* count)>& body);
  llvm::Value* isAmong(llvm::Value* segment, std::uint32_t before, std::uint32_t count);
  bool runBeside(ThreadLoops&, std::uint32_t number, llvm::Function* segment);

  llvm::Module& module_;
  llvm::Function& step_;
  const Frame& frame_;
  const std::size_t cuts_;
  const bool independent_;
  llvm::TargetMachine* const target_;
  const Beside beside_;
  const Ranges ranges_;
  llvm::IRBuilder<> b;
  llvm::Function* function_ = nullptr;
  llvm::SmallVector<llvm::BasicBlock*, 16> blocks_;    // of segments
  llvm::SmallVector<llvm::Function*, 16> segments_;    // of a common kernel
  llvm::SmallVector<llvm::Function*, 16> outlined_;    // with the loops of one segment
  llvm::DenseMap<std::uint32_t, llvm::Function*> units_;  // of segments that threads do in their own time: what a thread, or those side by side, do
  bool unitsBeside_ = false;
  llvm::BasicBlock* polling_ = nullptr;
  // What the loops of all segments share; in a function of one segment's own its arguments.
  struct Shared {
    llvm::Value *next = nullptr, *arrived = nullptr, *uniformIn = nullptr, *uniformOut = nullptr, *stride = nullptr, *frames = nullptr;
  };
  Shared shared_;
  llvm::AllocaInst *least_ = nullptr, *greatest_ = nullptr;
};

}  // namespace rouse::cpu::codegen
