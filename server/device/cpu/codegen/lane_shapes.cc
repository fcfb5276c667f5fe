#include "server/device/cpu/codegen/lane_shapes.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/IR/Operator.h>
#include <llvm/IR/PatternMatch.h>

#include "server/device/cpu/codegen/context_fields.h"
#include "server/device/cpu/codegen/lane_calls.h"
#include "server/device/cpu/codegen/matrix_registers.h"
#include "server/device/cpu/codegen/warp_calls.h"

namespace rouse::cpu::codegen {
namespace {

using Kind = Shape::Kind;

constexpr Shape kVarying{Kind::varying};
constexpr Shape kUniform{Kind::uniform};

Shape affine(std::int64_t stride, bool conditional) {
  if (stride == 0 && !conditional) return kUniform;
  return {Kind::affine, stride, conditional};
}

// What is both: the least that covers them.
Shape join(const Shape& x, const Shape& y) {
  if (x.kind == Kind::unknown) return y;
  if (y.kind == Kind::unknown) return x;
  if (x.kind == Kind::varying || y.kind == Kind::varying || x.stride != y.stride) return kVarying;
  return affine(x.stride, x.conditional || y.conditional);
}

// As numbers of 64 bits wrap.
std::int64_t product(std::int64_t x, std::int64_t y) { return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y)); }

Shape sum(const Shape& x, const Shape& y, std::int64_t sign) {
  if (x.kind == Kind::varying || y.kind == Kind::varying) return kVarying;
  if (x.kind == Kind::unknown || y.kind == Kind::unknown) return {};
  const std::uint64_t more = static_cast<std::uint64_t>(product(y.stride, sign));
  return affine(static_cast<std::int64_t>(static_cast<std::uint64_t>(x.stride) + more), x.conditional || y.conditional);
}

std::int64_t truncated(std::int64_t value, unsigned bits) {
  return bits >= 64 ? value : llvm::SignExtend64(static_cast<std::uint64_t>(value), bits);
}

}  // namespace

std::uint64_t laneBytes(const llvm::AllocaInst& variable) {
  return llvm::alignTo(variable.getAllocationSize(variable.getModule()->getDataLayout())->getFixedValue(), variable.getAlign());
}

LaneShapes::LaneShapes(llvm::Function& function, Beside beside, bool mayWrap, unsigned together, Present present)
    : function_(function), beside_(beside), mayWrap_(mayWrap), together_(together), present_(present), layout_(function.getParent()->getDataLayout()), dominators_(function), loops_(dominators_),
      butterflies_(function) {
  findLeaders();
  const llvm::ReversePostOrderTraversal<llvm::Function*> order(&function_);
  // Shapes only ever become worse, so this ends.
  for (bool changed = true; changed;) {
    changed = false;
    forget();
    for (const llvm::BasicBlock* block : order) {
      for (const llvm::Instruction& instruction : *block) {
        if (instruction.getType()->isVoidTy()) continue;
        const Shape before = of(&instruction);
        Shape now = compute(instruction);
        if (!now.isScalar() && isSumOfAll(instruction)) now = kUniform;
        now = join(before, now);
        now.conditional &= mayWrap_;
        if (now == before) continue;
        shapes_[&instruction] = now;
        changed = true;
      }
    }
  }
  forget();
}

Shape LaneShapes::of(const llvm::Value* value) const {
  if (!llvm::isa<llvm::Instruction>(value)) return kUniform;
  const auto found = shapes_.find(value);
  return found == shapes_.end() ? Shape{} : found->second;
}

