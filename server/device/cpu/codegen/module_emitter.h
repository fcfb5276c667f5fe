// One LLVM module in the making: a kernel with all it calls, or the functions that are called through pointers. The
// internal header of codegen/: LLVM's headers are included here and in *.cc of this folder only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wpedantic"
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#pragma GCC diagnostic pop

#include "server/device/cpu/abi.h"
#include "server/device/cpu/program.h"
#include "server/device/ptx/call_graph.h"
#include "server/device/ptx/check_module.h"
#include "server/device/ptx/module.h"

namespace rouse::cpu::codegen {

// Of a call: what is called finds nothing that other threads write meanwhile.
inline constexpr llvm::StringLiteral kObservesNobody = "rouse-observes-nobody";

// What functions that are called through pointers may do, whichever is called.
struct PointerFacts {
  bool mayExit = false;
  bool observeOthers = false;  // find what other threads write, so that a loop around the call may wait for it
};

class ModuleEmitter {
 public:
  // kernel: index into ptx::Module::functions; nullopt: the functions whose address is taken.
  ModuleEmitter(llvm::LLVMContext& context, const ptx::Module& source, const ptx::CallGraph& graph,
                std::optional<std::uint32_t> kernel, Code code = Code::plain);

  // Emits everything; the module is then complete but not optimized. Throws ptx::Failure.
  std::unique_ptr<llvm::Module> emit();

  // The name under which a function that is called through pointers is linked.
  static std::string pointerName(std::uint32_t function, Code code);
  // Of the kernel's body: void(ThreadContext*, const std::byte* parameters).
  static constexpr const char* kBodyName = "rouse.kernel.body";

  llvm::LLVMContext& context() { return context_; }
  llvm::Module& module() { return *module_; }
  const ptx::Module& source() const { return source_; }
  const ptx::CallGraph& graph() const { return graph_; }
  bool checked() const { return code_ == Code::checked; }
  bool clustered() const { return code_ == Code::clustered; }
  // Of the CheckedRanges, for the next instruction.
  std::uint32_t takeCheckedRange() { return nextRange_++ % kCheckedRanges; }

  llvm::Function* function(std::uint32_t index);         // to call directly
  llvm::Constant* functionPointer(std::uint32_t index);  // to store
  llvm::FunctionType* functionType(const ptx::Signature&);
  // A function of abi.h or of the mathematics that generated code calls.
  llvm::FunctionCallee external(llvm::StringRef name, llvm::Type* result, llvm::ArrayRef<llvm::Type*> arguments);
  // Whether a call of the function may end the thread.
  bool mayExit(std::uint32_t function) const;

  const PointerFacts& pointerFacts();

  // Offset of a static shared variable; nullopt: it begins where the static ones end (see dynamicSharedOffset).
  std::optional<std::uint32_t> sharedOffset(std::uint32_t variable) const;
  // Where dynamic shared memory begins; nullopt: known only at run time.
  std::optional<std::uint32_t> dynamicSharedOffset() const;

 private:
  llvm::LLVMContext& context_;
  const ptx::Module& source_;
  const ptx::CallGraph& graph_;
  std::optional<std::uint32_t> kernel_;
  const Code code_;
  std::uint32_t nextRange_ = 0;
  ptx::SharedLayout layout_;
  std::optional<PointerFacts> pointerFacts_;  // found out once
  std::unique_ptr<llvm::Module> module_;
  std::vector<llvm::Function*> functions_;
};

}  // namespace rouse::cpu::codegen
