// Accesses to elements that lie in runs, which only lanes' numbers tell: rows of a block that a warp has several of, and what is computed so that neighbours are neighbours as a rule.
#include <llvm/Analysis/VectorUtils.h>

#include "server/device/cpu/codegen/lane_emitter.h"

namespace rouse::cpu::codegen {
namespace {

constexpr unsigned kShortestRun = 4;

}  // namespace

// Of addresses that lanes do not have alike, nor at one distance all of them: in which runs of lanes the elements are neighbours, or the same, as a rule. Where parts of a warp are rows of a block, their numbers say
// so; else it is of those that are computed of lanes' numbers, and not found in memory: they are often neighbours where that cannot be told before, as behind `x = i % width`, or where an index is kept
// within bounds. Nothing where it is not likely.
std::optional<LaneEmitter::Runs> LaneEmitter::runsOf(const llvm::Value* pointer, llvm::Type* type) const {
  const std::uint64_t bytes = layout_.getTypeStoreSize(type).getFixedValue();
  if (shapes_.of(pointer).isScalar() || bytes > sizeof(std::uint64_t) || type->isIntegerTy(1) || layout_.getTypeAllocSize(type).getFixedValue() != bytes || !isComputed(pointer)) return std::nullopt;
  for (unsigned lanes = kSideBySide; areOfWarp(beside_) && lanes >= kShortestRun; lanes /= 2) {
    const Shape shape = ofParts(lanes).of(pointer);
    if (shape.kind == Shape::Kind::affine && shape.stride == static_cast<std::int64_t>(bytes)) return Runs{lanes, false};
    if (shape.isUniform()) return Runs{lanes, true};
  }
  return Runs{kSideBySide, false};
}

bool LaneEmitter::isComputed(const llvm::Value* value, unsigned depth) const {
  constexpr unsigned kDeepest = 16;
  if (shapes_.of(value).isScalar()) return true;
  const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr || depth == kDeepest) return false;
  if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(instruction); call != nullptr && !call->doesNotAccessMemory()) return false;
  if (!llvm::isa<llvm::BinaryOperator, llvm::CastInst, llvm::GetElementPtrInst, llvm::SelectInst, llvm::FreezeInst, llvm::IntrinsicInst>(instruction)) return false;
  const bool isChoice = llvm::isa<llvm::SelectInst>(instruction);
  return llvm::all_of(instruction->operands(), [&](const llvm::Use& operand) {
    return llvm::isa<llvm::Function>(operand) || (isChoice && operand.getOperandNo() == 0) || isComputed(operand, depth + 1);
  });
}

// `near`, with where each run begins, where all lanes' elements turn out to be as they are in such runs, else `far`.
llvm::Value* LaneEmitter::accessByRuns(const Runs& runs, const llvm::Value* pointer, llvm::Type* type, llvm::function_ref<llvm::Value*(llvm::ArrayRef<llvm::Value*> firsts)> near,
                                       Access far) {
  // Of accesses at the same distance for all from one that lanes have each, the question is the same.
  const llvm::Value* base = pointer;
  while (const auto* moved = llvm::dyn_cast<llvm::GetElementPtrInst>(base)) {
    const bool isSame = llvm::all_of(moved->indices(), [&](const llvm::Value* index) { return shapes_.of(index).isUniform(); });
    if (!isSame || shapes_.of(moved->getPointerOperand()).isScalar()) break;
    base = moved->getPointerOperand();
  }
  // What lanes that are not here have may be no value.
  llvm::Value* const addresses = b.CreateFreeze(vectorOf(base));
  const std::function<llvm::Value*(const llvm::Value*, unsigned)> firstOf = [&](const llvm::Value* value, unsigned lane) -> llvm::Value* {
    if (value == base) return b.CreateExtractElement(addresses, std::uint64_t{lane});
    return onceMore(*llvm::cast<llvm::GetElementPtrInst>(value), [&](const llvm::Value* operand) { return operand->getType()->isPointerTy() ? firstOf(operand, lane) : scalarOf(operand); });
  };
  const std::uint64_t bytes = runs.same ? 0 : layout_.getTypeStoreSize(type).getFixedValue();
  llvm::SmallVector<int, kWarp> firstOfRun;
  llvm::SmallVector<llvm::Constant*, kWarp> offsets;
  for (unsigned lane = 0; lane < lanes_; ++lane) {
    firstOfRun.push_back(static_cast<int>(lane / runs.lanes * runs.lanes));
    offsets.push_back(b.getInt64(lane % runs.lanes * bytes));
  }
  llvm::Value* const wanted = b.CreateGEP(b.getInt8Ty(), b.CreateShuffleVector(addresses, firstOfRun), llvm::ConstantVector::get(offsets));
  llvm::Value* const same = b.CreateICmpEQ(addresses, wanted);
  // Without masks an access of neighbours is one of all of them.
  llvm::Value* const counts = hasMasks_ ? b.CreateSelect(mask_, same, llvm::Constant::getAllOnesValue(same->getType())) : b.CreateSelect(mask_, same, llvm::Constant::getNullValue(same->getType()));
  llvm::Value* const all = b.CreateICmpEQ(b.CreateBitCast(counts, b.getIntNTy(lanes_)), llvm::Constant::getAllOnesValue(b.getIntNTy(lanes_)));
  return either(all, [&] {
    llvm::SmallVector<llvm::Value*, kWarp / kShortestRun> firsts;
    for (unsigned lane = 0; lane < lanes_; lane += runs.lanes) firsts.push_back(firstOf(pointer, lane));
    return near(firsts);
  }, far);
}

