// What the lanes of a warp exchange, where they are a vector's: what the runtime does for fibers (runtime/warp_operations.cc).
#include <llvm/IR/IntrinsicsX86.h>

#include "server/device/cpu/codegen/lane_emitter.h"
#include "server/device/cpu/codegen/matrix_registers.h"
#include "server/device/cpu/codegen/warp_calls.h"

namespace rouse::cpu::codegen {
namespace {

std::uint64_t numberOf(const llvm::Value* value) { return llvm::cast<llvm::ConstantInt>(value)->getZExtValue(); }

}  // namespace

bool LaneEmitter::coversWarpCall(const llvm::CallInst& call) const {
  const WarpCall operation = *warpOperation(call);
  if (lanes_ != kWarp || !isOfWholeWarp(call)) return false;
  // That all lanes come together is the program's promise (`.aligned`).
  if (operation == WarpCall::matrix) return matrixVariable(call) != nullptr;
  if (operation != WarpCall::step && !shapes_.isConverged(call.getParent())) return false;
  // What is done must be known.
  switch (operation) {
    case WarpCall::shuffle:
    case WarpCall::vote:
    case WarpCall::match:
      return llvm::isa<llvm::ConstantInt>(call.getArgOperand(1));
    case WarpCall::reduce:
      return llvm::isa<llvm::ConstantInt>(call.getArgOperand(1)) && llvm::isa<llvm::ConstantInt>(call.getArgOperand(2));
    default:
      return true;
  }
}

void LaneEmitter::emitWarpCall(const llvm::CallInst& call) {
  Made& made = made_[&call];
  switch (*warpOperation(call)) {
    case WarpCall::sync:
    case WarpCall::step:
      return;
    case WarpCall::active:
      return set(made.scalar, b.getInt32(~std::uint32_t{0}));
    case WarpCall::shuffle:
      return set(made.vector, shuffled(call));
    case WarpCall::vote:
      return set(made.scalar, voted(call));
    case WarpCall::match:
      return set(made.vector, matched(call));
    case WarpCall::reduce:
      return set(made.scalar, reduced(call));
    case WarpCall::matrix:
      return emitMatrix(call);
  }
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
  llvm::Value* const got = permuted(vectorOf(call.getArgOperand(2)), b.CreateSelect(inRange, from, lanes));
  llvm::Type* const wide = widen(b.getInt64Ty());
  return b.CreateOr(b.CreateZExt(got, wide), b.CreateShl(b.CreateZExt(inRange, wide), std::uint64_t{32}));
}

// Of two vectors of 16 words, those that are asked for.
llvm::Value* LaneEmitter::permuted(llvm::Value* words, llvm::Value* lanes) {
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

llvm::Value* LaneEmitter::voted(const llvm::CallInst& call) {
  llvm::Value* const predicates = vectorOf(call.getArgOperand(2));
  llvm::Value* const bits =
      b.CreateBitCast(b.CreateICmpNE(predicates, llvm::Constant::getNullValue(predicates->getType())), b.getInt32Ty());
  llvm::Value* const none = b.CreateICmpEQ(bits, b.getInt32(0));
  llvm::Value* const all = b.CreateICmpEQ(bits, b.getInt32(~std::uint32_t{0}));
  switch (numberOf(call.getArgOperand(1))) {
    case 0:
      return b.CreateZExt(all, b.getInt32Ty());
    case 1:
      return b.CreateZExt(b.CreateNot(none), b.getInt32Ty());
    case 2:
      return b.CreateZExt(b.CreateOr(none, all), b.getInt32Ty());
    default:
      return bits;
  }
}

llvm::Value* LaneEmitter::matched(const llvm::CallInst& call) {
  llvm::Value* const values = vectorOf(call.getArgOperand(2));
  llvm::Type* const wide = widen(b.getInt64Ty());
  const auto sameAs = [&](unsigned lane) { return b.CreateICmpEQ(values, splat(b.CreateExtractElement(values, lane))); };
  if (numberOf(call.getArgOperand(1)) != 0) {
    llvm::Value* const all = b.CreateICmpEQ(b.CreateBitCast(sameAs(0), b.getInt32Ty()), b.getInt32(~std::uint32_t{0}));
    return splat(b.CreateSelect(all, b.getInt64((std::uint64_t{1} << 33) - 1), b.getInt64(0)));
  }
  llvm::Value* lanes = llvm::Constant::getNullValue(widen(b.getInt32Ty()));
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    llvm::Value* const bit = splat(b.getInt32(std::uint32_t{1} << lane));
    lanes = b.CreateOr(lanes, b.CreateSelect(sameAs(lane), bit, llvm::Constant::getNullValue(bit->getType())));
  }
  return b.CreateZExt(lanes, wide);
}

llvm::Value* LaneEmitter::reduced(const llvm::CallInst& call) {
  llvm::Value* const values = vectorOf(call.getArgOperand(3));
  const bool isSigned = numberOf(call.getArgOperand(2)) != 0;
  switch (numberOf(call.getArgOperand(1))) {
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

}  // namespace rouse::cpu::codegen
