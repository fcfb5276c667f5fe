// Which threads that need not go side by side are better done one after the other.
#include "server/device/cpu/codegen/context_fields.h"
#include "server/device/cpu/codegen/lane_emitter.h"
#include "server/device/cpu/codegen/rounds.h"
#include "server/device/cpu/codegen/warp_calls.h"

namespace rouse::cpu::codegen {

// Whether lanes do it one after the other, or by many instructions: a gather of less than words, for which there is none.
bool LaneEmitter::isOneByOne(const llvm::Instruction& access) const {
  const llvm::Value* const pointer = llvm::getLoadStorePointerOperand(&access);
  if (pointer == nullptr || !isPlainAccess(access) || shapes_.threadField(pointer)) return false;
  llvm::Type* const type = llvm::getLoadStoreType(const_cast<llvm::Instruction*>(&access));
  const Shape shape = shapes_.of(pointer);
  if (shape.isUniform() || isContiguous(pointer, type) || runsOf(pointer, type)) return false;
  return !hasMasks_ || layout_.getTypeStoreSize(type).getFixedValue() < sizeof(std::uint32_t);
}

// Whether it is computed of the sizes of blocks or the grid, or as far as those.
bool LaneEmitter::isOfThreads(const llvm::Value* step, unsigned depth) const {
  constexpr unsigned kDeepest = 6;
  constexpr std::int64_t kLeast = 32;
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(step)) return depth == 0 && constant->getValue().abs().sge(kLeast);
  const auto* const instruction = llvm::dyn_cast<llvm::Instruction>(step);
  if (instruction == nullptr || depth == kDeepest || llvm::isa<llvm::PHINode>(instruction)) return false;
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(instruction)) {
    const auto field = blockField(load->getPointerOperand(), from_);
    const auto isIn = [&](std::size_t first, std::size_t bytes) { return field && *field >= first && *field < first + bytes; };
    return isIn(offsetof(BlockContext, ntid), sizeof BlockContext::ntid) || isIn(offsetof(BlockContext, nctaid), sizeof BlockContext::nctaid);
  }
  return llvm::any_of(instruction->operands(), [&](const llvm::Value* operand) { return isOfThreads(operand, depth + 1); });
}

// Whether threads divide work by the loop: what it goes by is moved on by such, once or, unrolled, several times a round.
bool LaneEmitter::dividesWork(const llvm::Loop& loop) const {
  return llvm::any_of(loop.getHeader()->phis(), [&](const llvm::PHINode& phi) {
    return llvm::any_of(stepsOf(phi, loop), [&](const llvm::Value* step) { return isOfThreads(step); });
  });
}

// Whether there is a loop that does little but such accesses: what is done side by side around them does not make up for them, less where lanes go round each as often as they like. Not one by which threads divide
// work: a thread alone goes through memory in strides.
bool LaneEmitter::isBetterAlone() const {
  constexpr std::size_t kLittle = 16, kLittleTogether = 12;  // instructions for each
  return llvm::any_of(shapes_.loops().getLoopsInPreorder(), [&](const llvm::Loop* loop) {
    if (!loop->isInnermost() || dividesWork(*loop)) return false;
    std::size_t instructions = 0, accesses = 0;
    for (const llvm::BasicBlock* block : loop->blocks()) {
      instructions += block->size();
      accesses += static_cast<std::size_t>(llvm::count_if(*block, [&](const llvm::Instruction& instruction) { return isOneByOne(instruction); }));
    }
    return accesses > 0 && instructions <= (shapes_.isCommon(loop) ? kLittleTogether : kLittle) * accesses;
  });
}

}  // namespace rouse::cpu::codegen
