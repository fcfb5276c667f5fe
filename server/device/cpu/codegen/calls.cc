// Calls: of the module's functions, through pointers, and of the functions that the runtime provides. A function takes
// its thread, a pointer to each result, and its inputs (scalars by value, arrays by pointer to the caller's copy), and
// returns whether the thread has ended.
#include "server/device/cpu/codegen/families.h"

namespace rouse::cpu::codegen {
namespace {

llvm::Value* pointerTo(Emitter& e, const Operand& operand, std::uint32_t bytes) {
  if (operand.kind == Operand::Kind::symbol) return e.parameterPointer(operand.index);
  return e.slot(e.bits(bytes * 8), 8, "result");
}

llvm::Value* scalar(Emitter& e, const Operand& operand, std::uint32_t bytes) {
  llvm::IntegerType* const type = e.bits(bytes * 8);
  if (operand.kind == Operand::Kind::symbol) return e.b.CreateLoad(type, e.parameterPointer(operand.index));
  if (operand.kind == Operand::Kind::reg) return e.readRegister(operand.index);
  return llvm::ConstantInt::get(type, operand.value);
}

void callRuntime(Emitter& e, const ptx::Call& call, ptx::RuntimeFunction function) {
  const auto number = [&](std::size_t index, std::uint32_t bytes) { return scalar(e, call.arguments[index], bytes); };
  const auto pointer = [&](std::size_t index) { return e.b.CreateIntToPtr(number(index, 8), e.b.getPtrTy()); };
  llvm::Value* result = nullptr;
  switch (function) {
    case ptx::RuntimeFunction::vprintf:
      result = e.callExternal("rouse_cpu_vprintf", e.b.getInt32Ty(), {e.thread(), pointer(0), pointer(1)});
      break;
    case ptx::RuntimeFunction::assertFail:
      // The size of a character, which CUDA passes last, is always 1.
      e.callExternal("rouse_cpu_assert_fail", e.b.getVoidTy(),
                     {e.thread(), pointer(0), pointer(1), number(2, 4), pointer(3)});
      e.b.CreateUnreachable();
      return;
    case ptx::RuntimeFunction::malloc:
      result = e.b.CreatePtrToInt(e.callExternal("rouse_cpu_malloc", e.b.getPtrTy(), {e.thread(), number(0, 8)}),
                                  e.b.getInt64Ty());
      break;
    case ptx::RuntimeFunction::free:
      e.callExternal("rouse_cpu_free", e.b.getVoidTy(), {e.thread(), pointer(0)});
      return;
  }
  if (call.results.empty()) return;
  const Operand& to = call.results[0];
  if (to.kind == Operand::Kind::symbol) {
    e.b.CreateStore(result, e.parameterPointer(to.index));
  } else {
    e.writeRegister(to.index, result);
  }
}

}  // namespace

void lowerCall(Emitter& e, const Instruction& i) {
  const ptx::Call& call = e.source().calls[i.call];
  const ptx::Module& source = e.module().source();
  const bool isDirect = call.callee.kind == Operand::Kind::symbol;
  const ptx::Signature& signature = ptx::signatureOf(source, e.source(), call);
  if (isDirect) {
    const ptx::Function& callee = source.functions[ptx::resolveAlias(source, call.callee.index)];
    if (!callee.isDefined) return callRuntime(e, call, *ptx::runtimeFunctionNamed(callee.name));
  }
  std::vector<llvm::Value*> arguments{e.thread()};
  for (std::size_t k = 0; k < call.results.size(); ++k)
    arguments.push_back(pointerTo(e, call.results[k], signature.results[k].bytes));
  for (std::size_t k = 0; k < call.arguments.size(); ++k) {
    const ptx::Parameter& input = signature.inputs[k];
    arguments.push_back(input.isArray ? e.parameterPointer(call.arguments[k].index)
                                      : scalar(e, call.arguments[k], input.bytes));
  }
  llvm::Value* ended = nullptr;
  bool mayEnd = true;
  if (isDirect) {
    ended = e.b.CreateCall(e.module().function(call.callee.index), arguments);
    mayEnd = e.module().mayExit(call.callee.index);
  } else {
    llvm::Value* const target = e.b.CreateIntToPtr(e.readRegister(call.callee.index), e.b.getPtrTy());
    llvm::CallInst* const called = e.b.CreateCall(e.module().functionType(signature), target, arguments);
    const PointerFacts& pointers = e.module().pointerFacts();
    mayEnd = pointers.mayExit;
    if (!pointers.observeOthers) called->addFnAttr(llvm::Attribute::get(e.b.getContext(), kObservesNobody));
    ended = called;
  }
  if (mayEnd) e.when(ended, [&] { e.returnFromFunction(true); });
  for (std::size_t k = 0; k < call.results.size(); ++k) {
    const Operand& to = call.results[k];
    if (to.kind == Operand::Kind::reg) {
      e.writeRegister(to.index, e.b.CreateLoad(e.bits(signature.results[k].bytes * 8), arguments[1 + k]));
    }
  }
}

}  // namespace rouse::cpu::codegen
