#include "server/device/cpu/codegen/lane_way.h"

#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "server/device/cpu/codegen/lane_wrap.h"
#include "server/device/cpu/codegen/warp_calls.h"

namespace rouse::cpu::codegen {
namespace {

using namespace llvm::PatternMatch;

constexpr unsigned kDeepest = 12;
constexpr std::size_t kMostInstructions = 256, kFewestAccesses = 4;
constexpr std::int64_t kMostStride = 1 << 16;

// Of two conditions; `isAnd`: whether both must hold.
bool isLogic(const llvm::Value* condition, const llvm::Value*& one, const llvm::Value*& other, bool& isAnd) {
  llvm::Value *x = nullptr, *y = nullptr;
  isAnd = match(const_cast<llvm::Value*>(condition), m_LogicalAnd(m_Value(x), m_Value(y)));
  if (!isAnd && !match(const_cast<llvm::Value*>(condition), m_LogicalOr(m_Value(x), m_Value(y)))) return false;
  one = x;
  other = y;
  return true;
}

const llvm::Value* inverted(const llvm::Value* condition) {
  llvm::Value* inner = nullptr;
  return match(const_cast<llvm::Value*>(condition), m_Not(m_Value(inner))) ? inner : nullptr;
}

// Makes the test of a way. What is known of a thread that comes to an instruction need not hold for one that would not, so it is dropped.
class Test {
 public:
  Test(llvm::Function& from, llvm::Function& test, const LaneShapes& shapes, Beside beside, llvm::ArrayRef<const llvm::BasicBlock*> way)
      : shapes_(shapes), lanes_(lanesOf(beside)), way_(way), b(llvm::BasicBlock::Create(from.getContext(), "test", &test)) {
    for (const llvm::Argument& argument : from.args()) made_[&argument] = test.getArg(argument.getArgNo());
  }

  void demand(const llvm::Value* condition, bool wanted) {
    const llvm::Value *one = nullptr, *other = nullptr;
    bool isAnd = false;
    condition = onWay(condition, wanted);
    if (isLogic(condition, one, other, isAnd) && isAnd == wanted) {
      demand(one, wanted);
      return demand(other, wanted);
    }
    llvm::Value* const all = allAre(condition, wanted);
    (shapes_.of(condition).isUniform() ? common_ : own_).push_back(all);
  }
  void demandFit(const llvm::Instruction& extension) {
    own_.push_back(fitsExtended(b, extension, shapes_.of(&extension), lanes_, make(extended(extension))));
  }
  // What is the same for all first: it may be for all of a row.
  void end() {
    llvm::Value* all = b.getTrue();
    for (llvm::Value* each : common_) all = b.CreateAnd(all, each);
    for (llvm::Value* each : own_) all = b.CreateAnd(all, each);
    b.CreateRet(all);
  }

 private:
  // What the condition comes to on the way, and what is wanted of that.
  const llvm::Value* onWay(const llvm::Value* condition, bool& wanted) const {
    while (true) {
      if (const llvm::Value* inner = inverted(condition)) {
        condition = inner;
        wanted = !wanted;
      } else if (const auto* frozen = llvm::dyn_cast<llvm::FreezeInst>(condition)) {
        condition = frozen->getOperand(0);
      } else if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(condition)) {
        const auto* const here = llvm::find(way_, phi->getParent());
        condition = phi->getIncomingValueForBlock(*std::prev(here));  // it dominates what it decides, and is not the first
      } else {
        return condition;
      }
    }
  }

  // Whether it is what is wanted in all lanes.
  llvm::Value* allAre(const llvm::Value* condition, bool wanted) {
    const llvm::Value *one = nullptr, *other = nullptr;
    bool isAnd = false;
    condition = onWay(condition, wanted);
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(condition)) return b.getInt1(constant->isOne() == wanted);
    if (shapes_.of(condition).isUniform()) return wanted ? make(condition) : b.CreateNot(make(condition));
    if (isLogic(condition, one, other, isAnd)) {
      llvm::Value *const x = allAre(one, wanted), *const y = allAre(other, wanted);
      return isAnd == wanted ? b.CreateAnd(x, y) : b.CreateOr(x, y);
    }
    return allCompare(llvm::cast<llvm::ICmpInst>(*condition), wanted);
  }

