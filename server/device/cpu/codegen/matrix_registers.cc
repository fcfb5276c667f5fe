#include "server/device/cpu/codegen/matrix_registers.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Local.h>

#include <bitset>
#include <optional>

#include "server/device/cpu/codegen/warp_calls.h"
#include "server/device/cpu/matrix_form.h"

namespace rouse::cpu::codegen {
namespace {

using Words = std::bitset<kSharedWords>;

Words words(unsigned first, unsigned count) {
  Words set;
  for (unsigned k = 0; k < count; ++k) set.set(first + k);
  return set;
}

bool isMatrixCall(const llvm::CallInst& call) { return warpOperation(call) == WarpCall::matrix && llvm::isa<llvm::ConstantInt>(call.getArgOperand(1)); }

MatrixOperation operationOf(const llvm::CallInst& call) {
  return MatrixOperation::decode(static_cast<std::uint32_t>(llvm::cast<llvm::ConstantInt>(call.getArgOperand(1))->getZExtValue()));
}

// What an operation reads.
Words neededBy(const MatrixOperation& operation) {
  switch (operation.verb) {
    case MatrixVerb::multiply:
      return words(0, operation.accumulatorWords(operation.c)) | words(kMatrixA, operation.aWords()) | words(kMatrixB, operation.bWords()) | words(kMatrixSparsity, operation.sparse ? 1 : 0);
    case MatrixVerb::loadRows:
      return words(kMatrixAddress, 2);
    case MatrixVerb::storeRows:
      return words(0, operation.count) | words(kMatrixAddress, 2);
    case MatrixVerb::transpose:
      return words(0, 1);
    case MatrixVerb::load:
      return {};
    case MatrixVerb::store:
      return words(0, operation.partWords());
    case MatrixVerb::multiplyShared:
      // Whether there is something to add to is known when it runs.
      return words(0, operation.accumulatorWords(operation.d)) | words(kSharedA, operation.aShared ? 2 : operation.aWords()) | words(kSharedB, kSharedSparsity - kSharedB) |
             words(kSharedSparsity, operation.sparse ? 1 : 0);
  }
  return Words().set();
}

Words writtenBy(const MatrixOperation& operation) {
  switch (operation.verb) {
    case MatrixVerb::multiply:
    case MatrixVerb::multiplyShared:
      return words(0, operation.accumulatorWords(operation.d));
    case MatrixVerb::loadRows:
      return words(0, operation.count);
    case MatrixVerb::transpose:
      return words(0, 1);
    case MatrixVerb::load:
      return words(0, operation.partWords());
    default:
      return {};
  }
}

bool isNumberOfWords(std::uint64_t count) { return count == kMatrixWords || count == kSharedWords; }

const llvm::AllocaInst* variableOf(const llvm::Value* pointer) {
  const auto* const variable = llvm::dyn_cast<llvm::AllocaInst>(pointer->stripInBoundsConstantOffsets());
  const auto* const array = variable == nullptr ? nullptr : llvm::dyn_cast<llvm::ArrayType>(variable->getAllocatedType());
  return array != nullptr && array->getElementType()->isIntegerTy(32) && isNumberOfWords(array->getNumElements()) ? variable : nullptr;
}

bool isOnlyAccessed(const llvm::Value& pointer) {
  for (const llvm::User* user : pointer.users()) {
    const auto& instruction = *llvm::cast<llvm::Instruction>(user);
    if (instruction.isLifetimeStartOrEnd()) continue;
    if (const auto* moved = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) {
      if (!moved->isInBounds() || !moved->hasAllConstantIndices() || !isOnlyAccessed(*moved)) return false;
    } else if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) {
      if (!isMatrixCall(*call) || call->getArgOperand(2) != &pointer || !llvm::isa<llvm::AllocaInst>(pointer)) return false;
      // The address and the stride of a part are others.
      if (llvm::count(call->args(), &pointer) != 1) return false;
    } else if (matrixWordsOf(instruction).variable == nullptr) {
      return false;
    }
  }
  return true;
}

}  // namespace

unsigned matrixWordCount(const llvm::AllocaInst& variable) {
  return static_cast<unsigned>(llvm::cast<llvm::ArrayType>(variable.getAllocatedType())->getNumElements());
}

const llvm::AllocaInst* matrixVariable(const llvm::CallInst& call) { return isMatrixCall(call) ? variableOf(call.getArgOperand(2)) : nullptr; }

