// PTX computes addresses as 64-bit integers. LLVM knows little about a pointer made from an integer; this pass finds
// the base in the sum and rewrites  inttoptr(base + offset)  to  getelementptr(inttoptr(base), offset).
#include <llvm/IR/Dominators.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Transforms/Utils/Local.h>

#include "server/device/cpu/codegen/passes.h"

namespace rouse::cpu::codegen {
namespace {

constexpr unsigned kDeepestSum = 12;

struct Sum {
  llvm::SmallVector<llvm::Value*, 4> pointers;               // operands of ptrtoint: added
  llvm::SmallVector<llvm::Value*, 4> candidates;             // integers that may be addresses: added
  llvm::SmallVector<std::pair<llvm::Value*, bool>, 8> rest;  // true: subtracted
  bool failed = false;
};

// Scaled, extended and constant terms are offsets, not addresses.
bool looksLikeAddress(llvm::Value* value) {
  return llvm::isa<llvm::LoadInst>(value) || llvm::isa<llvm::Argument>(value) || llvm::isa<llvm::PHINode>(value) ||
         llvm::isa<llvm::SelectInst>(value) || llvm::isa<llvm::ExtractValueInst>(value) ||
         llvm::isa<llvm::CallInst>(value) || llvm::isa<llvm::AtomicRMWInst>(value);
}

void collect(llvm::Value* value, bool subtracted, unsigned depth, Sum& sum) {
  using namespace llvm::PatternMatch;
  llvm::Value *x = nullptr, *y = nullptr;
  if (depth < kDeepestSum &&
      (match(value, m_Add(m_Value(x), m_Value(y))) || match(value, m_DisjointOr(m_Value(x), m_Value(y))))) {
    collect(x, subtracted, depth + 1, sum);
    collect(y, subtracted, depth + 1, sum);
  } else if (depth < kDeepestSum && match(value, m_Sub(m_Value(x), m_Value(y)))) {
    collect(x, subtracted, depth + 1, sum);
    collect(y, !subtracted, depth + 1, sum);
  } else if (match(value, m_PtrToInt(m_Value(x)))) {
    subtracted ? void(sum.failed = true) : sum.pointers.push_back(x);
  } else if (!subtracted && looksLikeAddress(value)) {
    sum.candidates.push_back(value);
  } else {
    sum.rest.emplace_back(value, subtracted);
  }
}

llvm::Value* total(llvm::IRBuilder<>& b, const Sum& sum) {
  llvm::Value* result = nullptr;
  for (const auto& [value, subtracted] : sum.rest) {
    if (result == nullptr) {
      result = subtracted ? b.CreateNeg(value) : value;
    } else {
      result = subtracted ? b.CreateSub(result, value) : b.CreateAdd(result, value);
    }
  }
  return result == nullptr ? b.getInt64(0) : result;
}

// The integer as a pointer, made once, right behind the integer itself.
class Bases {
 public:
  llvm::Value* of(llvm::Value* integer) {
    llvm::Value*& made = made_[integer];
    if (made != nullptr) return made;
    llvm::IRBuilder<> b(integer->getContext());
    if (auto* argument = llvm::dyn_cast<llvm::Argument>(integer)) {
      llvm::BasicBlock& entry = argument->getParent()->getEntryBlock();
      b.SetInsertPoint(&entry, entry.getFirstInsertionPt());
    } else {
      auto* instruction = llvm::cast<llvm::Instruction>(integer);
      const auto after = instruction->getInsertionPointAfterDef();
      b.SetInsertPoint(instruction->getParent(), *after);
    }
    return made = b.CreateIntToPtr(integer, b.getPtrTy());
  }
  bool owns(llvm::Value* pointer) const {
    for (const auto& [integer, made] : made_) {
      if (made == pointer) return true;
    }
    return false;
  }

 private:
  llvm::DenseMap<llvm::Value*, llvm::Value*> made_;
};

// A loop's running address is its start plus what has been added since: splits the phi so that the start can be the
// base.
void splitInduction(llvm::Value* candidate, const llvm::DominatorTree& dominators, Sum& sum) {
  auto* phi = llvm::dyn_cast<llvm::PHINode>(candidate);
  if (phi == nullptr || phi->getNumIncomingValues() != 2) return;
  for (unsigned k = 0; k < 2; ++k) {
    llvm::Value* const start = phi->getIncomingValue(k);
    auto* next = llvm::dyn_cast<llvm::BinaryOperator>(phi->getIncomingValue(1 - k));
    if (next == nullptr || next->getOpcode() != llvm::Instruction::Add) continue;
    if (next->getOperand(0) != phi && next->getOperand(1) != phi) continue;
    if (!dominators.dominates(phi->getParent(), phi->getIncomingBlock(1 - k))) continue;
    if (llvm::isa<llvm::Constant>(start)) continue;
    Sum inner;
    collect(start, false, 0, inner);
    if (inner.failed || inner.pointers.size() + inner.candidates.size() != 1) continue;
    // start = base + inner; phi = base + inner + (phi - start)
    sum.candidates.clear();
    sum.pointers.append(inner.pointers);
    sum.candidates.append(inner.candidates);
    sum.rest.append(inner.rest.begin(), inner.rest.end());
    sum.rest.emplace_back(phi, false);
    sum.rest.emplace_back(start, true);
    return;
  }
}

}  // namespace

void recoverPointers(llvm::Function& function) {
  if (function.isDeclaration()) return;
  const llvm::DominatorTree dominators(function);
  Bases bases;
  llvm::SmallVector<llvm::WeakTrackingVH, 64> casts;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      if (llvm::isa<llvm::IntToPtrInst>(instruction) && instruction.getOperand(0)->getType()->isIntegerTy(64))
        casts.push_back(&instruction);
    }
  }
  for (const llvm::WeakTrackingVH& handle : casts) {
    auto* cast = llvm::dyn_cast_or_null<llvm::IntToPtrInst>(handle);
    if (cast == nullptr) continue;
    Sum sum;
    collect(cast->getOperand(0), false, 0, sum);
    if (sum.pointers.empty() && sum.candidates.size() == 1 && !sum.failed)
      splitInduction(sum.candidates[0], dominators, sum);
    if (sum.failed || sum.pointers.size() + sum.candidates.size() != 1) continue;
    if (sum.pointers.empty() && sum.candidates[0] == cast->getOperand(0)) continue;
    llvm::IRBuilder<> b(cast);
    llvm::Value* const base = sum.pointers.empty() ? bases.of(sum.candidates[0]) : sum.pointers[0];
    llvm::Value* const pointer = b.CreateGEP(b.getInt8Ty(), base, total(b, sum));
    cast->replaceAllUsesWith(pointer);
    llvm::RecursivelyDeleteTriviallyDeadInstructions(cast);
  }
}

}  // namespace rouse::cpu::codegen
