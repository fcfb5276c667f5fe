// Loops whose rounds lanes have of their own, and where those that are in one exchange values: who is waited for.
#include "server/device/cpu/codegen/lane_emitter.h"
#include "server/device/cpu/codegen/rounds.h"
#include "server/device/cpu/codegen/warp_calls.h"

namespace rouse::cpu::codegen {
namespace {

constexpr unsigned kDeepest = 8;
constexpr unsigned kMostUnrolled = 64;

// What a loop goes by: a sum of `parts` at first, which are no constants, and `step` more each round.
struct Induction {
  llvm::SmallVector<const llvm::Value*, 2> parts;
  const llvm::Value* step = nullptr;
  bool backwards = false;  // less each round
};

const llvm::Value* withoutCasts(const llvm::Value* value) {
  while (llvm::isa<llvm::ZExtInst>(value) || llvm::isa<llvm::SExtInst>(value) || llvm::isa<llvm::TruncInst>(value) || llvm::isa<llvm::FreezeInst>(value))
    value = llvm::cast<llvm::Instruction>(value)->getOperand(0);
  return value;
}

bool isSum(const llvm::Value* value) {
  const auto* const operation = llvm::dyn_cast<llvm::BinaryOperator>(value);
  if (operation == nullptr) return false;
  const auto* const either = llvm::dyn_cast<llvm::PossiblyDisjointInst>(operation);
  return operation->getOpcode() == llvm::Instruction::Add || (either != nullptr && either->isDisjoint());
}

// Of a value that is what the loop goes by, or that and what it does not change.
std::optional<Induction> inductionOf(const llvm::Value* value, const llvm::Loop& loop) {
  if (loop.getLoopLatch() == nullptr || loop.getLoopPreheader() == nullptr) return std::nullopt;
  Induction found;
  bool backwards = false;  // it is taken from something
  const auto add = [&](const llvm::Value* part) {
    if (!llvm::isa<llvm::Constant>(part)) found.parts.push_back(withoutCasts(part));
  };
  for (unsigned depth = 0; depth < kDeepest; ++depth) {
    value = withoutCasts(value);
    if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(value); phi != nullptr && phi->getParent() == loop.getHeader()) {
      found.step = stepOf(phi, loop);
      add(phi->getIncomingValueForBlock(loop.getLoopPreheader()));
      found.backwards = backwards;
      return found.step == nullptr ? std::nullopt : std::optional(found);
    }
    const auto* const sum = llvm::dyn_cast<llvm::BinaryOperator>(value);
    if (sum == nullptr || (!isSum(sum) && sum->getOpcode() != llvm::Instruction::Sub)) return std::nullopt;
    const unsigned moves = loop.isLoopInvariant(sum->getOperand(0)) ? 1 : 0;
    if (!loop.isLoopInvariant(sum->getOperand(1 - moves))) return std::nullopt;
    add(sum->getOperand(1 - moves));
    backwards ^= sum->getOpcode() == llvm::Instruction::Sub && moves == 1;
    value = sum->getOperand(moves);
  }
  return std::nullopt;
}

bool isNumber(const llvm::Value* value, std::int64_t number) {
  const auto* const constant = llvm::dyn_cast<llvm::ConstantInt>(value);
  return constant != nullptr && constant->getBitWidth() <= 64 && constant->getSExtValue() == number;
}

// The compare that decides about each way out of the loop; false: something else decides about one.
bool decides(const llvm::Loop& loop, llvm::function_ref<bool(const llvm::ICmpInst&)> one) {
  llvm::SmallVector<llvm::BasicBlock*, 4> exiting;
  loop.getExitingBlocks(exiting);
  return !exiting.empty() && llvm::all_of(exiting, [&](const llvm::BasicBlock* block) {
    const auto* const branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
    const auto* const compare = branch == nullptr || !branch->isConditional() ? nullptr : llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
    return compare != nullptr && one(*compare);
  });
}

using Exchanges = llvm::SmallVector<const llvm::CallInst*, 16>;

// What lanes do together in such blocks, in the order of the text.
Exchanges exchangesIn(const llvm::Function& function, llvm::function_ref<bool(const llvm::BasicBlock*)> which) {
  Exchanges calls;
  for (const llvm::BasicBlock& block : function) {
    for (const llvm::Instruction& instruction : block) {
      const auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call != nullptr && warpOperation(*call) && memberMask(*call) != nullptr && which(&block)) calls.push_back(call);
    }
  }
  return calls;
}