// Whether each lane that is in `from` comes to `to` in the same round of the loop both are in.
bool LaneShapes::allReach(const llvm::BasicBlock* from, const llvm::BasicBlock* to) const {
  const llvm::Loop* const loop = loops_.getLoopFor(from);
  llvm::SmallPtrSet<const llvm::BasicBlock*, 16> seen{from};
  llvm::SmallVector<const llvm::BasicBlock*, 16> work{from};
  while (!work.empty()) {
    const llvm::BasicBlock* const block = work.pop_back_val();
    if (llvm::succ_empty(block)) return false;
    for (const llvm::BasicBlock* next : llvm::successors(block)) {
      if (next == to) continue;
      if (loop != nullptr && (!loop->contains(next) || next == loop->getHeader())) return false;
      if (seen.insert(next).second) work.push_back(next);
    }
  }
  return true;
}

void LaneShapes::findLeaders() {
  for (const llvm::BasicBlock& block : function_) {
    const llvm::Loop* const loop = loops_.getLoopFor(&block);
    if (!dominators_.isReachableFromEntry(&block) || (loop != nullptr && loop->getHeader() == &block)) continue;
    const auto* node = dominators_.getNode(&block)->getIDom();
    while (node != nullptr && loops_.getLoopFor(node->getBlock()) != loop) node = node->getIDom();
    if (node != nullptr && allReach(node->getBlock(), &block)) leaders_[&block] = node->getBlock();
  }
}

bool LaneShapes::isCommon(const llvm::Loop* loop) const {
  const llvm::BasicBlock* exiting = loop->getExitingBlock();
  if (exiting == nullptr || loop->getExitBlock() == nullptr) return false;
  const auto* const branch = llvm::dyn_cast<llvm::BranchInst>(exiting->getTerminator());
  if (branch == nullptr || !branch->isConditional() || !of(branch->getCondition()).isUniform()) return false;
  while (exiting != nullptr && exiting != loop->getHeader()) exiting = leader(exiting);
  return exiting != nullptr;
}

void LaneShapes::forget() {
  alike_.clear();
  whole_.clear();
  stayTogether_.clear();
  butterflies_.forget();
}

bool LaneShapes::decidedAlike(const llvm::BasicBlock* join) const {
  if (const auto found = alike_.find(join); found != alike_.end()) return found->second;
  const bool alike = computeAlike(join);
  alike_[join] = alike;
  return alike;
}

namespace {

using Region = llvm::SmallPtrSet<const llvm::BasicBlock*, 16>;

constexpr std::size_t kMostBetween = 128;  // of a region whose lanes go apart and meet again

// Whether all ways from `sources` to `join` come through one block before, which is not among them. In the region alone: not by way of another round.
bool meetBefore(llvm::ArrayRef<const llvm::BasicBlock*> sources, const llvm::BasicBlock* join, const Region& region) {
  llvm::DenseMap<const llvm::BasicBlock*, const llvm::BasicBlock*> cameFrom;
  // Whether there is a way around `without`.
  const auto reaches = [&](const llvm::BasicBlock* without) {
    cameFrom.clear();
    llvm::SmallVector<const llvm::BasicBlock*, 16> work(sources.begin(), sources.end());
    while (!work.empty()) {
      const llvm::BasicBlock* const block = work.pop_back_val();
      for (const llvm::BasicBlock* next : llvm::successors(block)) {
        if (next == without || (next != join && !region.contains(next)) || !cameFrom.try_emplace(next, block).second) continue;
        if (next == join) return true;
        work.push_back(next);
      }
    }
    return false;
  };
  if (!reaches(nullptr)) return true;
  llvm::SmallVector<const llvm::BasicBlock*, 16> way;
  for (const llvm::BasicBlock* block = cameFrom.lookup(join); !llvm::is_contained(sources, block); block = cameFrom.lookup(block)) way.push_back(block);
  return llvm::any_of(way, [&](const llvm::BasicBlock* block) { return !reaches(block); });
}

}  // namespace