// Of a vector of all lanes, one run's.
llvm::Value* LaneEmitter::runOf(const Runs& runs, llvm::Value* vector, unsigned run) {
  if (lanes_ == runs.lanes) return vector;
  llvm::SmallVector<int, kSideBySide> which;
  for (unsigned lane = 0; lane < runs.lanes; ++lane) which.push_back(static_cast<int>(run * runs.lanes + lane));
  return b.CreateShuffleVector(vector, which);
}

llvm::Value* LaneEmitter::loadRuns(const Runs& runs, llvm::Type* type, llvm::ArrayRef<llvm::Value*> firsts) {
  auto* const part = llvm::FixedVectorType::get(type, runs.lanes);
  llvm::SmallVector<llvm::Value*, kWarp / kShortestRun> parts;
  for (unsigned run = 0; run < firsts.size(); ++run) {
    llvm::Value* const here = hasMasks_ ? runOf(runs, mask_, run) : nullptr;
    if (runs.same) {
      // As an element of a vector, which no lane of a run that is not here loads.
      llvm::Value* const first = hasMasks_ ? static_cast<llvm::Value*>(b.CreateMaskedLoad(part, firsts[run], llvm::Align(1),
                                                                                          b.CreateInsertElement(llvm::Constant::getNullValue(here->getType()), b.CreateOrReduce(here), std::uint64_t{0}),
                                                                                          llvm::Constant::getNullValue(part)))
                                           : b.CreateInsertElement(llvm::PoisonValue::get(part), b.CreateAlignedLoad(type, firsts[run], llvm::Align(1)), std::uint64_t{0});
      parts.push_back(b.CreateShuffleVector(first, llvm::SmallVector<int, kSideBySide>(runs.lanes, 0)));
    } else {
      parts.push_back(hasMasks_ ? static_cast<llvm::Value*>(b.CreateMaskedLoad(part, firsts[run], llvm::Align(1), here, llvm::Constant::getNullValue(part)))
                                : b.CreateAlignedLoad(part, firsts[run], llvm::Align(1)));
    }
  }
  return parts.size() == 1 ? parts.front() : llvm::concatenateVectors(b, parts);
}

llvm::Value* LaneEmitter::storeRuns(const Runs& runs, llvm::Value* values, llvm::ArrayRef<llvm::Value*> firsts) {
  llvm::Value* last = nullptr;
  for (unsigned run = 0; run < firsts.size(); ++run) {
    llvm::Value* const part = runOf(runs, values, run);
    last = hasMasks_ ? static_cast<llvm::Value*>(b.CreateMaskedStore(part, firsts[run], llvm::Align(1), runOf(runs, mask_, run))) : b.CreateAlignedStore(part, firsts[run], llvm::Align(1));
  }
  return last;
}

}  // namespace rouse::cpu::codegen
