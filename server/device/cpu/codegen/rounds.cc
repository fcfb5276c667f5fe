#include "server/device/cpu/codegen/rounds.h"

#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "server/device/cpu/codegen/lane_calls.h"

namespace rouse::cpu::codegen {
namespace {

// Where a thread's own elements are closer to each other, it goes through memory by itself.
constexpr std::int64_t kLeastStep = 256;

bool isFar(const llvm::Value& step) {
  const auto* const known = llvm::dyn_cast<llvm::ConstantInt>(&step);
  return known == nullptr || known->getValue().abs().sge(kLeastStep);
}

// Nothing that waits, prints or may come back to other threads' rounds; faults and assertions end all of it.
bool isPlain(const llvm::Instruction& instruction) {
  const auto* const call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  return call == nullptr || llvm::isa<llvm::IntrinsicInst>(call) || call->doesNotAccessMemory() || endsLaunch(instruction);
}

bool takesFromMemory(const llvm::Loop& loop) {
  return llvm::any_of(loop.blocks(), [](const llvm::BasicBlock* block) {
    return llvm::any_of(*block, [](const llvm::Instruction& instruction) { return llvm::getLoadStorePointerOperand(&instruction) != nullptr; });
  });
}

// Bits of addresses, which at the end tell whether one was misaligned (Emitter::address): a word to keep.
bool collectsBits(const llvm::PHINode& phi, const llvm::Loop& loop) {
  const auto* const next = llvm::dyn_cast<llvm::BinaryOperator>(phi.getIncomingValueForBlock(loop.getLoopLatch()));
  return next != nullptr && next->getOpcode() == llvm::Instruction::Or && (next->getOperand(0) == &phi || next->getOperand(1) == &phi);
}

// What is added to `phi` to get `next`, as stepOf() says.
llvm::Value* stepTo(const llvm::Value* next, const llvm::PHINode* phi, const llvm::Loop& loop) {
  llvm::Value* step = nullptr;
  if (const auto* sum = llvm::dyn_cast<llvm::BinaryOperator>(next); sum != nullptr && sum->getOpcode() == llvm::Instruction::Add) {
    step = sum->getOperand(0) == phi ? sum->getOperand(1) : sum->getOperand(1) == phi ? sum->getOperand(0) : nullptr;
  } else if (const auto* moved = llvm::dyn_cast<llvm::GetElementPtrInst>(next)) {
    if (moved->getPointerOperand() == phi && moved->getNumIndices() == 1 && moved->getSourceElementType()->isIntegerTy(8) &&
        moved->getOperand(1)->getType()->isIntegerTy(64)) {
      step = moved->getOperand(1);
    }
  }
  if (step == nullptr || step == phi) return nullptr;
  auto* const instruction = llvm::dyn_cast<llvm::Instruction>(step);
  return instruction != nullptr && loop.contains(instruction) ? nullptr : step;
}

// Whether the next round is where a step leads from `phi`, and that is far, or at an end known outside of the loop: programs that fear for their numbers
// stop at the largest one there is (`i = i > most - step ? most : i + step`).
bool goesFar(const llvm::Value* next, const llvm::PHINode& phi, const llvm::Loop& loop, unsigned depth = 0) {
  constexpr unsigned kDeepest = 4;
  const auto* const choice = llvm::dyn_cast<llvm::SelectInst>(next);
  const llvm::Value* const step = stepTo(next, &phi, loop);
  if (step != nullptr) return isFar(*step);
  if (choice == nullptr || depth == kDeepest) return false;
  const auto isEnd = [&](const llvm::Value* value) { return loop.isLoopInvariant(value); };
  const auto isNext = [&](const llvm::Value* value) { return goesFar(value, phi, loop, depth + 1); };
  const llvm::Value *const one = choice->getTrueValue(), *const other = choice->getFalseValue();
  return (isNext(one) && (isNext(other) || isEnd(other))) || (isEnd(one) && isNext(other));
}

// LLVM computes anew in each round what came of several steps at once (`i += 4 * threads`).
void hoistSteps(llvm::Loop& loop) {
  if (loop.getLoopLatch() == nullptr) return;
  bool changed = false;
  for (const llvm::PHINode& phi : loop.getHeader()->phis()) {
    auto* const next = llvm::dyn_cast<llvm::Instruction>(phi.getIncomingValueForBlock(loop.getLoopLatch()));
    if (next == nullptr || !loop.contains(next)) continue;
    for (llvm::Value* operand : next->operands()) loop.makeLoopInvariant(operand, changed);
  }
}

// Whether threads divide work by it, and keep nothing from round to round but where they are (and whether an address was misaligned).
bool goesInRounds(const llvm::Loop& loop) {
  if (loop.getLoopLatch() == nullptr || !takesFromMemory(loop)) return false;
  bool goesOn = false;
  for (const llvm::PHINode& phi : loop.getHeader()->phis()) {
    if (collectsBits(phi, loop)) continue;
    if (!goesFar(phi.getIncomingValueForBlock(loop.getLoopLatch()), phi, loop)) return false;
    goesOn = true;
  }
  return goesOn;
}

}  // namespace

llvm::Value* stepOf(const llvm::PHINode* phi, const llvm::Loop& loop) {
  llvm::BasicBlock* const latch = loop.getLoopLatch();
  if (latch == nullptr || phi->getNumIncomingValues() != 2 || phi->getBasicBlockIndex(latch) < 0) return nullptr;
  return stepTo(phi->getIncomingValueForBlock(latch), phi, loop);
}

llvm::SmallVector<const llvm::Value*, 4> stepsOf(const llvm::PHINode& phi, const llvm::Loop& loop) {
  constexpr unsigned kMostSteps = 32;
  llvm::SmallVector<const llvm::Value*, 4> steps;
  const llvm::Value* sum = phi.getIncomingValueForBlock(loop.getLoopLatch());
  while (sum != &phi) {
    const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(sum);
    const auto* const moved = llvm::dyn_cast<llvm::GetElementPtrInst>(sum);
    const bool isSum = instruction != nullptr && (instruction->getOpcode() == llvm::Instruction::Add ||
                                                  (moved != nullptr && moved->getNumIndices() == 1 && moved->getSourceElementType()->isIntegerTy(8)));
    if (!isSum || steps.size() == kMostSteps) return {};
    const unsigned other = loop.isLoopInvariant(instruction->getOperand(1)) ? 1 : 0;
    if (!loop.isLoopInvariant(instruction->getOperand(other))) return {};
    steps.push_back(instruction->getOperand(other));
    sum = instruction->getOperand(1 - other);
  }
  return steps;
}

llvm::SmallVector<EndOfRound, 2> endsOfRounds(llvm::Function& function) {
  llvm::SmallVector<EndOfRound, 2> ends;
  if (!llvm::all_of(llvm::instructions(function), isPlain)) return ends;
  const llvm::DominatorTree dominators(function);
  const llvm::LoopInfo loops(dominators);
  for (llvm::Loop* loop : loops.getTopLevelLoops()) {
    hoistSteps(*loop);
    if (goesInRounds(*loop)) ends.push_back({loop->getLoopLatch(), loop->getHeader()});
  }
  return ends;
}

std::optional<Growth> growthOf(const llvm::Value* value, const llvm::DataLayout& layout, llvm::function_ref<std::optional<std::int64_t>(const llvm::Value*)> known, unsigned depth) {
  constexpr unsigned kDeepest = 12;
  const auto grows = known(value);
  if (grows && *grows == 0) return Growth{};
  // Short numbers come round again: `ring[(unsigned char)i]`.
  if (const auto* integer = llvm::dyn_cast<llvm::IntegerType>(value->getType()); integer != nullptr && integer->getBitWidth() < 32) return std::nullopt;
  if (grows) return Growth{*grows};
  const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr || depth == kDeepest) return std::nullopt;
  const auto of = [&](unsigned operand) { return growthOf(instruction->getOperand(operand), layout, known, depth + 1); };
  const auto constant = [&](unsigned operand) -> std::optional<std::int64_t> {
    const auto* const number = llvm::dyn_cast<llvm::ConstantInt>(instruction->getOperand(operand));
    return number != nullptr && number->getValue().isSignedIntN(32) ? std::optional(number->getSExtValue()) : std::nullopt;
  };
  const auto sum = [](std::optional<Growth> a, std::optional<Growth> b) -> std::optional<Growth> {
    if (!a || !b) return std::nullopt;
    if (a->times == 0 || b->times == 0) return a->times == 0 ? b : a;
    if (a->factor != b->factor || __builtin_add_overflow(a->times, b->times, &a->times)) return std::nullopt;
    return a;
  };
  const auto product = [](std::optional<Growth> a, std::optional<std::int64_t> b) -> std::optional<Growth> {
    return a && b && !__builtin_mul_overflow(a->times, *b, &a->times) ? a : std::nullopt;
  };
  switch (instruction->getOpcode()) {
    case llvm::Instruction::ZExt:
    case llvm::Instruction::SExt:
    case llvm::Instruction::Trunc:
    case llvm::Instruction::IntToPtr: return of(0);
    case llvm::Instruction::Add: return sum(of(0), of(1));
    case llvm::Instruction::Mul: {
      if (const auto number = constant(1)) return product(of(0), number);
      const auto one = of(0), other = of(1);
      if (!one || !other) return std::nullopt;
      if (one->factor == nullptr && other->times == 0) return Growth{one->times, instruction->getOperand(1)};
      return other->factor == nullptr && one->times == 0 ? std::optional(Growth{other->times, instruction->getOperand(0)}) : std::nullopt;
    }
    case llvm::Instruction::Shl: {
      const auto bits = constant(1);
      return bits && *bits >= 0 && *bits < 32 ? product(of(0), std::int64_t{1} << *bits) : std::nullopt;
    }
    case llvm::Instruction::GetElementPtr: {
      const auto& address = llvm::cast<llvm::GetElementPtrInst>(*instruction);
      if (address.getNumIndices() != 1) return std::nullopt;
      const llvm::TypeSize bytes = layout.getTypeAllocSize(address.getSourceElementType());
      return sum(of(0), product(of(1), static_cast<std::int64_t>(bytes.getFixedValue())));
    }
    default: return std::nullopt;
  }
}

std::optional<std::int64_t> growthOf(const llvm::Value* value, const llvm::PHINode& phi, const llvm::Loop& loop, const llvm::DataLayout& layout) {
  const auto growth = growthOf(value, layout, [&](const llvm::Value* known) -> std::optional<std::int64_t> {
    if (known == &phi) return 1;
    return loop.isLoopInvariant(known) ? std::optional(std::int64_t{0}) : std::nullopt;
  });
  // What a number makes it that is found in the program only may be nothing.
  return growth && growth->factor == nullptr ? std::optional(growth->times) : std::nullopt;
}

}  // namespace rouse::cpu::codegen
