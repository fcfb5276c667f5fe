// A function once more, for neighbouring threads side by side: what differs between them in vectors, what does not, once. Where they go different
// ways all ways are gone, one after the other, each by those lanes that are in a mask (after Karrenberg, Hack: "Whole-Function Vectorization", CGO 2011).
#pragma once

#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "server/device/cpu/codegen/lane_shapes.h"

namespace rouse::cpu::codegen {

constexpr std::uint64_t kLaneArrayAlign = 64;  // as wide as a vector of the processor's; IR's own for <32 x i64> would be more

class LaneEmitter {
 public:
  // `to`: empty, with the arguments of `from` and one more: how many threads there are, or which.
  // `hasMasks`: whether the processor leaves lanes out of any access (lanes.h).
  // `mayWrap`: as LaneShapes has it.
  LaneEmitter(llvm::Function& from, llvm::Function& to, Beside, Present, bool hasMasks, bool mayWrap = true);

  // Whether all that the function does can be done side by side.
  bool covers() const;
  // Whether threads that need not be are better done one after the other.
  bool isBetterAlone() const;
  void emit();

 private:
  // What stands for a value: the first lane's, all lanes', or both. `ok`: of one that is affine on a condition, whether it holds. `second`: of a pair.
  struct Made {
    llvm::Value* scalar = nullptr;
    llvm::Value* vector = nullptr;
    llvm::Value* ok = nullptr;
    llvm::Value* second = nullptr;
  };
  using Edge = std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>;

  // --- lane_emitter.cc: blocks, masks, loops ---
  llvm::Value* allLanes();
  llvm::Value* yielded(const llvm::ReturnInst&);
  void emitItems(const llvm::Loop*);
  void emitBlock(const llvm::BasicBlock*);
  void emitLoop(const llvm::Loop*);
  void emitPhi(const llvm::PHINode&);
  void beginHeaderPhi(const llvm::PHINode&);
  void enterHeaderPhi(const llvm::PHINode&, const llvm::BasicBlock* before, llvm::BasicBlock* from);
  void endHeaderPhi(const llvm::PHINode&, const llvm::Loop&);
  void leaveTogether(const llvm::BasicBlock* exiting);
  llvm::Value* incoming(const llvm::PHINode&, const llvm::BasicBlock* before);
  void emitEdges(const llvm::BasicBlock*);
  llvm::Value* maskOf(const llvm::BasicBlock*);
  bool needsLane(const llvm::BasicBlock*) const;
  llvm::Value* any(llvm::Value* mask);
  llvm::BasicBlock* newBlock(const char* name);
  // What is built between the two is done if a lane is in the mask; what is not done leaves zeros.
  void beginGuard(llvm::Value* mask);
  void endGuard();
  void set(llvm::Value*& slot, llvm::Value* value);

  // --- lane_instructions.cc ---
  bool coversInstruction(const llvm::Instruction&) const;
  void emitInstruction(const llvm::Instruction&);
  llvm::Value* onceMore(const llvm::Instruction&, llvm::function_ref<llvm::Value*(const llvm::Value*)> operand);
  void emitScalar(const llvm::Instruction&);
  llvm::Value* condition(const llvm::Instruction&);
  void noteMisaligned(const llvm::StoreInst&);
  llvm::Value* sumOfWays(const llvm::Value*, const llvm::Value* mask, unsigned depth);
  llvm::Value* widened(const llvm::Instruction&);
  llvm::Value* widenedCall(const llvm::IntrinsicInst&);
  llvm::Value* laneNumbers(llvm::Type*);
  llvm::Value* splat(llvm::Value*);
  llvm::Value* scalarOf(const llvm::Value*);
  llvm::Value* vectorOf(const llvm::Value*);
  // Whether one lane's is a few operations on the first one's, and which it is; `lane`: of 64 bits.
  bool isLaneCheap(const llvm::Value*, unsigned depth = 0) const;
  llvm::Value* laneOf(const llvm::Value*, llvm::Value* lane);
  llvm::Type* widen(llvm::Type*) const;

