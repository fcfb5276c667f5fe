#include "server/device/cpu/codegen/lane_wrap.h"

#include <llvm/IR/PatternMatch.h>

namespace rouse::cpu::codegen {
namespace {

struct Extension {
  const llvm::Value* number = nullptr;
  bool isSigned = false;
  std::uint64_t shift = 0;  // by which it is moved to the left as well
};

Extension extensionOf(const llvm::Instruction& instruction) {
  using namespace llvm::PatternMatch;
  llvm::Value* inner = nullptr;
  const llvm::APInt* shift = nullptr;
  if (llvm::isa<llvm::ZExtInst>(instruction)) return {instruction.getOperand(0)};
  if (llvm::isa<llvm::SExtInst>(instruction)) return {instruction.getOperand(0), true};
  if (match(&instruction, m_And(m_Value(inner), m_SpecificInt(0xffffffff)))) return {inner};
  if (match(&instruction, m_AShr(m_Shl(m_Value(inner), m_SpecificInt(32)), m_APInt(shift)))) return {inner, true, 32 - shift->getZExtValue()};
  return {};
}

}  // namespace

const llvm::Value* extended(const llvm::Instruction& instruction) { return extensionOf(instruction).number; }

llvm::Value* fitsExtended(llvm::IRBuilderBase& b, const llvm::Instruction& instruction, const Shape& shape, unsigned lanes, llvm::Value* number) {
  const Extension extension = extensionOf(instruction);
  const bool isSigned = extension.isSigned;
  const std::int64_t most = isSigned ? std::int64_t{INT32_MAX} : std::int64_t{UINT32_MAX}, least = isSigned ? std::int64_t{INT32_MIN} : 0;
  const std::int64_t span = (shape.stride >> extension.shift) * (std::int64_t{lanes} - 1);
  if (span > UINT32_MAX || span < -std::int64_t{UINT32_MAX}) return b.getFalse();
  const auto bound = [&](std::int64_t value) { return b.getInt32(static_cast<std::uint32_t>(value)); };
  llvm::Value* const low = b.CreateTrunc(number, b.getInt32Ty());
  return span >= 0 ? b.CreateICmp(isSigned ? llvm::CmpInst::ICMP_SLE : llvm::CmpInst::ICMP_ULE, low, bound(most - span))
                   : b.CreateICmp(isSigned ? llvm::CmpInst::ICMP_SGE : llvm::CmpInst::ICMP_UGE, low, bound(least - span));
}

}  // namespace rouse::cpu::codegen
