// mov, cvta, mapa, getctarank, isspacep (PTX ISA, "Data Movement and Conversion Instructions").
#include "server/device/cpu/codegen/families.h"

namespace rouse::cpu::codegen {
namespace {

// Local variables lie on the thread's stack: near the frame of the function that asks.
constexpr std::uint64_t kStackNeighbourhood = std::uint64_t{512} << 10;

// All elements are of one width (checked at parsing).
std::uint32_t widthOf(const Operand& vector, std::uint32_t bits) {
  return bits / static_cast<std::uint32_t>(vector.elements.size());
}

llvm::Value* pack(Emitter& e, const Operand& vector, std::uint32_t bits) {
  const std::uint32_t width = widthOf(vector, bits);
  llvm::Value* result = e.integer(bits, 0);
  std::uint32_t shift = 0;
  for (const Operand& element : vector.elements) {
    llvm::Value* const part = element.kind == Operand::Kind::reg ? e.readRegister(element.index)
                                                                 : e.integer(width, element.value);
    result = e.b.CreateOr(result, e.b.CreateShl(e.b.CreateZExt(part, e.bits(bits)), shift));
    shift += width;
  }
  return result;
}

void unpack(Emitter& e, const Operand& vector, llvm::Value* value) {
  const std::uint32_t width = widthOf(vector, value->getType()->getIntegerBitWidth());
  std::uint32_t shift = 0;
  for (const Operand& element : vector.elements) {
    if (element.kind == Operand::Kind::reg) {
      e.writeRegister(element.index, e.b.CreateTrunc(e.b.CreateLShr(value, shift), e.bits(width)));
    }
    shift += width;
  }
}

}  // namespace

void lowerMove(Emitter& e, const Instruction& i) {
  const Type type = i.type();
  const Operand& to = i.operands[0];
  const Operand& from = i.operands[1];
  const std::uint32_t bits = ptx::bitsOf(type);
  if (to.kind == Operand::Kind::vector) {
    llvm::Value* const value = e.toBits(e.read(from, type));
    return unpack(e, to, value);
  }
  if (from.kind == Operand::Kind::vector) {
    llvm::Value* const value = pack(e, from, bits);
    if (to.kind == Operand::Kind::reg) e.writeRegister(to.index, value);
    return;
  }
  e.write(to, type, e.read(from, type));
}

void lowerConvertAddress(Emitter& e, const Instruction& i) {
  const Space space = ptx::spaceOf(i);
  llvm::Value* const address = e.read(i.operands[1], Type::b64);
  e.write(i.operands[0], Type::b64, i.has(Modifier::to) ? e.fromGeneric(address, space) : e.toGeneric(address, space));
}

// Addresses of a cluster's shared memory count from its first block's (abi.h). But for clusters, a block is one of its own, so the only one whose shared memory there is.
void lowerMapAddress(Emitter& e, const Instruction& i) {
  llvm::Value* address = e.read(i.operands[1], i.type());
  if (e.module().clustered()) {
    const bool isGeneric = ptx::spaceOf(i) == Space::generic;
    if (isGeneric) address = e.fromGeneric(address, Space::shared);
    const std::uint32_t width = address->getType()->getIntegerBitWidth();
    llvm::Value* const rank = e.b.CreateZExt(e.read(i.operands[2], Type::b32), e.bits(width));
    address = e.b.CreateOr(e.b.CreateAnd(address, e.integer(width, kClusterStride - 1)), e.b.CreateMul(rank, e.integer(width, kClusterStride)));
    if (isGeneric) address = e.toGeneric(address, Space::shared);
  }
  e.write(i.operands[0], i.type(), address);
}

void lowerBlockRank(Emitter& e, const Instruction& i) {
  if (!e.module().clustered()) return e.write(i.operands[0], Type::b32, e.b.getInt32(0));
  llvm::Value* address = e.read(i.operands[1], i.type());
  if (ptx::spaceOf(i) == Space::generic) address = e.fromGeneric(address, Space::shared);
  e.write(i.operands[0], Type::b32, e.b.CreateZExtOrTrunc(e.b.CreateUDiv(address, e.integer(address->getType()->getIntegerBitWidth(), kClusterStride)), e.b.getInt32Ty()));
}

void lowerIsSpace(Emitter& e, const Instruction& i) {
  llvm::Value* const address = e.read(i.operands[1], Type::b64);
  const auto within = [&](llvm::Value* base, llvm::Value* bytes) {
    return e.b.CreateICmpULT(e.b.CreateSub(address, base), bytes);
  };
  const auto field = [&](std::size_t offset) { return e.b.CreateZExt(e.blockField(offset, 32), e.b.getInt64Ty()); };
  const bool clustered = e.module().clustered();
  // The block's own, or of its cluster.
  const auto isShared = [&](bool ofCluster = false) {
    llvm::Value* base = e.b.CreatePtrToInt(e.sharedBase(), e.b.getInt64Ty());
    llvm::Value* const bytes = field(offsetof(BlockContext, sharedBytes));
    if (!clustered) return within(base, bytes);
    if (!ofCluster) return within(e.b.CreateAdd(base, field(offsetof(BlockContext, clusterShared))), bytes);
    llvm::Value* const offset = e.b.CreateSub(address, base);
    llvm::Value* const blocks = field(offsetof(BlockContext, cluster) + offsetof(ClusterPlace, blocks));
    return e.b.CreateAnd(e.b.CreateICmpULT(offset, e.b.CreateMul(blocks, e.b.getInt64(kClusterStride))),
                         e.b.CreateICmpULT(e.b.CreateAnd(offset, e.b.getInt64(kClusterStride - 1)), bytes));
  };
  const auto isLocal = [&] {
    llvm::Value* const frame = e.b.CreatePtrToInt(
        e.b.CreateIntrinsic(llvm::Intrinsic::frameaddress, {e.b.getPtrTy()}, {e.b.getInt32(0)}), e.b.getInt64Ty());
    return within(e.b.CreateSub(frame, e.b.getInt64(kStackNeighbourhood)), e.b.getInt64(2 * kStackNeighbourhood));
  };
  const auto isConstant = [&] {
    llvm::Value* found = e.b.getFalse();
    const auto& variables = e.module().source().variables;
    for (std::uint32_t index = 0; index < variables.size(); ++index) {
      if (variables[index].space != Space::constant) continue;
      Operand symbol;
      symbol.kind = Operand::Kind::symbol;
      symbol.symbol = ptx::SymbolKind::variable;
      symbol.index = index;
      found = e.b.CreateOr(found, within(e.symbolAddress(symbol), e.b.getInt64(variables[index].bytes)));
    }
    return found;
  };
  llvm::Value* result = nullptr;
  switch (ptx::spaceOf(i)) {
    case Space::shared:
      result = isShared(i.has(Modifier::shared_cluster));
      break;
    case Space::local:
      result = isLocal();
      break;
    case Space::constant:
      result = isConstant();
      break;
    case Space::global:
      result = e.b.CreateNot(e.b.CreateOr(e.b.CreateOr(isShared(true), isLocal()), isConstant()));
      break;
    case Space::param:
      if (e.kernelParameters() == nullptr) e.unsupported(i, "a kernel's parameters in another function");
      result = within(e.b.CreatePtrToInt(e.kernelParameters(), e.b.getInt64Ty()), e.b.getInt64(e.source().parameterBytes));
      break;
    default:
      e.unsupported(i, "this state space");
  }
  e.write(i.operands[0], Type::pred, result);
}

}  // namespace rouse::cpu::codegen