  llvm::Value* allCompare(const llvm::ICmpInst& compare, bool wanted) {
    const bool isFirst = !shapes_.of(compare.getOperand(0)).isUniform();
    const llvm::Value* const number = compare.getOperand(isFirst ? 0 : 1);
    llvm::CmpInst::Predicate predicate = isFirst ? compare.getPredicate() : compare.getSwappedPredicate();
    if (!wanted) predicate = llvm::CmpInst::getInversePredicate(predicate);
    llvm::Value *const first = make(number), *const bound = make(compare.getOperand(isFirst ? 1 : 0));
    const std::int64_t span = shapes_.of(number).stride * (std::int64_t{lanes_} - 1);
    const auto constant = [&](std::int64_t value) { return llvm::ConstantInt::getSigned(first->getType(), value); };
    if (predicate == llvm::CmpInst::ICMP_EQ) return b.getFalse();
    if (predicate == llvm::CmpInst::ICMP_NE) {  // none of them is
      llvm::Value* const away = span > 0 ? b.CreateSub(bound, first) : b.CreateSub(first, bound);
      return b.CreateICmpUGT(away, constant(std::abs(span)));
    }
    // The outermost is, and none wraps between the first and the last.
    llvm::Value* const last = b.CreateAdd(first, constant(span));
    const bool isSigned = llvm::CmpInst::isSigned(predicate);
    const auto inOrder = isSigned ? (span > 0 ? llvm::CmpInst::ICMP_SLE : llvm::CmpInst::ICMP_SGE) : (span > 0 ? llvm::CmpInst::ICMP_ULE : llvm::CmpInst::ICMP_UGE);
    const bool isLess = predicate == llvm::CmpInst::ICMP_ULT || predicate == llvm::CmpInst::ICMP_ULE || predicate == llvm::CmpInst::ICMP_SLT || predicate == llvm::CmpInst::ICMP_SLE;
    return b.CreateAnd(b.CreateICmp(inOrder, first, last), b.CreateICmp(predicate, isLess == (span > 0) ? last : first, bound));
  }

  llvm::Value* make(const llvm::Value* value) {
    if (llvm::isa<llvm::Constant>(value)) return const_cast<llvm::Value*>(value);
    if (llvm::Value* const known = made_.lookup(value)) return known;
    llvm::Instruction* const copy = llvm::cast<llvm::Instruction>(value)->clone();
    for (llvm::Use& operand : copy->operands()) operand.set(make(operand.get()));
    copy->dropPoisonGeneratingFlags();
    copy->dropUnknownNonDebugMetadata({llvm::LLVMContext::MD_invariant_load});
    copy->setDebugLoc({});
    return made_[value] = b.Insert(copy);
  }

  const LaneShapes& shapes_;
  const unsigned lanes_;
  const llvm::ArrayRef<const llvm::BasicBlock*> way_;
  llvm::IRBuilder<> b;
  llvm::DenseMap<const llvm::Value*, llvm::Value*> made_;
  llvm::SmallVector<llvm::Value*, 8> common_, own_;
};

}  // namespace

LaneWay::LaneWay(llvm::Function& function, Beside beside) : function_(function), beside_(beside), shapes_(function, beside) { isWorth_ = choose(); }

// To elements that lie side by side if no number wraps.
bool LaneWay::isAccess(const llvm::Instruction& instruction) const {
  const llvm::Value* const pointer = llvm::getLoadStorePointerOperand(&instruction);
  return pointer != nullptr && isPlainAccess(instruction) && !shapes_.threadField(pointer) && shapes_.of(pointer).kind == Shape::Kind::affine;
}