MatrixWords matrixWordsOf(const llvm::Instruction& access) {
  const llvm::Value* const pointer = llvm::getLoadStorePointerOperand(&access);
  if (pointer == nullptr) return {};
  const auto* const store = llvm::dyn_cast<llvm::StoreInst>(&access);
  if (store != nullptr ? !store->isSimple() || variableOf(store->getValueOperand()) != nullptr : !llvm::cast<llvm::LoadInst>(access).isSimple()) return {};
  const llvm::AllocaInst* const variable = variableOf(pointer);
  if (variable == nullptr) return {};
  const llvm::DataLayout& layout = access.getModule()->getDataLayout();
  llvm::APInt offset(64, 0);
  pointer->stripAndAccumulateConstantOffsets(layout, offset, false);
  llvm::Type* const type = store != nullptr ? store->getValueOperand()->getType() : access.getType();
  const std::uint64_t bytes = layout.getTypeStoreSize(type).getFixedValue();
  if (type->isVectorTy() || type->isAggregateType() || (bytes != 4 && bytes != 8) || offset.urem(bytes) != 0) return {};
  if (offset.ugt(sizeof(std::uint32_t) * matrixWordCount(*variable) - bytes)) return {};
  return {variable, static_cast<unsigned>(offset.getZExtValue() / 4), static_cast<unsigned>(bytes / 4)};
}

bool isMatrixRegisters(const llvm::AllocaInst& variable) { return variableOf(&variable) != nullptr && isOnlyAccessed(variable); }

namespace {

// Through a block: whether it needs no word but those that are known, of which there are more at its end.
bool goesThrough(const llvm::BasicBlock& block, const llvm::AllocaInst& variable, Words& known) {
  bool all = true;
  for (const llvm::Instruction& instruction : block) {
    if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction); call != nullptr && warpOperation(*call) == WarpCall::matrix) {
      if (call->getArgOperand(2) != &variable) continue;
      const MatrixOperation operation = operationOf(*call);
      all = all && (neededBy(operation) & ~known).none();
      known |= writtenBy(operation);
      continue;
    }
    const MatrixWords accessed = matrixWordsOf(instruction);
    if (accessed.variable != &variable) continue;
    const Words those = words(accessed.first, accessed.count);
    all = all && (!llvm::isa<llvm::LoadInst>(instruction) || (those & ~known).none());
    known |= those;
  }
  return all;
}

}  // namespace

bool keepsNothing(const llvm::AllocaInst& variable, const llvm::SmallPtrSetImpl<const llvm::BasicBlock*>& begins) {
  const llvm::Function& function = *variable.getFunction();
  llvm::DenseMap<const llvm::BasicBlock*, Words> after;  // known whichever way led there; of blocks that none has led to yet: all
  const auto before = [&](const llvm::BasicBlock& block) {
    Words known;
    if (llvm::pred_empty(&block) || begins.contains(&block)) return known;
    known.set();
    for (const llvm::BasicBlock* from : llvm::predecessors(&block)) {
      if (const auto found = after.find(from); found != after.end()) known &= found->second;
    }
    return known;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const llvm::BasicBlock& block : function) {
      Words known = before(block);
      goesThrough(block, variable, known);
      const auto [at, isNew] = after.try_emplace(&block, known);
      changed |= isNew || at->second != known;
      at->second = known;
    }
  }
  return llvm::all_of(function, [&](const llvm::BasicBlock& block) {
    Words known = before(block);
    return goesThrough(block, variable, known);
  });
}

void separateAddresses(llvm::Function& function) {
  llvm::SmallVector<llvm::GetElementPtrInst*, 32> addresses;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* const moved = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction);
    const llvm::AllocaInst* const variable = moved == nullptr ? nullptr : variableOf(moved);
    if (variable != nullptr && isMatrixRegisters(*variable)) addresses.push_back(moved);
  }
  for (llvm::GetElementPtrInst* address : addresses) {
    for (llvm::Use& use : llvm::make_early_inc_range(address->uses())) {
      auto* const user = llvm::cast<llvm::Instruction>(use.getUser());
      const MatrixWords accessed = matrixWordsOf(*user);
      if (accessed.variable == nullptr) continue;  // another address
      llvm::IRBuilder<> b(user);
      use.set(b.CreateConstInBoundsGEP1_32(b.getInt32Ty(), const_cast<llvm::AllocaInst*>(accessed.variable), accessed.first));
    }
  }
  // Those that others were made of come before them.
  for (llvm::GetElementPtrInst* address : llvm::reverse(addresses)) {
    if (address->use_empty()) address->eraseFromParent();
  }
}

namespace {

// A load right behind the choice of its address, one of which is such a variable's.
struct ChosenLoad {
  llvm::LoadInst* load = nullptr;
  llvm::PHINode* address = nullptr;
  std::int64_t offset = 0;  // from there
};

std::optional<ChosenLoad> chosenLoad(llvm::LoadInst& load) {
  llvm::APInt offset(64, 0);
  llvm::Value* const base = load.getPointerOperand()->stripAndAccumulateConstantOffsets(load.getModule()->getDataLayout(), offset, true);
  auto* const address = llvm::dyn_cast<llvm::PHINode>(base);
  if (address == nullptr || address->getParent() != load.getParent() || !load.isSimple()) return std::nullopt;
  if (llvm::none_of(address->incoming_values(), [](const llvm::Value* each) { return variableOf(each) != nullptr; })) return std::nullopt;
  for (const llvm::Instruction* before = address->getNextNode(); before != &load; before = before->getNextNode()) {
    if (before->mayHaveSideEffects()) return std::nullopt;
  }
  llvm::SmallPtrSet<const llvm::BasicBlock*, 4> ways;
  for (const llvm::BasicBlock* way : address->blocks()) {
    if (!ways.insert(way).second || !llvm::isa<llvm::BranchInst>(way->getTerminator())) return std::nullopt;
  }
  return ChosenLoad{&load, address, offset.getSExtValue()};
}

}  // namespace