// Whether all lanes that come to `join` together have come the same way since they were last known to be together. Where some went apart and met again on the
// way, they did; also those that left a loop in different rounds, by different ways.
bool LaneShapes::computeAlike(const llvm::BasicBlock* join) const {
  const llvm::BasicBlock* const top = dominators_.getNode(join)->getIDom()->getBlock();
  Region between;
  llvm::SmallVector<const llvm::BasicBlock*, 16> work(llvm::predecessors(join));
  while (!work.empty()) {
    const llvm::BasicBlock* const block = work.pop_back_val();
    if (between.insert(block).second && block != top) work.append(llvm::pred_begin(block), llvm::pred_end(block));
  }
  const auto meet = [&](llvm::ArrayRef<const llvm::BasicBlock*> sources) { return between.size() <= kMostBetween && meetBefore(sources, join, between); };
  llvm::SmallPtrSet<const llvm::Loop*, 4> left;
  for (const llvm::BasicBlock* block : between) {
    const llvm::Instruction* const end = block->getTerminator();
    if (end->getNumSuccessors() > 1 && !of(end->getOperand(0)).isUniform() && !meet({block})) return false;
    for (const llvm::Loop* loop = loops_.getLoopFor(block); loop != nullptr && !loop->contains(join); loop = loop->getParentLoop()) left.insert(loop);
  }
  return llvm::all_of(left, [&](const llvm::Loop* loop) {
    llvm::SmallVector<const llvm::BasicBlock*, 16> blocks;
    llvm::copy_if(loop->blocks(), std::back_inserter(blocks), [&](const llvm::BasicBlock* block) { return between.contains(block); });
    return leavesTogether(loop) || meet(blocks);
  });
}

Shape LaneShapes::ofPhi(const llvm::PHINode& phi) const {
  const llvm::BasicBlock* const block = phi.getParent();
  const llvm::Loop* const loop = loops_.getLoopFor(block);
  Shape all;
  for (const llvm::Value* value : phi.incoming_values()) all = join(all, of(value));
  if (loop != nullptr && loop->getHeader() == block) return all;
  // Lanes that left a loop in different rounds bring different values.
  for (const llvm::BasicBlock* from : phi.blocks()) {
    const llvm::Loop* left = loops_.getLoopFor(from);
    for (; left != nullptr && !left->contains(block); left = left->getParentLoop()) {
      if (all.conditional || !leavesTogether(left)) return kVarying;
    }
  }
  if (phi.getNumIncomingValues() == 1) return all;
  if (all.conditional) return kVarying;
  return decidedAlike(block) ? all : kVarying;
}

std::optional<std::size_t> LaneShapes::threadField(const llvm::Value* pointer) const {
  return codegen::threadField(pointer, function_);
}

std::optional<std::size_t> LaneShapes::ownField(const llvm::LoadInst& load) const {
  const auto field = threadField(load.getPointerOperand());
  if (!field) return std::nullopt;
  const std::size_t bytes = layout_.getTypeStoreSize(load.getType()).getFixedValue();
  for (const std::size_t own : {offsetof(ThreadContext, tid), offsetof(ThreadContext, lane), offsetof(ThreadContext, warp), offsetof(ThreadContext, linear)}) {
    if (*field < own + sizeof(std::uint32_t) && own < *field + bytes) return own;
  }
  return std::nullopt;
}

Shape LaneShapes::ofLoad(const llvm::LoadInst& load) const {
  if (const auto field = ownField(load)) {
    // Else as a number of another kind.
    if (!load.getType()->isIntegerTy(32)) return kVarying;
    switch (*field) {
      case offsetof(ThreadContext, lane):
        return !areOfWarp(beside_) ? kVarying : affine(1, false);
      case offsetof(ThreadContext, warp):
        return !areOfWarp(beside_) ? kVarying : kUniform;
      default:
        return affine(1, false);
    }
  }
  if (matrixWordsOf(load).variable != nullptr) return kVarying;
  if (isOfWarp(load) && areOfWarp(beside_)) return kUniform;
  return of(load.getPointerOperand()).isUniform() ? kUniform : kVarying;
}

