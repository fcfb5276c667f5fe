// All threads of a block in three nested loops around the kernel's body (abi.h, BlockLoop). The thread's context lives
// on the stack, where LLVM dissolves it into the loops' counters once the body is inlined.
#include "server/device/cpu/codegen/passes.h"

namespace rouse::cpu::codegen {
namespace {

class Builder {
 public:
  Builder(llvm::Module& module, llvm::StringRef name)
      : b(module.getContext()),
        function_(llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getPtrTy()}, false),
                                         llvm::GlobalValue::ExternalLinkage, name, module)) {
    function_->addFnAttr(llvm::Attribute::NoUnwind);
    function_->addFnAttr(llvm::Attribute::NullPointerIsValid);
    function_->addParamAttr(0, llvm::Attribute::NoAlias);
    function_->addParamAttr(1, llvm::Attribute::NoAlias);
    function_->addParamAttr(1, llvm::Attribute::ReadOnly);
    b.SetInsertPoint(llvm::BasicBlock::Create(module.getContext(), "entry", function_));
  }

  void build(llvm::Function& body) {
    llvm::Value* const block = function_->getArg(0);
    llvm::AllocaInst* const thread = b.CreateAlloca(llvm::ArrayType::get(b.getInt8Ty(), sizeof(ThreadContext)));
    thread->setAlignment(llvm::Align(alignof(ThreadContext)));
    thread_ = thread;
    b.CreateStore(block, field(thread, offsetof(ThreadContext, block)));
    b.CreateStore(llvm::ConstantPointerNull::get(b.getPtrTy()), field(thread, offsetof(ThreadContext, runtime)));
    set(offsetof(ThreadContext, misaligned), b.getInt32(0));
    llvm::Value* const x = size(block, 0);
    llvm::Value* const y = size(block, 1);
    llvm::Value* const z = size(block, 2);
    loop(z, nullptr, [&](llvm::Value* tidZ) {
      set(offsetof(ThreadContext, tid) + 8, tidZ);
      loop(y, nullptr, [&](llvm::Value* tidY) {
        set(offsetof(ThreadContext, tid) + 4, tidY);
        llvm::Value* const row = b.CreateMul(x, b.CreateAdd(tidY, b.CreateMul(y, tidZ)));
        loop(x, parallel(), [&](llvm::Value* tidX) {
          set(offsetof(ThreadContext, tid), tidX);
          llvm::Value* const linear = b.CreateAdd(row, tidX);
          set(offsetof(ThreadContext, linear), linear);
          set(offsetof(ThreadContext, lane), b.CreateAnd(linear, b.getInt32(31)));
          set(offsetof(ThreadContext, warp), b.CreateLShr(linear, 5));
          llvm::CallInst* const call = b.CreateCall(&body, {thread, function_->getArg(1)});
          call->addFnAttr(llvm::Attribute::AlwaysInline);
        });
      });
    });
    llvm::Value* const noted = b.CreateLoad(b.getInt32Ty(), field(thread, offsetof(ThreadContext, misaligned)));
    llvm::Value* const total = field(block, offsetof(BlockContext, misaligned));
    b.CreateStore(b.CreateOr(b.CreateLoad(b.getInt32Ty(), total), noted), total);
    b.CreateRetVoid();
  }

 private:
  llvm::Value* field(llvm::Value* base, std::size_t offset) {
    return b.CreateConstInBoundsGEP1_32(b.getInt8Ty(), base, static_cast<unsigned>(offset));
  }
  void set(std::size_t offset, llvm::Value* value) { b.CreateStore(value, field(thread_, offset)); }

  llvm::Value* size(llvm::Value* block, unsigned dimension) {
    llvm::LoadInst* const load =
        b.CreateLoad(b.getInt32Ty(), field(block, offsetof(BlockContext, ntid) + 4 * dimension));
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
    return load;
  }

  // Threads of a block that does not synchronize are independent, so accesses of the group may be reordered between
  // them.
  llvm::MDNode* parallel() {
    llvm::MDNode* const group = accessGroup(*function_->getParent());
    if (group == nullptr) return nullptr;
    return llvm::MDNode::get(b.getContext(),
                             {llvm::MDString::get(b.getContext(), "llvm.loop.parallel_accesses"), group});
  }

  // for (i = 0; i < count; ++i); count is at least 1.
  template <class Body>
  void loop(llvm::Value* count, llvm::MDNode* property, Body body) {
    llvm::BasicBlock* const before = b.GetInsertBlock();
    llvm::BasicBlock* const head = llvm::BasicBlock::Create(b.getContext(), "loop", function_);
    llvm::BasicBlock* const after = llvm::BasicBlock::Create(b.getContext(), "done", function_);
    b.CreateBr(head);
    b.SetInsertPoint(head);
    llvm::PHINode* const index = b.CreatePHI(b.getInt32Ty(), 2);
    index->addIncoming(b.getInt32(0), before);
    body(index);
    llvm::Value* const next = b.CreateNUWAdd(index, b.getInt32(1));
    index->addIncoming(next, b.GetInsertBlock());
    llvm::BranchInst* const branch = b.CreateCondBr(b.CreateICmpULT(next, count), head, after);
    if (property != nullptr) {
      llvm::MDNode* const id = llvm::MDNode::getDistinct(b.getContext(), {nullptr, property});
      id->replaceOperandWith(0, id);
      branch->setMetadata(llvm::LLVMContext::MD_loop, id);
    }
    b.SetInsertPoint(after);
  }

  llvm::IRBuilder<> b;
  llvm::Function* function_;
  llvm::Value* thread_ = nullptr;
};

}  // namespace

void addBlockLoop(llvm::Module& module, llvm::Function& body, llvm::StringRef name) {
  Builder(module, name).build(body);
}

}  // namespace rouse::cpu::codegen
