// Matrices that the lanes of a warp hold together: ldmatrix, stmatrix, movmatrix, mma, wmma. A lane's registers go to memory, the
// runtime does the operation when all lanes have come (abi.h), and what it leaves there is read back.
#include "server/device/cpu/codegen/families.h"
#include "server/device/cpu/matrix_form.h"

namespace rouse::cpu::codegen {
namespace {

struct Shape {
  Modifier name;
  std::uint32_t m, n, k;
};

constexpr Shape kShapes[] = {
    {Modifier::m8n8k4, 8, 8, 4},       {Modifier::m8n8k16, 8, 8, 16},      {Modifier::m8n8k32, 8, 8, 32},
    {Modifier::m8n8k128, 8, 8, 128},   {Modifier::m16n8k4, 16, 8, 4},      {Modifier::m16n8k8, 16, 8, 8},
    {Modifier::m16n8k16, 16, 8, 16},   {Modifier::m16n8k32, 16, 8, 32},    {Modifier::m16n8k64, 16, 8, 64},
    {Modifier::m16n8k128, 16, 8, 128}, {Modifier::m16n8k256, 16, 8, 256},  {Modifier::m16n16k8, 16, 16, 8},
    {Modifier::m16n16k16, 16, 16, 16}, {Modifier::m32n8k16, 32, 8, 16},    {Modifier::m8n32k16, 8, 32, 16},
};

void setShape(MatrixOperation& operation, const Instruction& i) {
  for (const Shape& shape : kShapes) {
    if (!i.has(shape.name)) continue;
    operation.m = shape.m, operation.n = shape.n, operation.k = shape.k;
  }
}

MatrixElement elementOf(Emitter& e, const Instruction& i, Type type) {
  switch (type) {
    case Type::f16:
      return MatrixElement::f16;
    case Type::bf16:
      return MatrixElement::bf16;
    case Type::tf32:
      return MatrixElement::tf32;
    case Type::f64:
      return MatrixElement::f64;
    case Type::e4m3:
      return MatrixElement::e4m3;
    case Type::e5m2:
      return MatrixElement::e5m2;
    case Type::s8:
      return MatrixElement::s8;
    case Type::u8:
      return MatrixElement::u8;
    case Type::s4:
      return MatrixElement::s4;
    case Type::u4:
      return MatrixElement::u4;
    case Type::b1:
      return MatrixElement::b1;
    case Type::f32:
      return MatrixElement::f32;
    case Type::s32:
      return MatrixElement::s32;
    default:
      e.unsupported(i, "this type of elements");
  }
}

// Register `index` of a fragment, which is written in braces unless it is one register.
const Operand& registerAt(const Operand& fragment, std::uint32_t index) {
  return fragment.kind == Operand::Kind::vector ? fragment.elements[index] : fragment;
}

std::uint32_t registersOf(const Operand& fragment) {
  return fragment.kind == Operand::Kind::vector ? static_cast<std::uint32_t>(fragment.elements.size()) : 1;
}

llvm::Value* wordAt(Emitter& e, std::uint32_t word) {
  return e.b.CreateConstInBoundsGEP1_32(e.b.getInt32Ty(), e.matrixRegisters(), word);
}

// The first `words` of a fragment, to `at`. The registers of an f64 matrix are two words each.
void put(Emitter& e, const Operand& fragment, MatrixElement element, std::uint32_t at, std::uint32_t words) {
  const Type type = element == MatrixElement::f64 ? Type::b64 : Type::b32;
  const std::uint32_t size = ptx::bitsOf(type) / 32;
  for (std::uint32_t index = 0; index * size < words; ++index)
    e.b.CreateAlignedStore(e.read(registerAt(fragment, index), type), wordAt(e, at + index * size), llvm::Align(4 * size));
}

// `words` at the beginning become a fragment; where that has more registers, the others hold the same again.
void take(Emitter& e, const Operand& fragment, MatrixElement element, std::uint32_t words) {
  const Type type = element == MatrixElement::f64 ? Type::b64 : Type::b32;
  const std::uint32_t size = ptx::bitsOf(type) / 32;
  for (std::uint32_t index = 0; index < registersOf(fragment); ++index)
    e.write(registerAt(fragment, index), type,
            e.b.CreateAlignedLoad(e.bits(ptx::bitsOf(type)), wordAt(e, index * size % words), llvm::Align(4 * size)));
}

void call(Emitter& e, const MatrixOperation& operation) {
  e.callExternal("rouse_cpu_matrix", e.b.getVoidTy(),
                 {e.thread(), e.b.getInt32(operation.code()), e.matrixRegisters()});
}

void multiply(Emitter& e, const Instruction& i, const MatrixOperation& operation) {
  put(e, i.operands[3], operation.c, 0, operation.accumulatorWords(operation.c));
  put(e, i.operands[1], operation.a, kMatrixA, operation.aWords());
  put(e, i.operands[2], operation.b, kMatrixB, operation.bWords());
  call(e, operation);
  take(e, i.operands[0], operation.d, operation.accumulatorWords(operation.d));
}

// wmma.mma of f16 names the types of D and C only.
void setElements(Emitter& e, const Instruction& i, MatrixOperation& operation) {
  const bool isShort = i.typeCount == 2;
  operation.d = elementOf(e, i, i.type(0));
  operation.a = isShort ? MatrixElement::f16 : elementOf(e, i, i.type(1));
  operation.b = isShort ? MatrixElement::f16 : elementOf(e, i, i.type(2));
  operation.c = elementOf(e, i, i.type(isShort ? 1 : 3));
  operation.saturate = i.has(Modifier::satfinite);
  operation.exclusive = i.has(Modifier::op_xor);
}

// ldmatrix, stmatrix: what one lane's address names.
constexpr std::uint32_t kRowBytes = 16;

// wmma.load, wmma.store
void movePart(Emitter& e, const Instruction& i, bool isStore) {
  MatrixOperation operation;
  operation.verb = isStore ? MatrixVerb::store : MatrixVerb::load;
  setShape(operation, i);
  operation.a = elementOf(e, i, i.type());
  operation.role = i.has(Modifier::a) ? MatrixRole::a : i.has(Modifier::b) ? MatrixRole::b : MatrixRole::accumulator;
  operation.aColumns = i.has(Modifier::col);
  const Operand& fragment = i.operands[isStore ? 1 : 0];
  const Emitter::Address address = e.address(i.operands[isStore ? 0 : 1], ptx::spaceOf(i));
  const std::uint32_t rows = operation.role == MatrixRole::b ? operation.k : operation.m;
  const std::uint32_t columns = operation.role == MatrixRole::a ? operation.k : operation.n;
  llvm::Value* const stride = i.operands.size() > 2 ? e.read(i.operands[2], Type::b32)
                                                    : e.b.getInt32(operation.aColumns ? rows : columns);
  // Lines of elements, `stride` elements apart.
  const std::uint32_t lines = operation.aColumns ? columns : rows, length = operation.aColumns ? rows : columns;
  llvm::Value* const before = e.b.CreateMul(e.b.CreateZExt(stride, e.b.getInt64Ty()), e.b.getInt64(lines - 1));
  llvm::Value* const elements = e.b.CreateAdd(before, e.b.getInt64(length));
  e.checkBytes(i, address,
               {i.operands[isStore ? 0 : 1], ptx::spaceOf(i), isStore ? AccessVerb::write : AccessVerb::read, 0, std::max(bitsOf(operation.a), 8u) / 8},
               e.b.CreateLShr(e.b.CreateMul(elements, e.b.getInt64(bitsOf(operation.a))), std::uint64_t{3}));
  if (isStore) put(e, fragment, operation.a, 0, operation.partWords());
  e.callExternal("rouse_cpu_matrix_part", e.b.getVoidTy(),
                 {e.thread(), e.b.getInt32(operation.code()), e.matrixRegisters(), address.pointer, stride});
  if (!isStore) take(e, fragment, operation.a, operation.partWords());
}

}  // namespace

void lowerMatrixMove(Emitter& e, const Instruction& i) {
  MatrixOperation operation;
  if (i.opcode == ptx::Opcode::movmatrix) {
    operation.verb = MatrixVerb::transpose;
    put(e, i.operands[1], MatrixElement::f16, 0, 1);
    call(e, operation);
    return take(e, i.operands[0], MatrixElement::f16, 1);
  }
  const bool isStore = i.opcode == ptx::Opcode::stmatrix;
  operation.verb = isStore ? MatrixVerb::storeRows : MatrixVerb::loadRows;
  operation.count = i.has(Modifier::x4) ? 4 : i.has(Modifier::x2) ? 2 : 1;
  operation.aColumns = i.has(Modifier::trans);
  // Which lanes' addresses count depends on the number of matrices; the runtime looks at their alignment.
  const Emitter::Address address = e.address(i.operands[isStore ? 0 : 1], ptx::spaceOf(i));
  if (e.module().checked()) {
    llvm::Value* const brings = e.b.CreateICmpULT(e.threadField(offsetof(ThreadContext, lane), 32), e.b.getInt32(8 * operation.count));
    e.when(brings, [&] {
      const AccessVerb verb = isStore ? AccessVerb::write : AccessVerb::read;
      e.checkAccess(i, address, {i.operands[isStore ? 0 : 1], ptx::spaceOf(i), verb, kRowBytes, kRowBytes});
    });
  }
  if (isStore) put(e, i.operands[1], MatrixElement::f16, 0, operation.count);
  e.b.CreateAlignedStore(address.pointer, wordAt(e, kMatrixAddress), llvm::Align(8));
  call(e, operation);
  if (!isStore) take(e, i.operands[0], MatrixElement::f16, operation.count);
}

void lowerMatrixMultiply(Emitter& e, const Instruction& i) {
  MatrixOperation operation;
  setShape(operation, i);
  setElements(e, i, operation);
  if (i.has(Modifier::m8n8k4) && operation.a == MatrixElement::f16) {
    operation.quadPairs = true;
    operation.aColumns = i.has(Modifier::col);
    operation.bColumns = i.has(Modifier::second_col);
  }
  multiply(e, i, operation);
}

void lowerWmma(Emitter& e, const Instruction& i) {
  if (!i.has(Modifier::mma)) return movePart(e, i, i.has(Modifier::store));
  MatrixOperation operation;
  setShape(operation, i);
  setElements(e, i, operation);
  multiply(e, i, operation);
}

}  // namespace rouse::cpu::codegen
