// Reading operands and writing destinations.
#include <bit>

#include "server/device/cpu/codegen/emitter.h"

namespace rouse::cpu::codegen {
namespace {

bool isVectorType(Type type) {
  return type == Type::f16x2 || type == Type::bf16x2 || type == Type::u16x2 || type == Type::s16x2;
}

}  // namespace

llvm::Type* Emitter::type(Type type) {
  switch (type) {
    case Type::f16:
      return b.getHalfTy();
    case Type::f32:
      return b.getFloatTy();
    case Type::f64:
      return b.getDoubleTy();
    case Type::f16x2:
      return llvm::FixedVectorType::get(b.getHalfTy(), 2);
    case Type::bf16x2:
    case Type::u16x2:
    case Type::s16x2:
      return llvm::FixedVectorType::get(b.getInt16Ty(), 2);
    default:
      return b.getIntNTy(ptx::bitsOf(type));
  }
}

// Pairs are put together of their elements and taken apart, so that nothing is left of them when operations on them have become operations on elements
// (simplify): lanes side by side have vectors of their own.
llvm::Value* Emitter::toBits(llvm::Value* value) {
  if (value->getType()->isIntegerTy()) return value;
  if (value->getType()->isVectorTy()) {
    const auto half = [&](std::uint64_t k) { return b.CreateZExt(toBits(b.CreateExtractElement(value, k)), b.getInt32Ty()); };
    return b.CreateOr(half(0), b.CreateShl(half(1), 16));
  }
  return b.CreateBitCast(value, b.getIntNTy(static_cast<unsigned>(value->getType()->getPrimitiveSizeInBits())));
}

llvm::Value* Emitter::fromBits(llvm::Value* value, Type wanted) {
  if (isVectorType(wanted)) {
    llvm::Type* const pair = type(wanted);
    llvm::Value* const word = b.CreateZExtOrTrunc(value, b.getInt32Ty());
    const auto half = [&](llvm::Value* from) { return b.CreateBitCast(b.CreateTrunc(from, b.getInt16Ty()), pair->getScalarType()); };
    llvm::Value* const low = b.CreateInsertElement(llvm::PoisonValue::get(pair), half(word), std::uint64_t{0});
    return b.CreateInsertElement(low, half(b.CreateLShr(word, 16)), std::uint64_t{1});
  }
  return b.CreateBitCast(b.CreateZExtOrTrunc(value, b.getIntNTy(ptx::bitsOf(wanted))), type(wanted));
}

// Constants in the text are 64 bits wide, or floating point of one of two widths, and take the type of their use (PTX
// ISA, "Constants").
llvm::Value* Emitter::constant(const Operand& operand, Type wanted) {
  if (operand.kind == Operand::Kind::integer) {
    if (wanted == Type::pred) return b.getInt1(operand.value != 0);
    if (!ptx::isFloat(wanted) || wanted == Type::bf16) {
      if (wanted == Type::b128) return b.CreateSExt(b.getInt64(operand.value), b.getInt128Ty());
      return fromBits(b.getInt64(operand.value), wanted);
    }
    return llvm::ConstantFP::get(type(wanted), static_cast<double>(static_cast<std::int64_t>(operand.value)));
  }
  const bool isSingle = operand.kind == Operand::Kind::float32;
  const double value = isSingle ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(operand.value)))
                                : std::bit_cast<double>(operand.value);
  switch (ptx::bitsOf(wanted)) {
    case 64:
      return fromBits(b.getInt64(std::bit_cast<std::uint64_t>(value)), wanted);
    case 32:
      return fromBits(b.getInt32(isSingle ? static_cast<std::uint32_t>(operand.value)
                                          : std::bit_cast<std::uint32_t>(static_cast<float>(value))),
                      wanted);
    default: {
      const bool brain = wanted == Type::bf16;
      llvm::APFloat number(value);
      bool inexact = false;
      number.convert(brain ? llvm::APFloat::BFloat() : llvm::APFloat::IEEEhalf(), llvm::APFloat::rmNearestTiesToEven,
                     &inexact);
      return fromBits(b.getInt16(static_cast<std::uint16_t>(number.bitcastToAPInt().getZExtValue())), wanted);
    }
  }
}

llvm::Value* Emitter::readRegister(std::uint32_t index) {
  return b.CreateLoad(registers_[index]->getAllocatedType(), registers_[index]);
}

void Emitter::writeRegister(std::uint32_t index, llvm::Value* value) { b.CreateStore(value, registers_[index]); }

llvm::Value* Emitter::read(const Operand& operand, Type wanted) {
  switch (operand.kind) {
    case Operand::Kind::reg: {
      llvm::Value* const value = readRegister(operand.index);
      if (wanted == Type::pred) return operand.negated ? b.CreateNot(value) : value;
      return fromBits(value, wanted);
    }
    case Operand::Kind::special:
      return fromBits(emitSpecialRegister(*this, operand), wanted);
    case Operand::Kind::symbol:
      return fromBits(symbolAddress(operand), wanted);
    case Operand::Kind::sink:
      return llvm::Constant::getNullValue(type(wanted));
    default:
      return constant(operand, wanted);
  }
}

llvm::Value* Emitter::readPredicate(const Operand& operand) { return read(operand, Type::pred); }

void Emitter::write(const Operand& operand, Type written, llvm::Value* value) {
  if (operand.kind != Operand::Kind::reg) return;
  llvm::Value* bits = toBits(value);
  llvm::Type* const stored = registers_[operand.index]->getAllocatedType();
  if (bits->getType() != stored) {
    bits = ptx::isSigned(written) && !isVectorType(written) ? b.CreateSExtOrTrunc(bits, stored)
                                                            : b.CreateZExtOrTrunc(bits, stored);
  }
  writeRegister(operand.index, bits);
}

}  // namespace rouse::cpu::codegen