std::uint64_t LaneWay::worthOf(const llvm::BasicBlock& block) const {
  constexpr std::uint64_t kAccess = std::uint64_t{1} << 32;
  return block.size() + kAccess * static_cast<std::uint64_t>(llvm::count_if(block, [&](const llvm::Instruction& instruction) { return isAccess(instruction); }));
}

bool LaneWay::choose() {
  if (!shapes_.loops().empty() || function_.getInstructionCount() > kMostInstructions) return false;
  struct Best {
    std::uint64_t worth = 0;
    const llvm::BasicBlock* next = nullptr;
  };
  llvm::DenseMap<const llvm::BasicBlock*, Best> best;  // of those from which there is such a way to the end
  for (const llvm::BasicBlock* block : llvm::post_order(&function_)) {
    const auto* const branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
    if (llvm::isa<llvm::ReturnInst>(block->getTerminator())) best[block] = {worthOf(*block), nullptr};
    if (branch == nullptr || (branch->isConditional() && !canTell(branch->getCondition()))) continue;
    Best chosen;
    for (const llvm::BasicBlock* next : llvm::successors(block)) {
      const auto found = best.find(next);
      if (found != best.end() && found->second.worth > chosen.worth) chosen = {found->second.worth, next};
    }
    if (chosen.next != nullptr) best[block] = {chosen.worth + worthOf(*block), chosen.next};
  }
  std::size_t accesses = 0, branches = 0;
  for (const llvm::BasicBlock* block = &function_.getEntryBlock(); block != nullptr; block = best[block].next) {
    if (!best.contains(block)) return false;
    blocks_.push_back(block);
    const auto* const branch = llvm::dyn_cast<llvm::BranchInst>(block->getTerminator());
    if (branch != nullptr && branch->isConditional() && !shapes_.of(branch->getCondition()).isUniform()) ++branches;
    for (const llvm::Instruction& instruction : *block) {
      if (isAccess(instruction)) ++accesses;
      // Its test is one of the way's.
      if (shapes_.of(&instruction).conditional && extended(instruction) != nullptr && !isAnywhere(extended(instruction))) return false;
    }
  }
  return branches != 0 && accesses >= kFewestAccesses;
}

// Whether it can be told for all lanes, before anything is done, by the first one's numbers.
bool LaneWay::canTell(const llvm::Value* condition, unsigned depth) const {
  const llvm::Value *one = nullptr, *other = nullptr;
  bool isAnd = false;
  const auto tell = [&](const llvm::Value* part) { return canTell(part, depth + 1); };
  if (llvm::isa<llvm::ConstantInt>(condition)) return true;
  if (depth == kDeepest) return false;
  if (const llvm::Value* inner = inverted(condition)) return tell(inner);
  if (const auto* frozen = llvm::dyn_cast<llvm::FreezeInst>(condition)) return tell(frozen->getOperand(0));
  if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(condition)) return llvm::all_of(phi->incoming_values(), tell);
  if (shapes_.of(condition).isUniform()) return isAnywhere(condition);
  if (isLogic(condition, one, other, isAnd)) return tell(one) && tell(other);
  const auto* const compare = llvm::dyn_cast<llvm::ICmpInst>(condition);
  return compare != nullptr && isBound(*compare);
}

// Of a number that grows from lane to lane with one that is the same for all.
bool LaneWay::isBound(const llvm::ICmpInst& compare) const {
  const Shape one = shapes_.of(compare.getOperand(0)), other = shapes_.of(compare.getOperand(1));
  const Shape& number = one.isUniform() ? other : one;
  llvm::Type* const type = compare.getOperand(0)->getType();
  if (!(type->isIntegerTy(32) || type->isIntegerTy(64)) || !(one.isUniform() || other.isUniform())) return false;
  if (number.kind != Shape::Kind::affine || number.conditional || number.stride == 0 || std::abs(number.stride) > kMostStride) return false;
  return llvm::all_of(compare.operands(), [&](const llvm::Value* operand) { return isAnywhere(operand); });
}

