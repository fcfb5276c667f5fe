// How values differ between neighbouring threads that run side by side, one in each lane of a vector: not at all, by the same from each to the next,
// or in any way.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IntrinsicInst.h>

#include "server/device/cpu/codegen/butterflies.h"
#include "server/device/cpu/codegen/module_emitter.h"

namespace rouse::cpu::codegen {

constexpr unsigned kWarp = 32, kWarpBits = 5;

// Which threads are side by side.
enum class Beside : std::uint8_t {
  neighbours,  // up to kSideBySide that follow one another in x
  full,        // as many, no fewer
  rows,        // a whole warp, of a block whose rows are whole warps
  warps,       // those of a warp that there are, by their number in the block, of which alone they know (numberFlat)
};

// Of those threads there are, who does what is done side by side.
enum class Present : std::uint8_t {
  all,
  leaving,  // all, and of different numbers that they yield the least counts: some may end, which is the greatest
  some,     // the same for those that have not ended
};

constexpr bool areOfWarp(Beside beside) { return beside == Beside::rows || beside == Beside::warps; }
constexpr bool areAll(Beside beside) { return beside == Beside::full || beside == Beside::rows; }
constexpr unsigned lanesOf(Beside beside) { return areOfWarp(beside) ? kWarp : kSideBySide; }

// Of a thread's variable, with what keeps the next lane's aligned.
std::uint64_t laneBytes(const llvm::AllocaInst&);

struct Shape {
  enum class Kind : std::uint8_t { unknown, uniform, affine, varying };
  Kind kind = Kind::unknown;
  std::int64_t stride = 0;   // affine: from one lane to the next
  bool conditional = false;  // affine: as long as no lane's number wraps where it was extended to 64 bits

  bool operator==(const Shape&) const = default;
  bool isUniform() const { return kind == Kind::unknown || kind == Kind::uniform; }
  bool isScalar() const { return kind != Kind::varying; }  // the first lane's value says it all
};

// Of a function in simplified loop form and LCSSA, whose first argument is a ThreadContext, that of the first lane.
class LaneShapes {
 public:
  // `mayWrap`: whether lanes' numbers may wrap where they are extended to 64 bits (Shape::conditional).
  // `together`: of how many neighbours, a power of two, whose first is a multiple of it, all is said: those of a smaller part of a warp have more in common.
  // `present`: with some there alone a sum that lanes make among themselves need not be the same for all.
  LaneShapes(llvm::Function&, Beside, bool mayWrap = true, unsigned together = kWarp, Present present = Present::all);

  Shape of(const llvm::Value*) const;
  const llvm::LoopInfo& loops() const { return loops_; }
  // Whether all lanes that enter the loop leave it together, from where the only way out is.
  bool isCommon(const llvm::Loop*) const;
  // A block that all lanes come from that come to this one, in the same round of each loop, and no others; null if there is none.
  const llvm::BasicBlock* leader(const llvm::BasicBlock* block) const { return leaders_.lookup(block); }
  // Whether either all lanes come to the block at once, or none.
  bool isConverged(const llvm::BasicBlock*) const;
  // Whether all lanes that ever come to the block in one round of the loops that it is in with all that leave those loops together come at once: whoever is not among
  // them comes in no other round of a loop of its own. Of a block that is in no loop: always.
  bool isSteady(const llvm::BasicBlock*) const;
  // The loop, in no other but such as all lanes leave together, whose rounds all lanes that still go round come to the block in, at once; null if there is none, or all leave it together.
  const llvm::Loop* roundOf(const llvm::BasicBlock*) const;
  // Whether all that come to `behind` have been at the block.
  bool isBefore(const llvm::BasicBlock* block, const llvm::BasicBlock* behind) const { return dominators_.dominates(block, behind); }
  // Whether the same lanes come to both, in the same rounds.
  bool haveSameLanes(const llvm::BasicBlock*, const llvm::BasicBlock*) const;
  // Whether lanes that come to one of the blocks may be those that do not come to the other, each in the same round.
  bool excludeEachOther(const llvm::BasicBlock*, const llvm::BasicBlock*) const;
  // Whether who comes to one of them has been, or will only then be, at the other.
  bool followEachOther(const llvm::BasicBlock* one, const llvm::BasicBlock* other) const { return dominators_.dominates(one, other) || dominators_.dominates(other, one); }
  // The field of the thread's context that differs between neighbours, of which the load takes at least a part; else nothing.
  std::optional<std::size_t> ownField(const llvm::LoadInst&) const;
  // Of a field of the thread's context, which `pointer` points to; else nothing.
  std::optional<std::size_t> threadField(const llvm::Value* pointer) const;
  // How many neighbours, a power of two, whose first is a multiple of it, a lane's member mask names none but: kWarp if nothing less is known.
  unsigned partNamed(const llvm::Value* mask, unsigned depth = 0) const;
  // The bits in which lanes may differ.
  std::uint64_t differing(const llvm::Value*, unsigned depth = 0) const;

 private:
  bool isWhole(const llvm::BasicBlock*, const llvm::Loop* within) const;
  bool computeWhole(const llvm::BasicBlock*, const llvm::Loop* within) const;
  bool staysTogether(const llvm::Loop*) const;
  bool leavesTogether(const llvm::Loop*) const;
  void forget();
  bool computeSteady(const llvm::BasicBlock*) const;
  bool allReach(const llvm::BasicBlock* from, const llvm::BasicBlock* to) const;
  void findLeaders();
  bool decidedAlike(const llvm::BasicBlock* join) const;
  bool computeAlike(const llvm::BasicBlock* join) const;
  Shape compute(const llvm::Instruction&) const;
  bool isSumOfAll(const llvm::Instruction&);
  Shape ofPhi(const llvm::PHINode&) const;
  Shape ofLoad(const llvm::LoadInst&) const;
  Shape ofBinary(const llvm::BinaryOperator&) const;
  bool isBroadcast(const llvm::CallInst&) const;
  Shape ofCall(const llvm::CallInst&) const;
  bool isThreadNumber(const llvm::Value*, unsigned depth = 0) const;
  unsigned trailingZeros(const llvm::Value*, unsigned depth = 0) const;
  std::uint64_t differingOf(const llvm::Instruction&, unsigned depth = 0) const;
  bool splitsBetween(const llvm::ICmpInst&) const;
  Shape ofCast(const llvm::CastInst&) const;
  Shape byOperands(const llvm::Instruction&) const;

  llvm::Function& function_;
  const Beside beside_;
  const bool mayWrap_;
  const unsigned together_;
  const Present present_;
  const llvm::DataLayout& layout_;
  llvm::DominatorTree dominators_;
  llvm::LoopInfo loops_;
  llvm::DenseMap<const llvm::BasicBlock*, const llvm::BasicBlock*> leaders_;
  llvm::DenseMap<const llvm::Value*, Shape> shapes_;
  // Asked for so far. Those that hang on shapes are forgotten from round to round, while these become worse.
  mutable llvm::DenseMap<const llvm::BasicBlock*, bool> steady_, alike_;
  mutable llvm::DenseMap<std::pair<const llvm::BasicBlock*, const llvm::Loop*>, bool> whole_;
  mutable llvm::DenseMap<const llvm::Loop*, bool> stayTogether_;
  Butterflies butterflies_;
};

}  // namespace rouse::cpu::codegen
