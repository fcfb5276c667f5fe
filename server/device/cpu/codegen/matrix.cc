// Matrices that the lanes of a warp hold together: ldmatrix, stmatrix, movmatrix, mma, wmma, wgmma. A lane's registers go to memory, the
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

llvm::Value* wordAt(Emitter& e, llvm::Value* registers, std::uint32_t word) { return e.b.CreateConstInBoundsGEP1_32(e.b.getInt32Ty(), registers, word); }

// The first `words` of a fragment, to `at`. The registers of an f64 matrix are two words each.
void put(Emitter& e, llvm::Value* registers, const Operand& fragment, MatrixElement element, std::uint32_t at, std::uint32_t words) {
  const Type type = element == MatrixElement::f64 ? Type::b64 : Type::b32;
  const std::uint32_t size = ptx::bitsOf(type) / 32;
  for (std::uint32_t index = 0; index * size < words; ++index)
    e.b.CreateAlignedStore(e.read(registerAt(fragment, index), type), wordAt(e, registers, at + index * size), llvm::Align(4 * size));
}

// `words` at the beginning become a fragment; where that has more registers, the others hold the same again.
void take(Emitter& e, llvm::Value* registers, const Operand& fragment, MatrixElement element, std::uint32_t words) {
  const Type type = element == MatrixElement::f64 ? Type::b64 : Type::b32;
  const std::uint32_t size = ptx::bitsOf(type) / 32;
  for (std::uint32_t index = 0; index < registersOf(fragment); ++index)
    e.write(registerAt(fragment, index), type,
            e.b.CreateAlignedLoad(e.bits(ptx::bitsOf(type)), wordAt(e, registers, index * size % words), llvm::Align(4 * size)));
}

void call(Emitter& e, const MatrixOperation& operation, llvm::Value* registers) {
  e.callExternal("rouse_cpu_matrix", e.b.getVoidTy(), {e.thread(), e.b.getInt32(operation.code()), registers});
}

void putSparsity(Emitter& e, llvm::Value* registers, const Operand& metadata, std::uint32_t at) {
  e.b.CreateAlignedStore(e.read(metadata, Type::b32), wordAt(e, registers, at), llvm::Align(4));
}

void multiply(Emitter& e, const Instruction& i, const MatrixOperation& operation) {
  llvm::Value* const registers = e.matrixRegisters();
  put(e, registers, i.operands[3], operation.c, 0, operation.accumulatorWords(operation.c));
  put(e, registers, i.operands[1], operation.a, kMatrixA, operation.aWords());
  put(e, registers, i.operands[2], operation.b, kMatrixB, operation.bWords());
  if (operation.sparse) putSparsity(e, registers, i.operands[4], kMatrixSparsity);
  call(e, operation, registers);
  take(e, registers, i.operands[0], operation.d, operation.accumulatorWords(operation.d));
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

// One of a few integers that an instruction says itself.
std::int64_t constantOf(Emitter& e, const Instruction& i, std::size_t index, std::initializer_list<std::int64_t> allowed) {
  const auto value = static_cast<std::int64_t>(i.operands[index].value);
  if (std::ranges::find(allowed, value) == allowed.end()) e.unsupported(i, ("operand " + std::to_string(index + 1)).c_str());
  return value;
}

// mma.sp, wgmma.mma_async.sp: of four lanes as many bring metadata as a sparse A needs, and operand `selector` says which.
void setSparsity(Emitter& e, const Instruction& i, MatrixOperation& operation, std::size_t selector) {
  operation.sparse = i.has(Modifier::sp) || i.has(Modifier::sp_ordered);
  if (!operation.sparse) return;
  constexpr std::uint32_t kLongRow = 64;
  const bool isLong = operation.k * bitsOf(operation.a) / 8 == kLongRow, isSmall = bitsOf(operation.a) < 16;
  const auto choice = [&](std::initializer_list<std::int64_t> allowed) { return static_cast<std::uint32_t>(constantOf(e, i, selector, allowed)); };
  operation.selector = isLong && isSmall ? choice({0}) : isLong || isSmall ? choice({0, 1}) : choice({0, 1, 2, 3});
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
  llvm::Value* const registers = e.matrixRegisters();
  if (isStore) put(e, registers, fragment, operation.a, 0, operation.partWords());
  e.callExternal("rouse_cpu_matrix_part", e.b.getVoidTy(), {e.thread(), e.b.getInt32(operation.code()), registers, address.pointer, stride});
  if (!isStore) take(e, registers, fragment, operation.a, operation.partWords());
}

// The host address at which the block's own shared memory begins.
llvm::Value* ownShared(Emitter& e) {
  if (!e.module().clustered()) return e.sharedBase();
  return e.b.CreateGEP(e.b.getInt8Ty(), e.sharedBase(), e.b.CreateZExt(e.blockField(offsetof(BlockContext, clusterShared), 32), e.b.getInt64Ty()));
}

}  // namespace