// Whether it can be computed before anything is done: of the context's numbers and parameters, without a fault.
bool LaneWay::isAnywhere(const llvm::Value* value, unsigned depth) const {
  const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr) return true;
  if (depth == kDeepest || !shapes_.of(instruction).isScalar()) return false;
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
    llvm::APInt offset(64, 0);
    const llvm::Value* const base = load->getPointerOperand()->stripAndAccumulateConstantOffsets(function_.getParent()->getDataLayout(), offset, true);
    if (!isPlainAccess(*load)) return false;
    if (llvm::isa<llvm::Argument>(base)) return true;
    // The block's context, which the thread's points to.
    const auto* const block = llvm::dyn_cast<llvm::LoadInst>(base);
    return block != nullptr && shapes_.threadField(block->getPointerOperand()) == offsetof(ThreadContext, block);
  }
  // Nothing that yields no value where it is not come to.
  if (instruction->isShift() && !llvm::isa<llvm::ConstantInt>(instruction->getOperand(1))) return false;
  const bool isOperation = (instruction->isBinaryOp() && !instruction->isIntDivRem()) || instruction->isCast() ||
                           llvm::isa<llvm::CmpInst, llvm::SelectInst, llvm::FreezeInst, llvm::GetElementPtrInst>(instruction);
  return isOperation && llvm::all_of(instruction->operands(), [&](const llvm::Value* operand) { return isAnywhere(operand, depth + 1); });
}

llvm::Function* LaneWay::addAlone() const {
  llvm::ValueToValueMapTy map;
  llvm::Function* const alone = llvm::CloneFunction(&function_, map);
  for (std::size_t k = 0; k + 1 < blocks_.size(); ++k) {
    auto* const block = llvm::cast<llvm::BasicBlock>(map[blocks_[k]]);
    auto* const next = llvm::cast<llvm::BasicBlock>(map[blocks_[k + 1]]);
    llvm::Instruction* const end = block->getTerminator();
    bool kept = false;
    for (llvm::BasicBlock* way : llvm::successors(block)) {
      if (way != next || kept) way->removePredecessor(block);
      kept |= way == next;
    }
    llvm::BranchInst::Create(next, end->getIterator());
    end->eraseFromParent();
  }
  llvm::EliminateUnreachableBlocks(*alone);
  llvm::BasicBlock& only = alone->getEntryBlock();
  while (llvm::BasicBlock* next = only.getSingleSuccessor()) llvm::MergeBlockIntoPredecessor(next);
  return alone;
}

llvm::Function* LaneWay::addTest(const llvm::Twine& name) const {
  auto* const type = llvm::FunctionType::get(llvm::Type::getInt1Ty(function_.getContext()), function_.getFunctionType()->params(), false);
  auto* const function = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, function_.getParent());
  for (const llvm::Attribute::AttrKind kind : {llvm::Attribute::NoUnwind, llvm::Attribute::NullPointerIsValid}) {
    if (function_.hasFnAttribute(kind)) function->addFnAttr(kind);
  }
  Test test(function_, *function, shapes_, beside_, blocks_);
  for (std::size_t k = 0; k < blocks_.size(); ++k) {
    const auto* const branch = llvm::dyn_cast<llvm::BranchInst>(blocks_[k]->getTerminator());
    if (branch != nullptr && branch->isConditional() && branch->getSuccessor(0) != branch->getSuccessor(1)) {
      test.demand(branch->getCondition(), branch->getSuccessor(0) == blocks_[k + 1]);
    }
    for (const llvm::Instruction& instruction : *blocks_[k]) {
      if (shapes_.of(&instruction).conditional && extended(instruction) != nullptr) test.demandFit(instruction);
    }
  }
  test.end();
  return function;
}

}  // namespace rouse::cpu::codegen
