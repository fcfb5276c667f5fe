// alloca, stacksave and stackrestore (PTX ISA, "Stack Manipulation Instructions"): memory of the thread's own stack, of a size that is
// known when the program runs. Its pages are touched one after the other as it grows (LLVM's stack probes), so that too much of it meets
// the guard below the stack, as recursion does.
#include <algorithm>

#include "server/device/cpu/codegen/families.h"

namespace rouse::cpu::codegen {
namespace {

constexpr std::uint64_t kLeastAlignment = 8;
constexpr std::uint64_t kGap = 16;  // behind what is taken, in checked code
constexpr std::uint64_t kMostAlignment = 1024;  // a part of the guard, so that none is stepped over

// No stack is that large, and no address minus as much wraps.
constexpr std::uint64_t kMoreThanAnyStack = std::uint64_t{1} << 40;

}  // namespace

void lowerStackAllocate(Emitter& e, const Instruction& i) {
  const std::uint64_t alignment = i.operands.size() > 2 ? i.operands[2].value : kLeastAlignment;
  if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > kMostAlignment) e.unsupported(i, "this alignment");
  llvm::Value* const bytes =
      e.b.CreateBinaryIntrinsic(llvm::Intrinsic::umin, e.read(i.operands[1], Type::u64), e.b.getInt64(kMoreThanAnyStack));
  llvm::AllocaInst* const made = e.b.CreateAlloca(e.b.getInt8Ty(), e.checked() ? e.b.CreateAdd(bytes, e.b.getInt64(kGap)) : bytes);
  made->setAlignment(llvm::Align(std::max(alignment, kLeastAlignment)));
  llvm::Value* const address = e.b.CreatePtrToInt(made, e.b.getInt64Ty());
  e.beginCheckedPiece(address, bytes);
  e.write(i.operands[0], Type::u64, address);
}

void lowerStackPointer(Emitter& e, const Instruction& i) {
  if (i.opcode == ptx::Opcode::stacksave) {
    return e.write(i.operands[0], Type::u64, e.b.CreatePtrToInt(e.b.CreateStackSave(), e.b.getInt64Ty()));
  }
  llvm::Value* const stack = e.read(i.operands[0], Type::u64);
  e.endCheckedPieces(stack);
  e.b.CreateStackRestore(e.b.CreateIntToPtr(stack, e.b.getPtrTy()));
}

}  // namespace rouse::cpu::codegen
