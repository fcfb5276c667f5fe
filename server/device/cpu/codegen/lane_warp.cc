// What the lanes of a warp exchange, where they are a vector's: what the runtime does for fibers (runtime/warp_operations.cc).
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/PatternMatch.h>

#include <array>

#include "server/device/cpu/codegen/lane_emitter.h"
#include "server/device/cpu/codegen/matrix_registers.h"
#include "server/device/cpu/codegen/warp_calls.h"

namespace rouse::cpu::codegen {
namespace {

// What a vote names lanes by; null where that is not what it is for.
const llvm::CallInst* ballot(const llvm::Value* value) {
  const auto* const vote = llvm::dyn_cast<llvm::CallInst>(value);
  if (vote == nullptr || warpOperation(*vote) != WarpCall::vote) return nullptr;
  const auto* const mode = llvm::dyn_cast<llvm::ConstantInt>(vote->getArgOperand(1));
  return mode != nullptr && mode->getZExtValue() == 3 ? vote : nullptr;
}

// Whether the mask is one that the lanes of a loop keep by ballots among themselves, from all or a ballot on: it names those that go round together.
bool isKeptByBallots(const llvm::Value* mask, const llvm::Loop& loop) {
  llvm::SmallPtrSet<const llvm::Value*, 8> seen;
  llvm::SmallVector<const llvm::Value*, 8> work{mask};
  bool found = false;
  while (!work.empty()) {
    const llvm::Value* const value = work.pop_back_val();
    if (!seen.insert(value).second) continue;
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value); constant != nullptr && constant->isMinusOne()) continue;
    const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(value);
    if (instruction == nullptr) return false;
    if (const llvm::CallInst* vote = ballot(instruction)) {
      found |= loop.contains(vote);
    } else if (llvm::isa<llvm::PHINode>(instruction) || llvm::isa<llvm::FreezeInst>(instruction) || instruction->getOpcode() == llvm::Instruction::And) {
      work.append(instruction->op_begin(), instruction->op_end());
    } else {
      return false;
    }
  }
  return found;
}

// Whether two conditions are the same, or (`inverted`) each what the other is not.
bool areAlike(const llvm::Value* one, const llvm::Value* other, bool inverted) {
  using namespace llvm::PatternMatch;
  llvm::Value* inner = nullptr;
  if (match(one, m_Not(m_Value(inner)))) return areAlike(inner, other, !inverted);
  if (match(other, m_Not(m_Value(inner)))) return areAlike(one, inner, !inverted);
  if (one == other) return !inverted;
  const auto *const x = llvm::dyn_cast<llvm::CmpInst>(one), *const y = llvm::dyn_cast<llvm::CmpInst>(other);
  if (x == nullptr || y == nullptr || x->getOperand(0) != y->getOperand(0) || x->getOperand(1) != y->getOperand(1)) return false;
  return x->getPredicate() == (inverted ? y->getInversePredicate() : y->getPredicate());
}

// Which lanes it is for, where lanes wait for others there.
bool hasMembers(const llvm::Instruction& instruction) {
  const auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  return call != nullptr && warpOperation(*call) && memberMask(*call) != nullptr;
}

std::uint64_t numberOf(const llvm::Value* value) { return llvm::cast<llvm::ConstantInt>(value)->getZExtValue(); }

}  // namespace

