// set, setp, selp, slct (PTX ISA, "Comparison and Selection Instructions").
#include "server/device/cpu/codegen/families.h"
#include "server/device/cpu/codegen/floating_point.h"

namespace rouse::cpu::codegen {
namespace {

using Predicate = llvm::CmpInst::Predicate;

struct Comparison {
  Modifier modifier;
  Predicate asSigned, asUnsigned, asFloat;
};

// The comparisons without `u` are false when an operand is NaN, those with it are true.
constexpr Comparison kComparisons[] = {
    {Modifier::eq, Predicate::ICMP_EQ, Predicate::ICMP_EQ, Predicate::FCMP_OEQ},
    {Modifier::ne, Predicate::ICMP_NE, Predicate::ICMP_NE, Predicate::FCMP_ONE},
    {Modifier::lt, Predicate::ICMP_SLT, Predicate::ICMP_ULT, Predicate::FCMP_OLT},
    {Modifier::le, Predicate::ICMP_SLE, Predicate::ICMP_ULE, Predicate::FCMP_OLE},
    {Modifier::gt, Predicate::ICMP_SGT, Predicate::ICMP_UGT, Predicate::FCMP_OGT},
    {Modifier::ge, Predicate::ICMP_SGE, Predicate::ICMP_UGE, Predicate::FCMP_OGE},
    {Modifier::lo, Predicate::ICMP_ULT, Predicate::ICMP_ULT, Predicate::FCMP_OLT},
    {Modifier::ls, Predicate::ICMP_ULE, Predicate::ICMP_ULE, Predicate::FCMP_OLE},
    {Modifier::hi, Predicate::ICMP_UGT, Predicate::ICMP_UGT, Predicate::FCMP_OGT},
    {Modifier::hs, Predicate::ICMP_UGE, Predicate::ICMP_UGE, Predicate::FCMP_OGE},
    {Modifier::equ, Predicate::ICMP_EQ, Predicate::ICMP_EQ, Predicate::FCMP_UEQ},
    {Modifier::neu, Predicate::ICMP_NE, Predicate::ICMP_NE, Predicate::FCMP_UNE},
    {Modifier::ltu, Predicate::ICMP_SLT, Predicate::ICMP_ULT, Predicate::FCMP_ULT},
    {Modifier::leu, Predicate::ICMP_SLE, Predicate::ICMP_ULE, Predicate::FCMP_ULE},
    {Modifier::gtu, Predicate::ICMP_SGT, Predicate::ICMP_UGT, Predicate::FCMP_UGT},
    {Modifier::geu, Predicate::ICMP_SGE, Predicate::ICMP_UGE, Predicate::FCMP_UGE},
    {Modifier::num, Predicate::ICMP_EQ, Predicate::ICMP_EQ, Predicate::FCMP_ORD},
    {Modifier::isnan, Predicate::ICMP_NE, Predicate::ICMP_NE, Predicate::FCMP_UNO},
};

// i1, or <2 x i1> for pairs.
llvm::Value* compare(Emitter& e, const Instruction& i, Type type) {
  const Comparison* comparison = nullptr;
  for (const Comparison& candidate : kComparisons) {
    if (i.has(candidate.modifier)) comparison = &candidate;
  }
  const auto operand = [&](std::size_t index) {
    llvm::Value* value = e.read(i.operands[index], type);
    if (i.has(Modifier::ftz) && value->getType()->isFPOrFPVectorTy()) value = flush(e, value);
    return type == Type::bf16 || type == Type::bf16x2 ? widen(e, value, type) : value;
  };
  llvm::Value* const x = operand(1);
  llvm::Value* const y = operand(2);
  if (x->getType()->isFPOrFPVectorTy()) return e.b.CreateFCmp(comparison->asFloat, x, y);
  return e.b.CreateICmp(ptx::isSigned(type) ? comparison->asSigned : comparison->asUnsigned, x, y);
}

llvm::Value* combine(Emitter& e, const Instruction& i, llvm::Value* result) {
  if (i.operands.size() < 4) return result;
  llvm::Value* other = e.readPredicate(i.operands[3]);
  if (const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(result->getType())) {
    other = e.b.CreateVectorSplat(vector->getNumElements(), other);
  }
  if (i.has(Modifier::op_and)) return e.b.CreateAnd(result, other);
  if (i.has(Modifier::op_or)) return e.b.CreateOr(result, other);
  return e.b.CreateXor(result, other);
}

bool isPair(Type type) { return type == Type::f16x2 || type == Type::bf16x2; }

// setp p|q: q takes the opposite comparison, combined in the same way; of pairs p takes the low and q the high element.
void setPredicate(Emitter& e, const Instruction& i) {
  const Type type = i.type();
  llvm::Value* const result = compare(e, i, type);
  if (isPair(type)) {
    llvm::Value* const both = combine(e, i, result);
    e.write(i.operands[0], Type::pred, e.b.CreateExtractElement(both, std::uint64_t{0}));
    if (i.hasSecond) e.write(i.second, Type::pred, e.b.CreateExtractElement(both, std::uint64_t{1}));
    return;
  }
  llvm::Value* const first = combine(e, i, result);
  llvm::Value* const second = i.hasSecond ? combine(e, i, e.b.CreateNot(result)) : nullptr;
  e.write(i.operands[0], Type::pred, first);
  if (second != nullptr) e.write(i.second, Type::pred, second);
}

}  // namespace

void lowerSet(Emitter& e, const Instruction& i) {
  if (i.opcode == ptx::Opcode::setp) return setPredicate(e, i);
  // True is all ones in an integer, 1.0 in a floating-point destination.
  const Type to = i.type(0);
  llvm::Value* const result = combine(e, i, compare(e, i, i.type(1)));
  llvm::Value* value = nullptr;
  if (to == Type::bf16 || to == Type::bf16x2) {
    value = e.b.CreateSelect(result, bitsConstant(e, e.type(to), 0x3f80), bitsConstant(e, e.type(to), 0));
  } else if (ptx::isFloat(to) || isPair(to)) {
    value = e.b.CreateSelect(result, llvm::ConstantFP::get(e.type(to), 1.0), llvm::ConstantFP::get(e.type(to), 0.0));
  } else if (isPair(i.type(1))) {
    value = e.toBits(e.b.CreateSExt(result, llvm::FixedVectorType::get(e.bits(16), 2)));
  } else {
    value = e.b.CreateSExt(result, e.type(to));
  }
  e.write(i.operands[0], to, value);
}

void lowerSelect(Emitter& e, const Instruction& i) {
  const Type type = i.type();
  llvm::Value* const x = e.read(i.operands[1], type);
  llvm::Value* const y = e.read(i.operands[2], type);
  llvm::Value* condition = nullptr;
  if (i.opcode == ptx::Opcode::selp) {
    condition = e.readPredicate(i.operands[3]);
  } else {
    // slct: a if c >= 0, which -0 is and NaN is not.
    llvm::Value* c = e.read(i.operands[3], i.type(1));
    if (i.has(Modifier::ftz)) c = flush(e, c);
    condition = i.type(1) == Type::f32 ? e.b.CreateFCmpOGE(c, llvm::ConstantFP::get(c->getType(), 0.0))
                                       : e.b.CreateICmpSGE(c, e.b.getInt32(0));
  }
  e.write(i.operands[0], type, e.b.CreateSelect(condition, x, y));
}

}  // namespace rouse::cpu::codegen
