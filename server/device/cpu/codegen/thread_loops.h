// Loops over the threads of a block, in a function that gets the block's context (abi.h, BlockLoop).
#pragma once

#include <functional>

#include "server/device/cpu/codegen/module_emitter.h"

namespace rouse::cpu::codegen {

// void(BlockContext*, const std::byte* parameters)
llvm::Function* makeLoopFunction(llvm::Module&, llvm::StringRef name);

class ThreadLoops {
 public:
  // At the builder's place, which must be in the entry block of a function of makeLoopFunction(). The thread's context lives on
  // the stack, where LLVM dissolves it into the loops' counters once what is called in them is inlined.
  // `rows`: several blocks at once (KernelCode::rows). Each thread is told of a context of its block, which lives beside its own and dissolves as well.
  explicit ThreadLoops(llvm::IRBuilder<>&, bool rows = false);

  llvm::Value* block() const { return block_; }
  llvm::Value* parameters() const { return parameters_; }
  llvm::Value* thread() const { return thread_; }
  llvm::Value* threads() const { return threads_; }  // how many there are, i32

  // Three nested loops, z, y, x (with `rows` one over blocks around the last), around what `body` builds. Accesses of the module's group
  // (accessGroup) may be reordered between threads; only those.
  void forAll(const std::function<void()>& body);
  // The same, with `step` neighbours in x at once: what `body` builds runs the thread and those that follow it, as many as `body` is told (i32).
  void forAllBy(std::uint32_t step, const std::function<void(llvm::Value* count)>& body);
  // A warp at once, by the threads' numbers in the block: `tid` is the first thread's.
  void forWarps(const std::function<void(llvm::Value* count)>& body);
  // The first thread only.
  void forFirst(const std::function<void()>& body);
  // Once, behind all loops: what threads have noted in ThreadContext::misaligned goes to the block.
  void noteMisaligned();

 private:
  llvm::Value* field(llvm::Value* base, std::size_t offset);
  void set(std::size_t offset, llvm::Value* value);
  llvm::Value* number(std::size_t offset, std::uint32_t most);
  llvm::MDNode* parallel();
  void blocksOfRow(const std::function<void()>& body);
  void loop(llvm::Value* count, std::uint32_t step, llvm::MDNode* property, const std::function<void(llvm::Value*)>& body);

  llvm::IRBuilder<>& b;
  llvm::Function* function_;
  llvm::Value* block_;
  llvm::Value* own_ = nullptr;  // with rows: the context of the block that is being run
  llvm::BasicBlock* misaligned_ = nullptr;  // with rows: where to after a misaligned access
  llvm::Value* parameters_;
  llvm::Value* thread_ = nullptr;
  llvm::Value* threads_ = nullptr;
  llvm::Value* sizes_[3] = {};
};

}  // namespace rouse::cpu::codegen