// Whether the lanes that the call is for are here together, whenever any of them is.
//
// Lanes wait for each other by their member mask (PTX ISA, "shfl.sync"). Where all of a warp are here, or those that an activemask here has told of, all
// that a mask can name are; where it names only such of an aligned part of the warp, all that are of that. Else those that are not here must not come later: not in another round of a loop, and not to another operation, in a branch that excludes
// this one, that may have the same mask (by the program's branches: two places behind conditions that exclude each other by their values are one after the
// other for all that is known). So may a mask of the whole warp behind `if (threadIdx.x < 8)`: that it names lanes which never come is the program's mistake,
// but a common one, and GPUs, as fibers, go on with those that are there.
bool LaneEmitter::meetHere(const llvm::CallInst& call) const {
  const llvm::BasicBlock* const block = call.getParent();
  if (shapes_.isConverged(block)) return true;
  const llvm::Value* const mask = memberMask(call);
  const auto* const active = llvm::dyn_cast<llvm::CallInst>(mask);
  if (active != nullptr && warpOperation(*active) == WarpCall::active) return shapes_.haveSameLanes(block, active->getParent());
  if (const llvm::Loop* loop = shapes_.loops().getLoopFor(block)) {
    if (shapes_.haveSameLanes(block, loop->getHeader()) ? isKeptByBallots(mask, *loop) : comesByBallot(block, mask)) return true;
  }
  if (goesRound(block)) return true;
  if (const unsigned part = shapes_.partNamed(mask); part < kWarp && ofParts(part).isConverged(block)) return true;
  if (!shapes_.isSteady(block)) return false;
  return llvm::none_of(llvm::instructions(from_), [&](const llvm::Instruction& instruction) {
    if (!hasMembers(instruction)) return false;
    const auto* const other = llvm::cast<llvm::CallInst>(&instruction);
    if (llvm::isa<llvm::ConstantInt>(mask) && llvm::isa<llvm::ConstantInt>(memberMask(*other)) && mask != memberMask(*other)) return false;
    const llvm::BasicBlock* const there = other->getParent();
    // Two halves of a warp, one behind the other: those that are missing here may come there for these.
    if (isOfWholeWarp(call) && isOfWholeWarp(*other) && !shapes_.isConverged(there) && !shapes_.haveSameLanes(block, there) && !shapes_.followEachOther(block, there)) return true;
    return shapes_.excludeEachOther(block, there);
  });
}

// Whether the mask is a ballot of this round, and who comes here is whom it names.
bool LaneEmitter::comesByBallot(const llvm::BasicBlock* block, const llvm::Value* mask) const {
  using namespace llvm::PatternMatch;
  while (const auto* frozen = llvm::dyn_cast<llvm::FreezeInst>(mask)) mask = frozen->getOperand(0);
  const llvm::CallInst* const vote = ballot(mask);
  llvm::Value* voted = nullptr;
  if (vote == nullptr || !match(vote->getArgOperand(2), m_ZExt(m_Value(voted)))) return false;
  while (!shapes_.haveSameLanes(block, vote->getParent())) {
    while (const llvm::BasicBlock* leader = shapes_.leader(block)) block = leader;
    const llvm::BasicBlock* const before = block->getSinglePredecessor();
    const auto* const branch = before == nullptr || shapes_.loops().getLoopFor(before) != shapes_.loops().getLoopFor(block) ? nullptr : llvm::dyn_cast<llvm::BranchInst>(before->getTerminator());
    if (branch == nullptr || !branch->isConditional() || branch->getSuccessor(0) == branch->getSuccessor(1)) return false;
    if (!shapes_.of(branch->getCondition()).isUniform() && !areAlike(branch->getCondition(), voted, branch->getSuccessor(1) == block)) return false;
    block = before;
  }
  return true;
}

const LaneShapes& LaneEmitter::ofParts(unsigned lanes) const {
  std::unique_ptr<LaneShapes>& shapes = parts_[lanes];
  if (shapes == nullptr) shapes = std::make_unique<LaneShapes>(from_, beside_, true, lanes, present_);
  return *shapes;
}

bool LaneEmitter::coversWarpCall(const llvm::CallInst& call) const {
  const WarpCall operation = *warpOperation(call);
  if (!areOfWarp(beside_)) return false;
  // That all lanes come together is the program's promise (`.aligned`); whether there are all, a row of warps knows.
  if (operation == WarpCall::matrix) return beside_ == Beside::rows && matrixVariable(call) != nullptr && isMatrixRegisters(*matrixVariable(call));
  // Those that are here are active.
  if (operation == WarpCall::step || operation == WarpCall::active) return true;
  // What is done must be known.
  switch (operation) {
    case WarpCall::shuffle:
    case WarpCall::vote:
    case WarpCall::match:
      return llvm::isa<llvm::ConstantInt>(call.getArgOperand(1)) && meetHere(call);
    case WarpCall::reduce:
      return llvm::isa<llvm::ConstantInt>(call.getArgOperand(1)) && llvm::isa<llvm::ConstantInt>(call.getArgOperand(2)) && meetHere(call);
    default:
      return meetHere(call);
  }
}

void LaneEmitter::emitWarpCall(const llvm::CallInst& call) {
  Made& made = made_[&call];
  switch (*warpOperation(call)) {
    case WarpCall::sync:
    case WarpCall::step:
      return;
    case WarpCall::active:
      return set(made.scalar, lanesHere());
    case WarpCall::shuffle:
      if (shapes_.of(&call).isUniform()) return set(made.scalar, broadcast(call));
      return set(made.vector, shuffled(call));
    case WarpCall::vote:
      return set(shapes_.of(&call).isUniform() ? made.scalar : made.vector, voted(call));
    case WarpCall::match:
      return set(made.vector, matched(call));
    case WarpCall::reduce:
      return set(shapes_.of(&call).isUniform() ? made.scalar : made.vector, reduced(call));
    case WarpCall::matrix:
      return emitMatrix(call);
  }
}

