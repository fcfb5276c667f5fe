// Operations on matrices of a whole warp whose lanes are a vector's: their registers lie by word, then by lane, and the runtime is called once
// (runtime/matrix_of_warp.cc).
#include <algorithm>

#include "server/device/cpu/codegen/lane_emitter.h"
#include "server/device/cpu/codegen/matrix_registers.h"
#include "server/device/cpu/matrix_form.h"

namespace rouse::cpu::codegen {
namespace {

constexpr std::uint64_t kWordAlign = 64;  // of a word of all lanes

// Of pairs of words, the first ones or the second ones.
llvm::SmallVector<int, kWarp> everySecond(int from) {
  llvm::SmallVector<int, kWarp> which;
  for (unsigned lane = 0; lane < kWarp; ++lane) which.push_back(from + 2 * static_cast<int>(lane));
  return which;
}

llvm::SmallVector<int, 2 * kWarp> inTurns() {
  llvm::SmallVector<int, 2 * kWarp> which;
  for (unsigned lane = 0; lane < kWarp; ++lane) which.append({static_cast<int>(lane), static_cast<int>(kWarp + lane)});
  return which;
}

}  // namespace

llvm::AllocaInst* LaneEmitter::forLanes(llvm::Type* type, llvm::Align least) {
  llvm::IRBuilder<> at(entry_, entry_->begin());
  llvm::AllocaInst* const made = at.CreateAlloca(type);
  made->setAlignment(std::max(least, llvm::Align(kWordAlign)));
  return made;
}

llvm::Value* LaneEmitter::matrixWords(const llvm::AllocaInst* variable, unsigned word) {
  llvm::AllocaInst*& made = matrixWords_[variable];
  if (made == nullptr) made = forLanes(llvm::ArrayType::get(widen(b.getInt32Ty()), matrixWordCount(*variable)));
  return b.CreateConstInBoundsGEP1_32(widen(b.getInt32Ty()), made, word);
}

// False if it is no access to registers of matrices.
bool LaneEmitter::emitMatrixAccess(const llvm::Instruction& access) {
  const MatrixWords accessed = matrixWordsOf(access);
  if (accessed.variable == nullptr) return false;
  llvm::Type* const word = widen(b.getInt32Ty());
  llvm::Type* const pairs = llvm::FixedVectorType::get(b.getInt32Ty(), 2 * kWarp);
  const auto place = [&](unsigned k) { return matrixWords(accessed.variable, accessed.first + k); };
  if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&access)) {
    llvm::Value* value = vectorOf(store->getValueOperand());
    if (store->getValueOperand()->getType()->isPointerTy()) value = b.CreatePtrToInt(value, widen(b.getInt64Ty()));
    const auto put = [&](unsigned k, llvm::Value* words) { b.CreateMaskedStore(words, place(k), llvm::Align(kWordAlign), mask_); };
    if (accessed.count == 1) {
      put(0, b.CreateBitCast(value, word));
    } else {
      value = b.CreateBitCast(value, pairs);
      for (unsigned k = 0; k < 2; ++k) put(k, b.CreateShuffleVector(value, everySecond(static_cast<int>(k))));
    }
    return true;
  }
  llvm::Type* const type = widen(access.getType());
  llvm::Value* value = b.CreateAlignedLoad(word, place(0), llvm::Align(kWordAlign));
  if (accessed.count == 2) value = b.CreateShuffleVector(value, b.CreateAlignedLoad(word, place(1), llvm::Align(kWordAlign)), inTurns());
  if (access.getType()->isPointerTy()) {
    value = b.CreateIntToPtr(b.CreateBitCast(value, widen(b.getInt64Ty())), type);
  } else {
    value = b.CreateBitCast(value, type);
  }
  set(made_[&access].vector, value);
  return true;
}

void LaneEmitter::emitMatrix(const llvm::CallInst& call) {
  const llvm::AllocaInst* const variable = matrixVariable(call);
  llvm::SmallVector<llvm::Value*, 6> arguments{to_.getArg(0), call.getArgOperand(1), b.CreateBitCast(mask_, b.getInt32Ty()), matrixWords(variable, 0)};
  const bool isPart = call.arg_size() == 5;
  for (unsigned k = 3; k < call.arg_size(); ++k) {
    const llvm::Value* const argument = call.getArgOperand(k);
    llvm::AllocaInst* const each = forLanes(llvm::ArrayType::get(argument->getType(), kWarp));
    b.CreateAlignedStore(vectorOf(argument), each, llvm::Align(kWordAlign));
    arguments.push_back(each);
  }
  llvm::SmallVector<llvm::Type*, 6> types;
  for (const llvm::Value* argument : arguments) types.push_back(argument->getType());
  b.CreateCall(to_.getParent()->getOrInsertFunction(isPart ? "rouse_cpu_matrix_part_of_warp" : "rouse_cpu_matrix_of_warp",
                                                    llvm::FunctionType::get(b.getVoidTy(), types, false)),
               arguments);
}

}  // namespace rouse::cpu::codegen
