#include "server/device/cpu/codegen/warp_rows.h"

#include <optional>

#include "server/device/cpu/abi.h"
#include "server/device/cpu/codegen/address_sums.h"
#include "server/device/cpu/codegen/context_fields.h"

namespace rouse::cpu::codegen {
namespace {

constexpr unsigned kDeepestNumber = 8;
constexpr std::uint32_t kInWarp = 32;
constexpr std::uint32_t kMostInRow = 1024;  // of a block (CUDA C++ Programming Guide, "Compute Capabilities")

// What a number that is made of the thread's own in x alone is for thread `x`; nothing where it is made of something else.
std::optional<std::uint64_t> numberOf(const llvm::Value* value, std::uint32_t x, const llvm::Function& function, unsigned depth = 0) {
  if (!value->getType()->isIntegerTy() || value->getType()->getIntegerBitWidth() > 64 || depth == kDeepestNumber) return std::nullopt;
  const unsigned bits = value->getType()->getIntegerBitWidth();
  const std::uint64_t all = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  if (const auto* number = llvm::dyn_cast<llvm::ConstantInt>(value)) return number->getZExtValue();
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(value)) {
    if (threadField(load->getPointerOperand(), function) != offsetof(ThreadContext, tid)) return std::nullopt;
    return x;
  }
  const auto* const operation = llvm::dyn_cast<llvm::Instruction>(value);
  if (operation == nullptr) return std::nullopt;
  const auto operand = [&](unsigned k) { return numberOf(operation->getOperand(k), x, function, depth + 1); };
  if (llvm::isa<llvm::ZExtInst, llvm::TruncInst, llvm::FreezeInst>(operation)) {
    const auto from = operand(0);
    return from ? std::optional(*from & all) : std::nullopt;
  }
  if (!operation->isBinaryOp()) return std::nullopt;
  const auto a = operand(0), b = operand(1);
  if (!a || !b) return std::nullopt;
  switch (operation->getOpcode()) {
    case llvm::Instruction::Add:
      return (*a + *b) & all;
    case llvm::Instruction::Sub:
      return (*a - *b) & all;
    case llvm::Instruction::Mul:
      return (*a * *b) & all;
    case llvm::Instruction::And:
      return *a & *b;
    case llvm::Instruction::Or:
      return *a | *b;
    case llvm::Instruction::Shl:
      return *b < bits ? std::optional((*a << *b) & all) : std::nullopt;
    case llvm::Instruction::LShr:
      return *b < bits ? std::optional(*a >> *b) : std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<std::int64_t> valueOf(const Sum& sum, std::uint32_t x, const llvm::Function& function) {
  std::uint64_t value = static_cast<std::uint64_t>(sum.constant);
  for (const auto& [term, factor] : sum.terms) {
    const auto number = numberOf(term, x, function);
    if (!number) return std::nullopt;
    value += *number * static_cast<std::uint64_t>(factor);
  }
  return static_cast<std::int64_t>(value);
}

}  // namespace

bool loadsFromRow(const llvm::LoadInst& load, const llvm::StoreInst& store) {
  const llvm::Function& function = *load.getFunction();
  const llvm::DataLayout& layout = function.getDataLayout();
  const auto bytes = static_cast<std::int64_t>(layout.getTypeStoreSize(store.getValueOperand()->getType()).getFixedValue());
  const Sum apart = difference(load.getPointerOperand(), store.getPointerOperand(), layout);
  Sum place;
  place.addPointer(load.getPointerOperand(), 1, layout);
  // What is known for all threads that there can be is known.
  for (std::uint32_t first = 0; first < kMostInRow; first += kInWarp) {
    const auto of = valueOf(place, first, function), own = valueOf(apart, first, function);
    if (!of || !own || *own < 0 || *own % bytes != 0 || *own / bytes >= kInWarp) return false;
    for (std::uint32_t lane = 1; lane < kInWarp; ++lane) {
      if (valueOf(place, first + lane, function) != *of || valueOf(apart, first + lane, function) != *own - lane * bytes) return false;
    }
  }
  return load.getType() == store.getValueOperand()->getType();
}

}  // namespace rouse::cpu::codegen