// As bits.
llvm::Value* LaneEmitter::lanesHere() { return b.CreateBitCast(mask_, b.getInt32Ty()); }

// Whether all lanes of a row's warp take part.
bool LaneEmitter::areAllHere(const llvm::CallInst& call) const { return isOfWholeWarp(call) && beside_ == Beside::rows && present_ != Present::some && shapes_.isConverged(call.getParent()); }

// Those that take part: a number, or one for each lane.
llvm::Value* LaneEmitter::members(const llvm::CallInst& call) {
  const llvm::Value* const mask = memberMask(call);
  if (isOfWholeWarp(call)) return areAllHere(call) ? b.getInt32(~std::uint32_t{0}) : lanesHere();  // all of them
  return shapes_.of(mask).isUniform() ? b.CreateAnd(scalarOf(mask), lanesHere()) : b.CreateAnd(vectorOf(mask), splat(lanesHere()));
}

// What one lane has, and that there is one; 0 if it is not here.
llvm::Value* LaneEmitter::broadcast(const llvm::CallInst& call) {
  llvm::Value* const from = b.CreateAnd(scalarOf(call.getArgOperand(3)), std::uint64_t{31});
  llvm::Value* got = b.CreateExtractElement(vectorOf(call.getArgOperand(2)), from);
  if (!areAllHere(call)) got = b.CreateSelect(b.CreateExtractElement(mask_, from), got, b.getInt32(0));
  return b.CreateOr(b.CreateZExt(got, b.getInt64Ty()), std::uint64_t{1} << 32);
}

// PTX ISA, shfl.sync, "Semantics".
llvm::Value* LaneEmitter::shuffled(const llvm::CallInst& call) {
  const std::uint64_t mode = numberOf(call.getArgOperand(1));
  llvm::Value* const lanes = laneNumbers(b.getInt32Ty());
  llvm::Value* const control = vectorOf(call.getArgOperand(4));
  llvm::Value* const by = b.CreateAnd(vectorOf(call.getArgOperand(3)), std::uint64_t{31});
  llvm::Value* const clamp = b.CreateAnd(control, std::uint64_t{31});
  llvm::Value* const segment = b.CreateAnd(b.CreateLShr(control, std::uint64_t{8}), std::uint64_t{31});
  llvm::Value* const least = b.CreateAnd(lanes, segment);
  llvm::Value* const most = b.CreateOr(least, b.CreateAnd(clamp, b.CreateNot(segment)));
  llvm::Value* const from = mode == 0   ? b.CreateSub(lanes, by)
                            : mode == 1 ? b.CreateAdd(lanes, by)
                            : mode == 2 ? b.CreateXor(lanes, by)
                                        : b.CreateOr(least, b.CreateAnd(by, b.CreateNot(segment)));
  llvm::Value* const inRange = mode == 0 ? b.CreateICmpSGE(from, most) : b.CreateICmpSLE(from, most);
  llvm::Value* got = permuted(vectorOf(call.getArgOperand(2)), b.CreateSelect(inRange, from, lanes));
  if (!areAllHere(call)) {
    // Of one that is not here a lane gets 0, whatever the masks say (runtime/warp_operations.cc).
    llvm::Value* const bit = b.CreateShl(llvm::ConstantInt::get(from->getType(), 1), b.CreateAnd(from, std::uint64_t{31}));
    llvm::Value* const present = b.CreateICmpNE(b.CreateAnd(splat(lanesHere()), bit), llvm::Constant::getNullValue(bit->getType()));
    got = b.CreateSelect(b.CreateOr(b.CreateNot(inRange), present), got, llvm::Constant::getNullValue(got->getType()));
  }
  llvm::Type* const wide = widen(b.getInt64Ty());
  return b.CreateOr(b.CreateZExt(got, wide), b.CreateShl(b.CreateZExt(inRange, wide), std::uint64_t{32}));
}

