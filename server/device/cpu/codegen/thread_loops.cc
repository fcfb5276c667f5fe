#include "server/device/cpu/codegen/thread_loops.h"

#include <llvm/IR/MDBuilder.h>

#include "server/device/cpu/codegen/passes.h"

namespace rouse::cpu::codegen {
namespace {

constexpr std::uint32_t kMostThreads = 1024;  // of a block

}  // namespace

llvm::Function* makeLoopFunction(llvm::Module& module, llvm::StringRef name) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* const pointer = llvm::PointerType::getUnqual(context);
  auto* const function = llvm::Function::Create(llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer}, false),
                                                llvm::GlobalValue::ExternalLinkage, name, module);
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addFnAttr(llvm::Attribute::NullPointerIsValid);
  function->addFnAttr("probe-stack", "inline-asm");  // what is inlined here need not have it
  function->addParamAttr(0, llvm::Attribute::NoAlias);
  function->addParamAttr(1, llvm::Attribute::NoAlias);
  function->addParamAttr(1, llvm::Attribute::ReadOnly);
  llvm::BasicBlock::Create(context, "entry", function);
  return function;
}

ThreadLoops::ThreadLoops(llvm::IRBuilder<>& builder, bool rows)
    : b(builder), function_(b.GetInsertBlock()->getParent()), block_(function_->getArg(0)), parameters_(function_->getArg(1)) {
  llvm::AllocaInst* const thread = b.CreateAlloca(llvm::ArrayType::get(b.getInt8Ty(), sizeof(ThreadContext)));
  thread->setAlignment(llvm::Align(alignof(ThreadContext)));
  thread_ = thread;
  if (rows) {
    llvm::AllocaInst* const own = b.CreateAlloca(llvm::ArrayType::get(b.getInt8Ty(), sizeof(BlockContext)));
    own->setAlignment(llvm::Align(alignof(BlockContext)));
    b.CreateMemCpy(own, own->getAlign(), block_, own->getAlign(), sizeof(BlockContext));
    own_ = own;
    misaligned_ = llvm::BasicBlock::Create(b.getContext(), "misaligned", function_);
  }
  b.CreateStore(rows ? own_ : block_, field(thread, offsetof(ThreadContext, block)));
  b.CreateStore(llvm::ConstantPointerNull::get(b.getPtrTy()), field(thread, offsetof(ThreadContext, runtime)));
  set(offsetof(ThreadContext, misaligned), b.getInt32(0));
  threads_ = number(offsetof(BlockContext, threads), kMostThreads);
  for (unsigned dimension = 0; dimension < 3; ++dimension) sizes_[dimension] = number(offsetof(BlockContext, ntid) + 4 * dimension, kMostThreads);
}

void ThreadLoops::forAll(const std::function<void()>& body) {
  forAllBy(1, [&](llvm::Value*) { body(); });
}

void ThreadLoops::forAllBy(std::uint32_t step, const std::function<void(llvm::Value*)>& body) {
  const auto [x, y, z] = sizes_;
  loop(z, 1, nullptr, [&, x = x, y = y](llvm::Value* tidZ) {
    set(offsetof(ThreadContext, tid) + 8, tidZ);
    loop(y, 1, nullptr, [&](llvm::Value* tidY) {
      set(offsetof(ThreadContext, tid) + 4, tidY);
      // No more than 1024: nothing wraps.
      llvm::Value* const row = b.CreateMul(x, b.CreateAdd(tidY, b.CreateMul(y, tidZ, "", true, true), "", true, true), "", true, true);
      blocksOfRow([&] {
        loop(x, step, step == 1 ? parallel() : nullptr, [&](llvm::Value* tidX) {
          set(offsetof(ThreadContext, tid), tidX);
          llvm::Value* const linear = b.CreateAdd(row, tidX, "", true, true);
          set(offsetof(ThreadContext, linear), linear);
          set(offsetof(ThreadContext, lane), b.CreateAnd(linear, b.getInt32(31)));
          set(offsetof(ThreadContext, warp), b.CreateLShr(linear, 5));
          body(b.CreateSub(x, tidX, "", true, true));
        });
      });
    });
  });
}

void ThreadLoops::forWarps(const std::function<void(llvm::Value*)>& body) {
  const auto [x, y, z] = sizes_;
  loop(threads_, 32, nullptr, [&, x = x, y = y](llvm::Value* linear) {
    llvm::Value* const row = b.CreateUDiv(linear, x);
    set(offsetof(ThreadContext, tid), b.CreateURem(linear, x));
    set(offsetof(ThreadContext, tid) + 4, b.CreateURem(row, y));
    set(offsetof(ThreadContext, tid) + 8, b.CreateUDiv(row, y));
    set(offsetof(ThreadContext, linear), linear);
    set(offsetof(ThreadContext, lane), b.getInt32(0));
    set(offsetof(ThreadContext, warp), b.CreateLShr(linear, 5));
    body(b.CreateSub(threads_, linear, "", true, true));
  });
}