// Whether all that are taken together are on one side.
bool LaneShapes::splitsBetween(const llvm::ICmpInst& compare) const {
  const auto* const bound = llvm::dyn_cast<llvm::ConstantInt>(compare.getOperand(1));
  if (bound == nullptr || !isThreadNumber(compare.getOperand(0))) return false;
  switch (compare.getPredicate()) {
    case llvm::CmpInst::ICMP_ULT:
    case llvm::CmpInst::ICMP_UGE:
    case llvm::CmpInst::ICMP_SLT:
    case llvm::CmpInst::ICMP_SGE:
      return bound->getZExtValue() % together_ == 0;
    case llvm::CmpInst::ICMP_UGT:
    case llvm::CmpInst::ICMP_ULE:
    case llvm::CmpInst::ICMP_SGT:
    case llvm::CmpInst::ICMP_SLE:
      return (bound->getZExtValue() + 1) % together_ == 0;
    default:
      return false;
  }
}

bool LaneShapes::isConverged(const llvm::BasicBlock* block) const { return isWhole(block, nullptr); }

// Whether all lanes that are in a round of the loop (null: in the function) come to the block at once, or none.
bool LaneShapes::isWhole(const llvm::BasicBlock* block, const llvm::Loop* within) const {
  const auto [found, added] = whole_.try_emplace({block, within}, false);  // also while it is being found out
  if (!added) return found->second;
  const bool whole = computeWhole(block, within);
  whole_[{block, within}] = whole;
  return whole;
}

bool LaneShapes::computeWhole(const llvm::BasicBlock* block, const llvm::Loop* within) const {
  if (within != nullptr ? block == within->getHeader() : block->isEntryBlock()) return true;
  if (const llvm::BasicBlock* top = leader(block)) return isWhole(top, within);
  const llvm::Loop* const loop = loops_.getLoopFor(block);
  const bool isHeader = loop != nullptr && loop->getHeader() == block;
  if (isHeader && !leavesTogether(loop)) return false;
  if (!isHeader) {
    const llvm::BasicBlock* const top = dominators_.getNode(block)->getIDom()->getBlock();
    if (loops_.getLoopFor(top) == loop && decidedAlike(block) && isWhole(top, within)) return true;
  }
  for (const llvm::BasicBlock* before : llvm::predecessors(block)) {
    if (isHeader && loop->contains(before)) continue;
    const auto* const branch = llvm::dyn_cast<llvm::BranchInst>(before->getTerminator());
    if (branch == nullptr || (branch->isConditional() && !of(branch->getCondition()).isUniform()) || !isWhole(before, within)) return false;
  }
  return true;
}

// Whether all lanes that enter the loop leave it in the same round, and the same way: as isCommon, with several ways out.
bool LaneShapes::staysTogether(const llvm::Loop* loop) const {
  const auto [found, added] = stayTogether_.try_emplace(loop, false);
  if (!added) return found->second;
  llvm::SmallVector<llvm::BasicBlock*, 4> exiting;
  loop->getExitingBlocks(exiting);
  const bool together = llvm::all_of(exiting, [&](const llvm::BasicBlock* block) {
    const auto* const branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
    return branch != nullptr && (!branch->isConditional() || of(branch->getCondition()).isUniform()) && isWhole(block, loop);
  });
  stayTogether_[loop] = together;
  return together;
}

bool LaneShapes::leavesTogether(const llvm::Loop* loop) const { return isCommon(loop) || staysTogether(loop); }

bool LaneShapes::isSteady(const llvm::BasicBlock* block) const {
  if (const auto found = steady_.find(block); found != steady_.end()) return found->second;
  const bool steady = computeSteady(block);
  steady_[block] = steady;
  return steady;
}