// Of two vectors of 16 words, those that are asked for.
llvm::Value* LaneEmitter::permuted(llvm::Value* words, llvm::Value* lanes) {
  if (!hasMasks_) return permutedByEights(words, lanes);
  constexpr unsigned kHalf = kWarp / 2;
  const auto half = [&](llvm::Value* vector, unsigned first) {
    llvm::SmallVector<int, kHalf> which;
    for (unsigned lane = 0; lane < kHalf; ++lane) which.push_back(static_cast<int>(first + lane));
    return b.CreateShuffleVector(vector, which);
  };
  llvm::Value* const low = half(words, 0);
  llvm::Value* const high = half(words, kHalf);
  const auto pick = [&](unsigned first) {
    return b.CreateIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_d_512, {}, {low, half(lanes, first), high});
  };
  llvm::SmallVector<int, kWarp> all;
  for (unsigned lane = 0; lane < kWarp; ++lane) all.push_back(static_cast<int>(lane));
  return b.CreateShuffleVector(pick(0), pick(kHalf), all);
}

// The same without masks: of each of four vectors of 8 words, and then which.
llvm::Value* LaneEmitter::permutedByEights(llvm::Value* words, llvm::Value* lanes) {
  constexpr unsigned kPart = 8, kParts = kWarp / kPart;
  const auto part = [&](llvm::Value* vector, unsigned number) {
    llvm::SmallVector<int, kPart> which;
    for (unsigned lane = 0; lane < kPart; ++lane) which.push_back(static_cast<int>(number * kPart + lane));
    return b.CreateShuffleVector(vector, which);
  };
  std::array<llvm::Value*, kParts> from{}, to{};
  for (unsigned k = 0; k < kParts; ++k) from[k] = part(words, k);
  for (unsigned k = 0; k < kParts; ++k) {
    llvm::Value* const which = part(lanes, k);
    llvm::Value* const number = b.CreateAnd(b.CreateLShr(which, std::uint64_t{3}), std::uint64_t{kParts - 1});
    const auto pick = [&](unsigned source) { return b.CreateIntrinsic(llvm::Intrinsic::x86_avx2_permd, {}, {from[source], which}); };
    to[k] = pick(0);
    for (unsigned source = 1; source < kParts; ++source) to[k] = b.CreateSelect(b.CreateICmpEQ(number, llvm::ConstantInt::get(number->getType(), source)), pick(source), to[k]);
  }
  const auto joined = [&](llvm::Value* low, llvm::Value* high, unsigned size) {
    llvm::SmallVector<int, kWarp> all;
    for (unsigned lane = 0; lane < size; ++lane) all.push_back(static_cast<int>(lane));
    return b.CreateShuffleVector(low, high, all);
  };
  return joined(joined(to[0], to[1], 2 * kPart), joined(to[2], to[3], 2 * kPart), kWarp);
}

// A number, or one for each lane, as the members are.
llvm::Value* LaneEmitter::voted(const llvm::CallInst& call) {
  llvm::Value* const predicates = vectorOf(call.getArgOperand(2));
  llvm::Value* const asked = members(call);
  llvm::Type* const type = asked->getType();
  llvm::Value* bits = b.CreateBitCast(b.CreateICmpNE(predicates, llvm::Constant::getNullValue(predicates->getType())), b.getInt32Ty());
  bits = b.CreateAnd(type->isVectorTy() ? splat(bits) : bits, asked);
  llvm::Value* const none = b.CreateICmpEQ(bits, llvm::Constant::getNullValue(type));
  llvm::Value* const all = b.CreateICmpEQ(bits, asked);
  switch (numberOf(call.getArgOperand(1))) {
    case 0:
      return b.CreateZExt(all, type);
    case 1:
      return b.CreateZExt(b.CreateNot(none), type);
    case 2:
      return b.CreateZExt(b.CreateOr(none, all), type);
    default:
      return bits;
  }
}