// The same row of threads of all blocks, so that memory is gone through as it lies. After a misaligned access nothing more is done: `ctaid` says whose.
void ThreadLoops::blocksOfRow(const std::function<void()>& body) {
  if (own_ == nullptr) return body();
  llvm::Value* const first = b.CreateLoad(b.getInt32Ty(), field(own_, offsetof(BlockContext, ctaid)));
  llvm::Value* const count = b.CreateLoad(b.getInt32Ty(), field(own_, offsetof(BlockContext, blocks)));
  loop(count, 1, nullptr, [&](llvm::Value* index) {
    llvm::Value* const number = b.CreateAdd(first, index);
    b.CreateStore(number, field(own_, offsetof(BlockContext, ctaid)));
    // Volatile: it is there when an access of this row faults.
    b.CreateStore(number, field(block_, offsetof(BlockContext, ctaid)), true);
    body();
    llvm::Value* const noted = b.CreateLoad(b.getInt32Ty(), field(thread_, offsetof(ThreadContext, misaligned)));
    llvm::BasicBlock* const next = llvm::BasicBlock::Create(b.getContext(), "row", function_);
    b.CreateCondBr(b.CreateICmpNE(noted, b.getInt32(0)), misaligned_, next, llvm::MDBuilder(b.getContext()).createUnlikelyBranchWeights());
    b.SetInsertPoint(next);
  });
  b.CreateStore(first, field(own_, offsetof(BlockContext, ctaid)));
}

void ThreadLoops::forFirst(const std::function<void()>& body) {
  for (unsigned dimension = 0; dimension < 3; ++dimension) set(offsetof(ThreadContext, tid) + 4 * dimension, b.getInt32(0));
  for (const std::size_t field : {offsetof(ThreadContext, linear), offsetof(ThreadContext, lane), offsetof(ThreadContext, warp)}) set(field, b.getInt32(0));
  body();
}

void ThreadLoops::noteMisaligned() {
  if (misaligned_ != nullptr) {
    b.CreateBr(misaligned_);
    b.SetInsertPoint(misaligned_);
  }
  llvm::Value* const noted = b.CreateLoad(b.getInt32Ty(), field(thread_, offsetof(ThreadContext, misaligned)));
  llvm::Value* const total = field(block_, offsetof(BlockContext, misaligned));
  b.CreateStore(b.CreateOr(b.CreateLoad(b.getInt32Ty(), total), noted), total);
}

llvm::Value* ThreadLoops::field(llvm::Value* base, std::size_t offset) {
  return b.CreateConstInBoundsGEP1_32(b.getInt8Ty(), base, static_cast<unsigned>(offset));
}

void ThreadLoops::set(std::size_t offset, llvm::Value* value) { b.CreateStore(value, field(thread_, offset)); }

// From 1 to `most`, which spares loops the question whether sums of threads' numbers wrap.
llvm::Value* ThreadLoops::number(std::size_t offset, std::uint32_t most) {
  llvm::LoadInst* const load = b.CreateLoad(b.getInt32Ty(), field(block_, offset));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
  load->setMetadata(llvm::LLVMContext::MD_range, llvm::MDBuilder(b.getContext()).createRange(llvm::APInt(32, 1), llvm::APInt(32, most + 1)));
  return load;
}

// Threads of a block that do not synchronize are independent, so accesses of the group may be reordered between them.
llvm::MDNode* ThreadLoops::parallel() {
  llvm::MDNode* const group = accessGroup(*function_->getParent());
  if (group == nullptr) return nullptr;
  return llvm::MDNode::get(b.getContext(), {llvm::MDString::get(b.getContext(), "llvm.loop.parallel_accesses"), group});
}

// for (i = 0; i < count; i += step); count is at least 1.
void ThreadLoops::loop(llvm::Value* count, std::uint32_t step, llvm::MDNode* property, const std::function<void(llvm::Value*)>& body) {
  llvm::BasicBlock* const before = b.GetInsertBlock();
  llvm::BasicBlock* const head = llvm::BasicBlock::Create(b.getContext(), "loop", function_);
  llvm::BasicBlock* const after = llvm::BasicBlock::Create(b.getContext(), "done", function_);
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::PHINode* const index = b.CreatePHI(b.getInt32Ty(), 2);
  index->addIncoming(b.getInt32(0), before);
  body(index);
  llvm::Value* const next = b.CreateAdd(index, b.getInt32(step), "", true, true);
  index->addIncoming(next, b.GetInsertBlock());
  llvm::BranchInst* const branch = b.CreateCondBr(b.CreateICmpULT(next, count), head, after);
  if (property != nullptr) {
    llvm::MDNode* const id = llvm::MDNode::getDistinct(b.getContext(), {nullptr, property});
    id->replaceOperandWith(0, id);
    branch->setMetadata(llvm::LLVMContext::MD_loop, id);
  }
  b.SetInsertPoint(after);
}

}  // namespace rouse::cpu::codegen