bool LaneShapes::computeSteady(const llvm::BasicBlock* block) const {
  if (const llvm::BasicBlock* top = leader(block)) return isSteady(top);
  const llvm::Loop* const loop = loops_.getLoopFor(block);
  if (loop == nullptr) return true;
  const bool isHeader = loop->getHeader() == block;
  if (isHeader && !isCommon(loop)) return false;
  for (const llvm::BasicBlock* before : llvm::predecessors(block)) {
    if (isHeader && loop->contains(before)) continue;
    // What decides about a round of the loop around it was decided before the loop, or for all alike.
    const llvm::Loop* const around = loops_.getLoopFor(before);
    if (around != nullptr && !around->contains(block)) return false;  // left in different rounds, or its leader would be known
    const auto* const branch = llvm::dyn_cast<llvm::BranchInst>(before->getTerminator());
    if (branch == nullptr || !isSteady(before)) return false;
    // Of all loops around it: what an outer round decides, lanes decide in different rounds, too.
    if (branch->isConditional() && around != nullptr && !of(branch->getCondition()).isUniform() && !around->getOutermostLoop()->isLoopInvariant(branch->getCondition()))
      return false;
  }
  return true;
}

const llvm::Loop* LaneShapes::roundOf(const llvm::BasicBlock* block) const {
  const llvm::Loop* loop = loops_.getLoopFor(block);
  while (loop != nullptr && leavesTogether(loop)) loop = loop->getParentLoop();
  if (loop == nullptr || !isWhole(block, loop)) return nullptr;
  for (const llvm::Loop* around = loop->getParentLoop(); around != nullptr; around = around->getParentLoop())
    if (!leavesTogether(around)) return nullptr;
  return loop;
}

bool LaneShapes::haveSameLanes(const llvm::BasicBlock* one, const llvm::BasicBlock* other) const {
  const auto top = [&](const llvm::BasicBlock* block) {
    while (const llvm::BasicBlock* next = leader(block)) block = next;
    return block;
  };
  return top(one) == top(other);
}

bool LaneShapes::excludeEachOther(const llvm::BasicBlock* one, const llvm::BasicBlock* other) const {
  if (dominators_.dominates(one, other) || dominators_.dominates(other, one)) return false;
  const auto* const branch = llvm::dyn_cast<llvm::BranchInst>(dominators_.findNearestCommonDominator(one, other)->getTerminator());
  if (branch != nullptr && branch->isConditional() && of(branch->getCondition()).isUniform()) return false;
  // Within a round: not by way of the next one.
  llvm::SmallPtrSet<llvm::BasicBlock*, 4> headers;
  for (const llvm::Loop* loop = loops_.getLoopFor(one); loop != nullptr; loop = loop->getParentLoop()) {
    if (loop->contains(other)) headers.insert(loop->getHeader());
  }
  return !llvm::isPotentiallyReachable(one, other, &headers, &dominators_) && !llvm::isPotentiallyReachable(other, one, &headers, &dominators_);
}

// Whether all that are taken together get what one of them has, the same for all (PTX ISA, shfl.sync.idx): of no smaller segments, of lanes that are all there.
bool LaneShapes::isBroadcast(const llvm::CallInst& shuffle) const {
  const auto* const mode = llvm::dyn_cast<llvm::ConstantInt>(shuffle.getArgOperand(1));
  const auto* const control = llvm::dyn_cast<llvm::ConstantInt>(shuffle.getArgOperand(4));
  if (mode == nullptr || mode->getZExtValue() != 3 || control == nullptr || !of(shuffle.getArgOperand(3)).isUniform()) return false;
  // Whoever is not there yields what differs (LaneEmitter::broadcast), so that a whole warp's is one of rows only.
  if (together_ == kWarp) return beside_ == Beside::rows && isOfWholeWarp(shuffle) && control->getZExtValue() == kWarp - 1;
  const std::uint64_t segment = (control->getZExtValue() >> 8) & (kWarp - 1);
  return (control->getZExtValue() & (kWarp - 1)) == kWarp - 1 && (segment & (together_ - 1)) == 0;
}