bool areAlike(const llvm::CallInst& one, const llvm::CallInst& other) {
  if (one.getCalledFunction() != other.getCalledFunction()) return false;
  for (unsigned k = 0; k < one.arg_size(); ++k) {
    const llvm::Value *const x = one.getArgOperand(k), *const y = other.getArgOperand(k);
    if ((llvm::isa<llvm::Constant>(x) || llvm::isa<llvm::Constant>(y)) && x != y) return false;
  }
  return true;
}

// Whether they are `times` times what the others are `copies` times.
bool areCopies(const Exchanges& all, unsigned times, const Exchanges& some, unsigned copies) {
  const std::size_t one = some.size() / copies;
  if (one == 0 || some.size() != one * copies || all.size() != one * times) return false;
  for (std::size_t k = 0; k < all.size(); ++k)
    if (!areAlike(*all[k], *some[k % one])) return false;
  return true;
}

}  // namespace

// Whether it is computed of threads' numbers and what all lanes have alike, and nothing else.
bool LaneEmitter::isOfNumbers(const llvm::Value* value, unsigned depth) const {
  if (shapes_.of(value).isScalar() || shapes_.differing(value) < kWarp) return true;
  const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr || depth == kDeepest) return false;
  if (!instruction->isBinaryOp() && !instruction->isCast() && !llvm::isa<llvm::FreezeInst>(instruction)) return false;
  return llvm::all_of(instruction->operands(), [&](const llvm::Value* operand) { return isOfNumbers(operand, depth + 1); });
}

// Of a loop that nvcc has unrolled `times` times, how many rounds are left: `rounds % times`.
std::optional<LaneEmitter::Rest> LaneEmitter::restIn(const llvm::Value* value) const {
  const auto* const mask = llvm::dyn_cast<llvm::BinaryOperator>(withoutCasts(value));
  const auto* const bits = mask == nullptr || mask->getOpcode() != llvm::Instruction::And ? nullptr : llvm::dyn_cast<llvm::ConstantInt>(mask->getOperand(1));
  if (bits == nullptr || bits->isZero() || !bits->getValue().isMask() || bits->getValue().uge(kMostUnrolled) || !isOfNumbers(mask->getOperand(0))) return std::nullopt;
  return Rest{mask, static_cast<unsigned>(bits->getZExtValue()) + 1};
}

// Whether the loop does those: `for (rest = rounds % times; rest != 0; --rest)`.
std::optional<LaneEmitter::Rest> LaneEmitter::restOf(const llvm::Loop& loop) const {
  std::optional<Rest> rest;
  const bool counts = decides(loop, [&](const llvm::ICmpInst& compare) {
    if (!compare.isEquality()) return false;
    for (const unsigned k : {0u, 1u}) {
      const auto induction = inductionOf(compare.getOperand(k), loop);
      const llvm::Value* const bound = compare.getOperand(1 - k);
      if (!induction || induction->backwards) continue;
      // Before its step or behind it.
      if (isNumber(induction->step, -1) && (isNumber(bound, 0) || isNumber(bound, 1)) && induction->parts.size() == 1) rest = restIn(induction->parts[0]);
      if (isNumber(induction->step, 1) && induction->parts.empty()) rest = restIn(bound);
      return rest.has_value();
    }
    return false;
  });
  return counts ? rest : std::nullopt;
}

// Whether the block does one of them, of several that are written one behind the other: `if (rest == 0) …; one; if (rest == 1) …; one`.
std::optional<LaneEmitter::Rest> LaneEmitter::restBefore(const llvm::BasicBlock* block) const {
  const llvm::BasicBlock* const before = block->getSinglePredecessor();
  const auto* const branch = before == nullptr ? nullptr : llvm::dyn_cast<llvm::BranchInst>(before->getTerminator());
  const auto* const compare = branch == nullptr || !branch->isConditional() ? nullptr : llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
  if (compare == nullptr || !compare->isEquality() || !llvm::isa<llvm::ConstantInt>(compare->getOperand(1))) return std::nullopt;
  return restIn(compare->getOperand(0));
}

