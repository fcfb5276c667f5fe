// What a thread keeps while it waits between two segments of a step, and where: each value in an array over the threads, so that neighbours' are
// neighbours; variables whose address is taken, as one piece for each thread; values that are the same for all threads once, apart.
#pragma once

#include <optional>
#include <vector>

#include "server/device/cpu/codegen/cutter.h"
#include "server/device/cpu/codegen/live_values.h"
#include "server/device/cpu/codegen/step_function.h"

namespace rouse::cpu::codegen {

constexpr std::uint64_t kUniformBytes = 16;  // that each uniform value has

class Frame {
 public:
  // `uniformity`: null where values of different threads are not known to be from the same time.
  // `earlyEnds`: through which threads end while others wait, which is noted there.
  Frame(llvm::Function& step, const std::vector<Cut>& cuts, const std::vector<llvm::BasicBlock*>& earlyEnds, const Uniformity* uniformity)
      : step_(step), cuts_(cuts), earlyEnds_(earlyEnds), uniformity_(uniformity), layout_(step.getParent()->getDataLayout()), b(step.getContext()) {}

  // Makes segments of the step: its last argument says where it begins, its result where it goes on. False where there is too much to keep.
  bool keep();

  std::uint64_t bytes() const { return bytes_; }              // of each thread
  std::uint64_t stateOffset() const { return stateOffset_; }  // without uniformity, or where threads poll: of the thread's next segment, 32 bits
  std::uint64_t uniforms() const { return uniforms_; }        // how many
  // Where threads may end early: of a byte for each thread, other than 0 for those that have, and as many more; and which uniform value is other than 0 if any has.
  bool mayEndEarly() const { return !earlyEnds_.empty(); }
  std::uint64_t endedOffset() const { return endedOffset_; }
  std::uint64_t anyEnded() const { return anyEnded_; }
  // Values while a segment runs, to be promoted, and where they are kept.
  const std::vector<llvm::AllocaInst*>& slots() const { return slots_; }
  const std::vector<llvm::Value*>& places() const { return places_; }

 private:
  struct Value {
    llvm::AllocaInst* slot = nullptr;  // while a segment runs
    llvm::Type* type = nullptr;
    bool uniform = false, computed = false, ofWarp = false;
    std::uint64_t index = 0;      // uniform: which
    llvm::Value* kept = nullptr;  // else where
  };
  using Values = llvm::MapVector<llvm::Instruction*, Value>;

  void addEntry();
  bool keepVariables();
  bool livesAcross(llvm::AllocaInst&) const;
  bool keepValues();
  std::uint64_t bytesOf(llvm::Instruction*) const;
  LiveSet ofOwnTime(const std::vector<LiveSet>&) const;
  bool placeValues(Values&, const LiveSet&, const LiveSet& ownTime, Recomputation&);
  void noteEarlyEnds();
  void addArrival(const Cut&);
  void addChoice(llvm::ArrayRef<llvm::BasicBlock*> entries);
  llvm::Value* place(std::uint64_t offset, std::uint64_t bytes);
  llvm::Value* uniformPlace(llvm::IRBuilder<>&, StepArgument base, const Value&);
  void load(llvm::IRBuilder<>&, const Value&);
  void save(const Value&);

  llvm::Function& step_;
  const std::vector<Cut>& cuts_;
  const std::vector<llvm::BasicBlock*>& earlyEnds_;
  const Uniformity* uniformity_;
  const llvm::DataLayout& layout_;
  llvm::IRBuilder<> b;
  llvm::BasicBlock* entry_ = nullptr;  // the step's first; then `first_`, where the kernel begins
  llvm::BasicBlock* first_ = nullptr;
  llvm::Value* linear_ = nullptr;
  std::uint64_t bytes_ = 0, stateOffset_ = 0, uniforms_ = 0, endedOffset_ = 0, anyEnded_ = 0;
  std::vector<llvm::AllocaInst*> slots_;
  std::vector<llvm::Value*> places_;
};

}  // namespace rouse::cpu::codegen