Shape LaneShapes::ofCall(const llvm::CallInst& call) const {
  const auto operation = warpOperation(call);
  const llvm::Function* const callee = call.getCalledFunction();
  if (callee != nullptr && callee->getName() == "rouse_cpu_clock") return kUniform;  // read once for all who are here
  if (!operation) return call.mayReadOrWriteMemory() || takesThread(call) ? kVarying : byOperands(call);
  switch (*operation) {
    case WarpCall::vote:
    case WarpCall::reduce:
      return of(memberMask(call)).isUniform() ? kUniform : kVarying;
    case WarpCall::active:
    case WarpCall::sync:
    case WarpCall::step:
      return kUniform;
    case WarpCall::shuffle:
      return isBroadcast(call) ? kUniform : kVarying;
    default:
      return kVarying;
  }
}

Shape LaneShapes::byOperands(const llvm::Instruction& instruction) const {
  for (const llvm::Value* operand : instruction.operands()) {
    if (!llvm::isa<llvm::BasicBlock>(operand) && !of(operand).isUniform()) return kVarying;
  }
  return kUniform;
}

Shape LaneShapes::ofBinary(const llvm::BinaryOperator& operation) const {
  using namespace llvm::PatternMatch;
  const unsigned bits = operation.getType()->getScalarSizeInBits();
  const Shape x = of(operation.getOperand(0)), y = of(operation.getOperand(1));
  const auto* const constant = llvm::dyn_cast<llvm::ConstantInt>(operation.getOperand(1));
  const auto ring = [&](Shape shape) {
    if (shape.kind == Kind::affine) shape = affine(truncated(shape.stride, bits), shape.conditional);
    return shape;
  };
  const auto scaled = [&](std::int64_t factor) { return x.isScalar() ? affine(truncated(product(x.stride, factor), bits), x.conditional) : kVarying; };
  switch (operation.getOpcode()) {
    case llvm::Instruction::Add:
      return ring(sum(x, y, 1));
    case llvm::Instruction::Sub:
      return ring(sum(x, y, -1));
    case llvm::Instruction::Or:
      if (differingOf(operation) == 0) return kUniform;
      if (llvm::cast<llvm::PossiblyDisjointInst>(operation).isDisjoint()) return ring(sum(x, y, 1));
      break;
    case llvm::Instruction::Mul:
      if (constant != nullptr && bits <= 64) return scaled(constant->getSExtValue());
      break;
    case llvm::Instruction::Shl:
      if (constant != nullptr && bits <= 64 && constant->getZExtValue() < bits) return scaled(static_cast<std::int64_t>(std::uint64_t{1} << constant->getZExtValue()));
      break;
    case llvm::Instruction::And:
      if (differingOf(operation) == 0) return kUniform;
      if (constant == nullptr || bits > 64 || !x.isScalar()) break;
      // A lane's number, scaled, in bits that are all kept.
      if (x.kind == Kind::affine && x.stride > 0 && llvm::isPowerOf2_64(static_cast<std::uint64_t>(x.stride))) {
        const std::uint64_t lane = differing(operation.getOperand(0));
        if (lane == (together_ - 1) * static_cast<std::uint64_t>(x.stride) && (lane & constant->getZExtValue()) == lane) return affine(x.stride, false);
      }
      // Extension of the lower half.
      if (bits == 64 && constant->getZExtValue() == 0xffffffff && !x.isUniform()) return affine(truncated(x.stride, 32), true);
      // Lower bits that all lanes have alike: what wraps does so at 32 bits and more.
      if (llvm::isMask_64(constant->getZExtValue()) && constant->getZExtValue() < (std::uint64_t{1} << 32) &&
          (static_cast<std::uint64_t>(x.stride) & constant->getZExtValue()) == 0) {
        return kUniform;
      }
      break;
    case llvm::Instruction::LShr:
      if (differingOf(operation) == 0) return kUniform;
      break;
    case llvm::Instruction::AShr: {
      if (differingOf(operation) == 0) return kUniform;
      // Sign extension of the lower half, scaled.
      llvm::Value* inner = nullptr;
      if (bits != 64 || constant == nullptr || constant->getZExtValue() > 32 || !match(operation.getOperand(0), m_Shl(m_Value(inner), m_SpecificInt(32))))
        break;
      const Shape shape = of(inner);
      if (shape.kind != Kind::affine) break;
      return affine(product(truncated(shape.stride, 32), std::int64_t{1} << (32 - constant->getZExtValue())), true);
    }
    default:
      break;
  }
  return byOperands(operation);
}

