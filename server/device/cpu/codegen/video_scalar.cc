// vadd, vsub, vabsdiff, vmin, vmax, vshl, vshr, vmad and vset on 32 bits, 16 or 8 (PTX ISA, "Scalar Video Instructions"), without negated
// operands of vmad. GPUs no longer have such instructions: ptxas makes sequences of others, alike for sm_80 to sm_100, and what those give is
// what programs get. Where that is not what the ISA says (what is too large for an unsigned word is cut off rather than saturated, an upper half
// is merged from the upper half of the result) comments below tell.
#include <limits>

#include "server/device/cpu/codegen/families.h"

namespace rouse::cpu::codegen {
namespace {

using llvm::Intrinsic::smax;
using llvm::Intrinsic::smin;
using ptx::Opcode;
using ptx::Part;

constexpr std::uint32_t kWide = 64;

struct Place {
  std::uint32_t shift, bits;
};

Place placeOf(Part part) {
  switch (part) {
    case Part::whole:
      return {0, 32};
    case Part::h0:
    case Part::h1:
      return {part == Part::h1 ? 16u : 0u, 16};
    default:
      return {8 * (static_cast<std::uint32_t>(part) - static_cast<std::uint32_t>(Part::b0)), 8};
  }
}

llvm::Value* wide(Emitter& e, llvm::Value* value, bool isSigned) {
  return isSigned ? e.b.CreateSExt(value, e.bits(kWide)) : e.b.CreateZExt(value, e.bits(kWide));
}

llvm::Value* source(Emitter& e, const Operand& operand, Type type) {
  const Place place = placeOf(operand.part);
  llvm::Value* const shifted = e.b.CreateLShr(e.read(operand, Type::b32), place.shift);
  return wide(e, e.b.CreateTrunc(shifted, e.bits(place.bits)), ptx::isSigned(type));
}

llvm::Value* shift(Emitter& e, const Instruction& i, llvm::Value* x, llvm::Value* amount) {
  llvm::Value* const bits = i.has(Modifier::wrap) ? e.b.CreateAnd(amount, e.integer(kWide, 31))
                                                  : e.b.CreateBinaryIntrinsic(smin, amount, e.integer(kWide, 32));
  return i.opcode == Opcode::vshl ? e.b.CreateShl(x, bits) : e.b.CreateAShr(x, bits);
}

bool isSignedProduct(const Instruction& i) { return ptx::isSigned(i.type(1)) || ptx::isSigned(i.type(2)); }

// Words count as signed, also where ISA and types say that they are not.
llvm::Value* multiplyAdd(Emitter& e, const Instruction& i, llvm::Value* x, llvm::Value* y) {
  const auto word = [&](llvm::Value* value) { return wide(e, e.b.CreateTrunc(value, e.bits(32)), true); };
  llvm::Value* sum = e.b.CreateAdd(e.b.CreateMul(word(x), word(y)), wide(e, e.read(i.operands[3], Type::b32), true));
  if (i.has(Modifier::po)) sum = e.b.CreateAdd(sum, e.integer(kWide, 1));
  const std::uint32_t scale = i.has(Modifier::shr7) ? 7 : i.has(Modifier::shr15) ? 15 : 0;
  return isSignedProduct(i) ? e.b.CreateAShr(sum, scale) : e.b.CreateLShr(sum, scale);
}

llvm::Value* combine(Emitter& e, const Instruction& i, llvm::Value* x, llvm::Value* y) {
  switch (i.opcode) {
    case Opcode::vadd:
      return e.b.CreateAdd(x, y);
    case Opcode::vsub:
      return e.b.CreateSub(x, y);
    case Opcode::vabsdiff:
      return e.b.CreateSub(e.b.CreateBinaryIntrinsic(smax, x, y), e.b.CreateBinaryIntrinsic(smin, x, y));
    case Opcode::vmin:
      return e.b.CreateBinaryIntrinsic(smin, x, y);
    case Opcode::vmax:
      return e.b.CreateBinaryIntrinsic(smax, x, y);
    case Opcode::vmad:
      return multiplyAdd(e, i, x, y);
    case Opcode::vset:
      return wide(e, compareAsSigned(e, i, x, y), false);
    default:
      return shift(e, i, x, y);
  }
}

bool isShift(const Instruction& i) { return i.opcode == Opcode::vshl || i.opcode == Opcode::vshr; }

llvm::Value* bound(Emitter& e, llvm::Value* value, std::int64_t least, std::int64_t most) {
  value = e.b.CreateBinaryIntrinsic(smax, value, e.integer(kWide, static_cast<std::uint64_t>(least)));
  return e.b.CreateBinaryIntrinsic(smin, value, e.integer(kWide, static_cast<std::uint64_t>(most)));
}

// What has been computed, as later steps take it: some go on with all 64 bits, others with the word.
llvm::Value* saturate(Emitter& e, const Instruction& i, llvm::Value* value, Place to, bool isSigned) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int32_t>::min(), kMost = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t kMostUnsigned = std::numeric_limits<std::uint32_t>::max();
  const auto word = [&](llvm::Value* v) { return wide(e, e.b.CreateTrunc(v, e.bits(32)), true); };
  const bool isSum = i.opcode == Opcode::vadd || i.opcode == Opcode::vsub;
  if (!i.has(Modifier::sat)) return isSum ? word(value) : value;
  if (i.opcode == Opcode::vmad) {  // whatever the destination's type
    return isSignedProduct(i) ? bound(e, value, kLeast, kMost) : bound(e, value, 0, kMostUnsigned);
  }
  if (isShift(i)) {  // of 34 bits, to a word also where less is stored
    constexpr std::uint32_t kUnused = kWide - 34;
    value = e.b.CreateAShr(e.b.CreateShl(value, kUnused), kUnused);
    return isSigned ? bound(e, value, kLeast, kMost) : word(bound(e, value, 0, kMostUnsigned));
  }
  if (to.bits < 32) {  // negative numbers as large ones
    const std::uint64_t most = (std::uint64_t{1} << (isSigned ? to.bits - 1 : to.bits)) - 1;
    return e.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, value, e.integer(kWide, most));
  }
  if (isSigned) return bound(e, value, kLeast, kMost);
  value = e.b.CreateBinaryIntrinsic(smax, value, e.integer(kWide, 0));  // too large ones are cut off
  return isSum ? word(value) : value;
}

}  // namespace