  // --- lane_division.cc ---
  llvm::Value* divided(const llvm::BinaryOperator&, llvm::Value* x, llvm::Value* y);

  // --- lane_calls.cc ---
  bool coversCallByLane(const llvm::CallInst&) const;
  bool isMadeOnce(const llvm::CallInst&) const;
  void emitCallByLane(const llvm::CallInst&);
  llvm::AllocaInst* ownContext();
  void tellNumbers(llvm::Value* context);
  void tellLane(llvm::Value* context, llvm::Value* lane);
  void emitEnd(const llvm::CallInst&);

  // --- lane_memory.cc ---
  void emitLoad(const llvm::LoadInst&);
  void emitStore(const llvm::StoreInst&);
  template <class Whole, class Part>
  llvm::Value* accessOfMost(Whole makeWhole, Part makePart);
  llvm::Value* storeSome(llvm::Value* all, llvm::Value* first);
  void emitUpdate(const llvm::Instruction&);
  bool emitTogether(const llvm::Instruction& update);
  // What a lane each yields; of a pair two of them.
  struct Yield {
    llvm::Value* vector = nullptr;
    llvm::Value* second = nullptr;
  };
  Yield emitOneByOne(const llvm::Instruction&);
  llvm::AllocaInst* laneArray(llvm::Type*, unsigned number);
  // From `before`, a loop over the lanes in `bits`, of which there are some, the lower ones first, to `done`.
  void forEachLane(llvm::Value* bits, llvm::BasicBlock* before, llvm::BasicBlock* done, llvm::function_ref<void(llvm::Value* lane)> one);
  bool isContiguous(const llvm::Value* pointer, llvm::Type*) const;
  bool leavesOut(llvm::Type* element) const;
  using Access = llvm::function_ref<llvm::Value*()>;
  llvm::Value* access(const llvm::Value* pointer, llvm::Type* result, Access near, Access far);
  llvm::Value* either(llvm::Value* condition, Access near, Access far);
  bool isShared(const llvm::Value* pointer) const;
  llvm::Value* withinPage(const llvm::Value* pointer, llvm::Type*, Access near, Access far);
  llvm::Value* gatherParts(llvm::Type*, llvm::Value* addresses);

  // --- lane_runs.cc ---
  // Of so many lanes each: a warp has several, as it has rows of a block.
  struct Runs {
    unsigned lanes;
    bool same;  // all have one element, not neighbours
  };
  std::optional<Runs> runsOf(const llvm::Value* pointer, llvm::Type*) const;
  bool isComputed(const llvm::Value*, unsigned depth = 0) const;
  llvm::Value* accessByRuns(const Runs&, const llvm::Value* pointer, llvm::Type*, llvm::function_ref<llvm::Value*(llvm::ArrayRef<llvm::Value*> firsts)> near, Access far);
  llvm::Value* runOf(const Runs&, llvm::Value* vector, unsigned run);
  llvm::Value* loadRuns(const Runs&, llvm::Type*, llvm::ArrayRef<llvm::Value*> firsts);
  llvm::Value* storeRuns(const Runs&, llvm::Value* values, llvm::ArrayRef<llvm::Value*> firsts);

  // --- lane_worth.cc ---
  bool isOneByOne(const llvm::Instruction& access) const;
  bool isOfThreads(const llvm::Value* step, unsigned depth = 0) const;
  bool dividesWork(const llvm::Loop&) const;

  // --- lane_prefetch.cc ---
  bool doesOneByOne(const llvm::Loop&) const;
  void fetchAhead(const llvm::LoadInst&);
  void fetchForNextBlock(const llvm::Value* pointer);
  void prefetch(llvm::Value* address);