void separateLoads(llvm::Function& function) {
  llvm::SmallVector<ChosenLoad, 4> found;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* const load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    if (const auto chosen = load == nullptr ? std::nullopt : chosenLoad(*load)) found.push_back(*chosen);
  }
  for (const auto& [load, address, offset] : found) {
    llvm::BasicBlock* const block = load->getParent();
    for (unsigned k = 0; k < address->getNumIncomingValues(); ++k) {
      if (address->getIncomingBlock(k)->getSingleSuccessor() == nullptr) llvm::SplitEdge(address->getIncomingBlock(k), block);
    }
    auto* const made = llvm::PHINode::Create(load->getType(), address->getNumIncomingValues(), "", block->begin());
    for (unsigned k = 0; k < address->getNumIncomingValues(); ++k) {
      llvm::IRBuilder<> b(address->getIncomingBlock(k)->getTerminator());
      llvm::Value* const at = b.CreateInBoundsGEP(b.getInt8Ty(), address->getIncomingValue(k), b.getInt64(static_cast<std::uint64_t>(offset)));
      made->addIncoming(b.CreateAlignedLoad(load->getType(), at, load->getAlign()), address->getIncomingBlock(k));
    }
    llvm::Value* const pointer = load->getPointerOperand();
    load->replaceAllUsesWith(made);
    load->eraseFromParent();
    llvm::RecursivelyDeleteTriviallyDeadInstructions(pointer);
  }
}

namespace {

// What an operation is given, or leaves, in the variable.
bool fills(const llvm::Instruction& instruction, const llvm::AllocaInst* variable) {
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) return matrixVariable(*call) == variable;
  return llvm::isa<llvm::StoreInst>(instruction) && matrixWordsOf(instruction).variable == variable;
}

llvm::Instruction* lastFill(llvm::BasicBlock& block, const llvm::AllocaInst* variable) {
  const auto found = llvm::find_if(llvm::reverse(block), [&](const llvm::Instruction& instruction) { return fills(instruction, variable); });
  return found == block.rend() ? nullptr : &*found;
}

// What has filled the variable last, whichever way led to the load; null where there are several.
llvm::Instruction* filledBy(llvm::LoadInst& load, const llvm::AllocaInst* variable, const llvm::DominatorTree& dominators) {
  for (llvm::Instruction* before = load.getPrevNode(); before != nullptr; before = before->getPrevNode()) {
    if (fills(*before, variable)) return before;
  }
  const auto* node = dominators.getNode(load.getParent());
  llvm::Instruction* fill = nullptr;
  while (node != nullptr && fill == nullptr) {
    node = node->getIDom();
    if (node != nullptr) fill = lastFill(*node->getBlock(), variable);
  }
  if (fill == nullptr) return nullptr;
  llvm::SmallPtrSet<llvm::BasicBlock*, 16> seen;
  llvm::SmallVector<llvm::BasicBlock*, 16> work(llvm::predecessors(load.getParent()));
  while (!work.empty()) {
    llvm::BasicBlock* const block = work.pop_back_val();
    if (block == fill->getParent() || !seen.insert(block).second) continue;
    if (lastFill(*block, variable) != nullptr) return nullptr;
    work.append(llvm::pred_begin(block), llvm::pred_end(block));
  }
  return fill;
}

}  // namespace

void gatherLoads(llvm::Function& function) {
  const llvm::DominatorTree dominators(function);
  llvm::SmallDenseMap<const llvm::AllocaInst*, bool> registers;
  llvm::SmallVector<std::pair<llvm::LoadInst*, llvm::Instruction*>, 32> late;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* const load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    const llvm::AllocaInst* const variable = load == nullptr ? nullptr : matrixWordsOf(*load).variable;
    if (variable == nullptr) continue;
    const auto [are, isNew] = registers.try_emplace(variable);
    if (isNew) are->second = isMatrixRegisters(*variable);
    if (!are->second) continue;
    llvm::Instruction* const fill = filledBy(*load, variable, dominators);
    if (fill != nullptr && llvm::isa<llvm::CallInst>(fill)) late.emplace_back(load, fill);
  }
  for (const auto& [load, fill] : llvm::reverse(late)) {
    load->moveAfter(fill);
    if (auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(load->getPointerOperand())) address->moveBefore(load);
  }
}

}  // namespace rouse::cpu::codegen