void lowerMatrixMove(Emitter& e, const Instruction& i) {
  MatrixOperation operation;
  llvm::Value* const registers = e.matrixRegisters();
  if (i.opcode == ptx::Opcode::movmatrix) {
    operation.verb = MatrixVerb::transpose;
    put(e, registers, i.operands[1], MatrixElement::f16, 0, 1);
    call(e, operation, registers);
    return take(e, registers, i.operands[0], MatrixElement::f16, 1);
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
  if (isStore) put(e, registers, i.operands[1], MatrixElement::f16, 0, operation.count);
  e.b.CreateAlignedStore(address.pointer, wordAt(e, registers, kMatrixAddress), llvm::Align(8));
  call(e, operation, registers);
  if (!isStore) take(e, registers, i.operands[0], MatrixElement::f16, operation.count);
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
  setSparsity(e, i, operation, 5);
  multiply(e, i, operation);
}

void lowerWmma(Emitter& e, const Instruction& i) {
  if (!i.has(Modifier::mma)) return movePart(e, i, i.has(Modifier::store));
  MatrixOperation operation;
  setShape(operation, i);
  setElements(e, i, operation);
  multiply(e, i, operation);
}

namespace {

// A product is the warpgroup's: when one of its warps knows that it is done, the others have read shared memory as well, and it may be written again.
void waitForProducts(Emitter& e) {
  e.noteMisaligned();  // rather than keeping it while the thread waits
  llvm::Value *id = e.b.getInt32(0), *count = id;
  constexpr std::uint32_t kThreads = 128;
  const std::uint32_t most = e.source().maxThreads;
  if (most == 0 || most > kThreads) {
    id = e.b.CreateAdd(e.b.getInt32(kNumberedBarriers), e.b.CreateLShr(e.threadField(offsetof(ThreadContext, warp), 32), std::uint64_t{2}));
    count = e.b.getInt32(kThreads);
  }
  e.callExternal("rouse_cpu_barrier", e.b.getVoidTy(), {e.thread(), id, count});
}

}  // namespace

// wgmma (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions"). Each warp does its 16 of the 64 rows where it comes to the instruction: what lies in shared memory is there by
// then, or the program would not know that it is. So fences have nothing to order; all four wait for each other where they wait for products.
void lowerWarpgroup(Emitter& e, const Instruction& i) {
  if (i.has(Modifier::wait_group)) return waitForProducts(e);
  if (!i.has(Modifier::mma_async)) return;
  if (e.checked()) e.unsupported(i, "a product with matrices in shared memory where accesses are checked");
  MatrixOperation operation;
  operation.verb = MatrixVerb::multiplyShared;
  operation.m = 16, operation.n = i.columns;
  operation.c = operation.d = elementOf(e, i, i.type(0));
  operation.a = elementOf(e, i, i.type(1));
  operation.b = elementOf(e, i, i.type(2));
  operation.k = kSharedRowBytes * 8 / bitsOf(operation.a);
  const bool isSparse = i.has(Modifier::sp);
  if (isSparse) operation.k *= 2;
  setSparsity(e, i, operation, 4);
  operation.saturate = i.has(Modifier::satfinite);
  operation.aShared = i.operands[1].kind != Operand::Kind::vector;
  operation.bColumns = true;
  // Metadata and their selector come before.
  const std::size_t kAdds = isSparse ? 5 : 3, kSigns = kAdds + 1, kTransposed = kAdds + 3;
  if (i.operands.size() > kSigns) operation.negative = constantOf(e, i, kSigns, {1, -1}) != constantOf(e, i, kSigns + 1, {1, -1});
  if (i.operands.size() > kTransposed) {
    // A in registers is not transposed, and has no operand that says so.
    if (operation.aShared) operation.aColumns = constantOf(e, i, kTransposed, {0, 1}) == 1;
    operation.bColumns = constantOf(e, i, i.operands.size() - 1, {0, 1}) == 0;
  }

  llvm::Value* const registers = e.warpgroupRegisters();
  const std::uint32_t words = operation.accumulatorWords(operation.d);
  put(e, registers, i.operands[0], operation.d, 0, words);
  if (operation.aShared) {
    e.b.CreateAlignedStore(e.read(i.operands[1], Type::b64), wordAt(e, registers, kSharedA), llvm::Align(8));
  } else {
    put(e, registers, i.operands[1], operation.a, kSharedA, operation.aWords());
  }
  e.b.CreateAlignedStore(e.read(i.operands[2], Type::b64), wordAt(e, registers, kSharedB), llvm::Align(8));
  if (isSparse) putSparsity(e, registers, i.operands[3], kSharedSparsity);
  e.b.CreateAlignedStore(ownShared(e), wordAt(e, registers, kSharedBase), llvm::Align(8));
  e.b.CreateAlignedStore(e.b.CreateZExt(e.read(i.operands[kAdds], Type::pred), e.b.getInt32Ty()), wordAt(e, registers, kSharedAdds), llvm::Align(4));
  constexpr std::uint32_t kWarps = 4, kRows = 16;  // of a warpgroup; of a warp
  llvm::Value* const warp = e.b.CreateAnd(e.threadField(offsetof(ThreadContext, warp), 32), e.b.getInt32(kWarps - 1));
  e.b.CreateAlignedStore(e.b.CreateMul(warp, e.b.getInt32(kRows)), wordAt(e, registers, kSharedFirstRow), llvm::Align(4));
  call(e, operation, registers);
  take(e, registers, i.operands[0], operation.d, words);
}

}  // namespace rouse::cpu::codegen