  // --- lane_warp.cc ---
  bool coversWarpCall(const llvm::CallInst&) const;
  bool meetHere(const llvm::CallInst&) const;
  bool comesByBallot(const llvm::BasicBlock*, const llvm::Value* mask) const;
  const LaneShapes& ofParts(unsigned lanes) const;
  bool areAllHere(const llvm::CallInst&) const;
  llvm::Value* lanesHere();
  llvm::Value* members(const llvm::CallInst&);
  void emitWarpCall(const llvm::CallInst&);
  llvm::Value* broadcast(const llvm::CallInst&);
  llvm::Value* shuffled(const llvm::CallInst&);
  llvm::Value* permuted(llvm::Value* words, llvm::Value* lanes);
  llvm::Value* permutedByEights(llvm::Value* words, llvm::Value* lanes);
  llvm::Value* voted(const llvm::CallInst&);
  llvm::Value* matched(const llvm::CallInst&);
  llvm::Value* reduced(const llvm::CallInst&);
  llvm::Value* forGroups(llvm::Value* keys, llvm::Value* others, llvm::function_ref<llvm::Value*(llvm::Value* those, llvm::Value* key)> of);
  llvm::Value* reducedOver(const llvm::CallInst&, llvm::Value* lanes);

  // --- lane_rounds.cc ---
  struct Rest {
    const llvm::Value* rounds = nullptr;
    unsigned times = 0;
  };
  bool isOfNumbers(const llvm::Value*, unsigned depth = 0) const;
  std::optional<Rest> restIn(const llvm::Value*) const;
  std::optional<Rest> restOf(const llvm::Loop&) const;
  std::optional<Rest> restBefore(const llvm::BasicBlock*) const;
  bool goesBySteps(const llvm::Loop&, bool near) const;
  bool isUnrolled(const llvm::Loop&, const Rest&, llvm::function_ref<bool(const llvm::BasicBlock*)> does, unsigned copies) const;
  bool isUnrolled(const llvm::Loop&, const llvm::Loop& other) const;
  bool isUnrolled(const llvm::Loop&, const llvm::BasicBlock* one) const;
  bool dividesEvenly(const llvm::Loop&) const;
  bool goesRound(const llvm::BasicBlock*) const;

  // --- lane_matrix.cc ---
  bool emitMatrixAccess(const llvm::Instruction&);
  void emitMatrix(const llvm::CallInst&);
  llvm::Value* matrixWords(const llvm::AllocaInst*, unsigned word);
  llvm::AllocaInst* forLanes(llvm::Type*, llvm::Align least = {});

  llvm::Function& from_;
  llvm::Function& to_;
  const Beside beside_;
  const Present present_;
  const bool hasMasks_;
  const unsigned lanes_;
  const llvm::DataLayout& layout_;
  LaneShapes shapes_;
  mutable std::map<unsigned, std::unique_ptr<LaneShapes>> parts_;  // of so many lanes of a warp each, as far as asked for
  llvm::IRBuilder<> b;
  llvm::BasicBlock* entry_ = nullptr;  // of `to`: variables
  llvm::Value* mask_ = nullptr;        // of the block that is being emitted
  std::unordered_map<const llvm::Value*, Made> made_;  // addresses of what is in it stay
  std::map<const llvm::BasicBlock*, llvm::Value*> masks_;
  std::map<Edge, llvm::Value*> edges_;
  std::map<std::pair<const llvm::PHINode*, const llvm::BasicBlock*>, llvm::Value*> left_;  // values that lanes had when they left a loop
  llvm::DenseMap<const llvm::AllocaInst*, llvm::AllocaInst*> matrixWords_;  // by word, then by lane
  std::map<std::pair<llvm::Type*, unsigned>, llvm::AllocaInst*> arrays_;  // by lane, of what is done lane by lane
  llvm::AllocaInst* ownContext_ = nullptr;  // of one lane, for what is called by it
  struct Guard {
    llvm::BasicBlock *before, *after;
    std::vector<llvm::Value**> set;
    llvm::Value* mask;
  };
  std::vector<Guard> guards_;
  std::vector<llvm::Value*> inhabited_;  // masks that are not empty here
  llvm::DenseMap<llvm::Value*, llvm::Value*> decided_;  // of masks that are all of one that was not empty, or nothing: which
  struct Common {
    llvm::BasicBlock* after;
    const llvm::BasicBlock* exiting;
  };
  std::vector<Common> commonLoops_;
};

}  // namespace rouse::cpu::codegen