llvm::Value* LaneEmitter::matched(const llvm::CallInst& call) {
  llvm::Value* const values = vectorOf(call.getArgOperand(2));
  llvm::Type* const wide = widen(b.getInt64Ty());
  const auto sameAs = [&](unsigned lane) { return b.CreateICmpEQ(values, splat(b.CreateExtractElement(values, lane))); };
  const bool ofAll = numberOf(call.getArgOperand(1)) != 0;
  if (ofAll && areAllHere(call)) {
    llvm::Value* const all = b.CreateICmpEQ(b.CreateBitCast(sameAs(0), b.getInt32Ty()), b.getInt32(~std::uint32_t{0}));
    return splat(b.CreateSelect(all, b.getInt64((std::uint64_t{1} << 33) - 1), b.getInt64(0)));
  }
  llvm::Value* lanes = llvm::Constant::getNullValue(widen(b.getInt32Ty()));
  if (hasMasks_) {
    for (unsigned lane = 0; lane < kWarp; ++lane) {
      llvm::Value* const bit = splat(b.getInt32(std::uint32_t{1} << lane));
      lanes = b.CreateOr(lanes, b.CreateSelect(sameAs(lane), bit, llvm::Constant::getNullValue(bit->getType())));
    }
  } else {  // that is too many vectors where a comparison's result is one of bytes
    lanes = forGroups(values, lanes, [&](llvm::Value* those, llvm::Value*) { return splat(those); });
  }
  llvm::Value* asked = members(call);
  if (!asked->getType()->isVectorTy()) asked = splat(asked);
  lanes = b.CreateAnd(lanes, asked);
  if (!ofAll) return b.CreateZExt(lanes, wide);
  llvm::Value* const found = b.CreateOr(b.CreateZExt(asked, wide), splat(b.getInt64(std::uint64_t{1} << 32)));
  return b.CreateSelect(b.CreateICmpEQ(lanes, asked), found, llvm::Constant::getNullValue(wide));
}

// Of those of a vector that are in the mask; nobody else counts.
llvm::Value* LaneEmitter::reducedOver(const llvm::CallInst& call, llvm::Value* lanes) {
  const bool isSigned = numberOf(call.getArgOperand(2)) != 0;
  const std::uint64_t operation = numberOf(call.getArgOperand(1));
  constexpr std::uint32_t kOnes = ~std::uint32_t{0}, kMost = kOnes >> 1;
  const std::uint32_t neutral = operation == 1 ? (isSigned ? kMost : kOnes) : operation == 2 ? (isSigned ? ~kMost : 0) : operation == 3 ? kOnes : 0;
  llvm::Value* values = vectorOf(call.getArgOperand(3));
  values = b.CreateSelect(b.CreateBitCast(lanes, mask_->getType()), values, splat(b.getInt32(neutral)));
  switch (operation) {
    case 0:
      return b.CreateAddReduce(values);
    case 1:
      return b.CreateIntMinReduce(values, isSigned);
    case 2:
      return b.CreateIntMaxReduce(values, isSigned);
    case 3:
      return b.CreateAndReduce(values);
    case 4:
      return b.CreateOrReduce(values);
    default:
      return b.CreateXorReduce(values);
  }
}

// A number; or, where lanes have different masks, one for each.
llvm::Value* LaneEmitter::reduced(const llvm::CallInst& call) {
  llvm::Value* const asked = members(call);
  if (!asked->getType()->isVectorTy()) return reducedOver(call, asked);
  return forGroups(asked, llvm::Constant::getNullValue(asked->getType()), [&](llvm::Value*, llvm::Value* own) { return splat(reducedOver(call, own)); });
}

// Group after group of the lanes that are here, the first that is left with those that have the same key: what `of` makes of their mask and of the key, for each of them; `others` for who
// is not here.
llvm::Value* LaneEmitter::forGroups(llvm::Value* keys, llvm::Value* others, llvm::function_ref<llvm::Value*(llvm::Value* those, llvm::Value* key)> of) {
  llvm::Value* const here = lanesHere();
  llvm::BasicBlock* const before = b.GetInsertBlock();
  llvm::BasicBlock* const group = newBlock("group");
  llvm::BasicBlock* const done = newBlock("done");
  b.CreateBr(group);
  b.SetInsertPoint(group);
  llvm::PHINode* const left = b.CreatePHI(b.getInt32Ty(), 2);
  llvm::PHINode* const found = b.CreatePHI(others->getType(), 2);
  llvm::Value* const first = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, left, b.getFalse());
  llvm::Value* const key = b.CreateExtractElement(keys, b.CreateAnd(first, std::uint64_t{kWarp - 1}));
  llvm::Value* const those = b.CreateAnd(b.CreateBitCast(b.CreateICmpEQ(keys, splat(key)), b.getInt32Ty()), left);
  llvm::Value* const next = b.CreateSelect(b.CreateBitCast(those, mask_->getType()), of(those, key), found);
  llvm::Value* const rest = b.CreateAnd(left, b.CreateNot(those));
  left->addIncoming(here, before);
  left->addIncoming(rest, group);
  found->addIncoming(others, before);
  found->addIncoming(next, group);
  b.CreateCondBr(b.CreateICmpNE(rest, b.getInt32(0)), group, done);
  b.SetInsertPoint(done);
  return next;
}

}  // namespace rouse::cpu::codegen