void lowerScalarVideo(Emitter& e, const Instruction& i) {
  const bool isSet = i.opcode == Opcode::vset;  // whose types are the sources' alone
  const Type typeX = isSet ? i.type(0) : i.type(1);
  const Type typeY = isSet ? i.type(1) : i.type(2);
  const Place to = placeOf(i.operands[0].part);
  const bool isSigned = ptx::isSigned(i.type(0));
  llvm::Value* const made = combine(e, i, source(e, i.operands[1], typeX), source(e, i.operands[2], typeY));
  llvm::Value* const kept = saturate(e, i, made, to, isSigned);
  llvm::Value* const third = i.operands.size() > 3 ? e.read(i.operands[3], Type::b32) : nullptr;
  llvm::Value* result = e.b.CreateTrunc(kept, e.bits(32));
  if (i.has(Modifier::add)) {
    result = e.b.CreateAdd(result, third);
  } else if (i.has(Modifier::min) || i.has(Modifier::max)) {
    const auto least = isSigned ? smin : llvm::Intrinsic::umin, most = isSigned ? smax : llvm::Intrinsic::umax;
    result = e.b.CreateTrunc(e.b.CreateBinaryIntrinsic(i.has(Modifier::min) ? least : most, kept, wide(e, third, isSigned)), e.bits(32));
  } else if (to.bits < 32) {
    const std::uint32_t mask = ((std::uint32_t{1} << to.bits) - 1) << to.shift;
    // The upper half comes from the upper half; the ISA says, from the lower.
    if (i.operands[0].part != Part::h1) result = e.b.CreateShl(result, to.shift);
    result = e.b.CreateOr(e.b.CreateAnd(result, mask), e.b.CreateAnd(third, ~mask));
  }
  e.write(i.operands[0], Type::b32, result);
}

}  // namespace rouse::cpu::codegen