// Whether the rounds end by one step, the same for all, at one bound; `near`: and the lanes begin within a step of each other, or where threads begin that take work by strides.
bool LaneEmitter::goesBySteps(const llvm::Loop& loop, bool near) const {
  return decides(loop, [&](const llvm::ICmpInst& compare) {
    for (const unsigned k : {0u, 1u}) {
      if (!shapes_.of(compare.getOperand(1 - k)).isUniform() || !loop.isLoopInvariant(compare.getOperand(1 - k))) continue;
      const auto induction = inductionOf(compare.getOperand(k), loop);
      if (!induction || !shapes_.of(induction->step).isUniform()) continue;
      if (!near) return true;
      std::uint64_t apart = 0;
      for (const llvm::Value* part : induction->parts) apart = llvm::SaturatingAdd(apart, shapes_.differing(part));
      if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(induction->step)) return constant->getValue().abs().ugt(apart);
      return apart < kWarp && isOfThreads(induction->step);
    }
    return false;
  });
}

// Whether the loop is one that has been unrolled, and these do the rest of its rounds.
bool LaneEmitter::isUnrolled(const llvm::Loop& loop, const Rest& rest, llvm::function_ref<bool(const llvm::BasicBlock*)> does, unsigned copies) const {
  if (shapes_.roundOf(loop.getHeader()) != &loop || !goesBySteps(loop, false)) return false;
  return areCopies(exchangesIn(from_, [&](const llvm::BasicBlock* block) { return loop.contains(block); }), rest.times, exchangesIn(from_, does), copies);
}

bool LaneEmitter::isUnrolled(const llvm::Loop& loop, const llvm::Loop& other) const {
  const auto rest = other.getParentLoop() == loop.getParentLoop() ? restOf(other) : std::nullopt;
  return rest && isUnrolled(loop, *rest, [&](const llvm::BasicBlock* block) { return other.contains(block); }, 1);
}

bool LaneEmitter::isUnrolled(const llvm::Loop& loop, const llvm::BasicBlock* one) const {
  const auto rest = shapes_.loops().getLoopFor(one) == loop.getParentLoop() ? restBefore(one) : std::nullopt;
  return rest && isUnrolled(loop, *rest, [&](const llvm::BasicBlock* block) {
    const auto other = restBefore(block);
    return other && other->rounds == rest->rounds;
  }, rest->times - 1);
}

// Whether the lanes go round equally often, but for one round: they take work by strides, `for (k = threadIdx.x; k < n; k += blockDim.x)`, as it is or unrolled. A program that has
// them exchange values there, all that its masks name (CUDA Programming Guide, "Warp Shuffle Functions"), sees to it that they are there equally often.
bool LaneEmitter::dividesEvenly(const llvm::Loop& loop) const {
  if (goesBySteps(loop, true)) return true;
  for (const llvm::Loop* other : shapes_.loops().getLoopsInPreorder())
    if (other != &loop && (isUnrolled(loop, *other) || isUnrolled(*other, loop))) return true;
  return llvm::any_of(from_, [&](const llvm::BasicBlock& block) { return isUnrolled(loop, &block); });
}

// Whether the lanes that are here are those that still go round in a loop, and those that have left it come to no operation again: each has its own number of
// rounds, and whoever is done is not waited for. Where lanes divide work evenly, nobody is done before the others; then there may be operations behind it, and loops around it
// that all lanes leave together.
bool LaneEmitter::goesRound(const llvm::BasicBlock* block) const {
  const llvm::Loop* const loop = shapes_.roundOf(block);
  if (loop == nullptr) return llvm::any_of(shapes_.loops().getLoopsInPreorder(), [&](const llvm::Loop* other) { return isUnrolled(*other, block); });
  if (dividesEvenly(*loop)) return true;
  return loop->isOutermost() && llvm::all_of(exchangesIn(from_, [](const llvm::BasicBlock*) { return true; }), [&](const llvm::CallInst* call) {
    const llvm::BasicBlock* const there = call->getParent();
    return loop->contains(there) ? shapes_.roundOf(there) == loop : shapes_.isBefore(there, loop->getHeader());
  });
}

}  // namespace rouse::cpu::codegen