Shape LaneShapes::ofCast(const llvm::CastInst& cast) const {
  const Shape x = of(cast.getOperand(0));
  if (x.kind != Kind::affine) return byOperands(cast);
  const unsigned bits = cast.getType()->getScalarSizeInBits();
  switch (cast.getOpcode()) {
    case llvm::Instruction::IntToPtr:
    case llvm::Instruction::PtrToInt:
      return (cast.getType()->isPointerTy() ? cast.getSrcTy() : cast.getDestTy())->isIntegerTy(64) ? x : kVarying;
    case llvm::Instruction::Trunc:
      // What wraps does so at 32 bits and more.
      return bits <= 32 ? affine(truncated(x.stride, bits), false) : kVarying;
    case llvm::Instruction::ZExt:
    case llvm::Instruction::SExt: {
      if (!cast.getSrcTy()->isIntegerTy(32) || !cast.getDestTy()->isIntegerTy(64) || x.conditional) return kVarying;
      const auto* load = llvm::dyn_cast<llvm::LoadInst>(cast.getOperand(0));
      return affine(x.stride, load == nullptr);  // threads' numbers are small
    }
    default:
      return byOperands(cast);
  }
}

// Whether all lanes have the same by exchanges of theirs, where they all are. (Of what is called each has made its own.)
bool LaneShapes::isSumOfAll(const llvm::Instruction& instruction) {
  if (!butterflies_ || beside_ != Beside::rows || present_ == Present::some) return false;
  if (llvm::isa<llvm::CallInst>(instruction) && !llvm::isa<llvm::MinMaxIntrinsic>(instruction)) return false;
  const auto isUniform = [&](const llvm::Value* value) { return of(value).isUniform(); };
  const auto isHere = [&](const llvm::BasicBlock* block) { return isConverged(block); };
  return butterflies_.alike(instruction, together_ - 1, isUniform, isHere) == together_ - 1;
}

Shape LaneShapes::compute(const llvm::Instruction& instruction) const {
  if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction)) return ofPhi(*phi);
  if (const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) return affine(static_cast<std::int64_t>(laneBytes(*variable)), false);
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return ofLoad(*load);
  if (const auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(&instruction)) return ofBinary(*operation);
  if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(&instruction)) return ofCast(*cast);
  if (llvm::isa<llvm::FreezeInst>(instruction)) return of(instruction.getOperand(0));
  if (const auto* moved = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) {
    const Shape base = of(moved->getPointerOperand());
    if (moved->getNumIndices() != 1) return byOperands(instruction);
    Shape index = of(moved->getOperand(1));
    if (!moved->getOperand(1)->getType()->isIntegerTy(64) && !index.isUniform()) return kVarying;
    if (index.kind == Kind::affine) {
      index.stride = product(index.stride, static_cast<std::int64_t>(layout_.getTypeAllocSize(moved->getSourceElementType()).getFixedValue()));
    }
    return sum(base, index, 1);
  }
  if (const auto* choice = llvm::dyn_cast<llvm::SelectInst>(&instruction)) {
    const Shape both = join(of(choice->getTrueValue()), of(choice->getFalseValue()));
    return of(choice->getCondition()).isUniform() && !both.conditional ? both : byOperands(instruction);
  }
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) return ofCall(*call);
  if (const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(&instruction)) return splitsBetween(*compare) ? kUniform : byOperands(instruction);
  if (instruction.mayReadOrWriteMemory() && !llvm::isa<llvm::LoadInst>(instruction)) return kVarying;
  return byOperands(instruction);
}

}  // namespace rouse::cpu::codegen
