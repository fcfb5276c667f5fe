// Kernels whose threads wait at barriers only, without fibers (after Karrenberg, Hack, and PoCL's work-item loops).
//
// The kernel is cut at its barriers. A segment is what a thread does from one cut to the next, whichever that is; all threads of the block do it in
// loops the optimizer can see through, and then all go on from where they have come to. What a thread needs behind a cut lies in its frame
// meanwhile: each value in an array over the threads, so that neighbours' are neighbours; variables whose address is taken, as one piece
// for each thread. What can be computed from the thread's number and the parameters again is not kept.
//
// Where all threads come to the same barriers (Uniformity), the way between segments is known, values that are the same for all are kept
// once, and branches that decide which barrier comes next are cuts as well: loops around barriers become loops around loops over threads. Elsewhere each
// thread's next segment is noted. While all have the same, it is run as above; else each thread runs its own (a round of step()). A barrier is complete when all
// threads that have not ended have come to one: so after each round. With several barriers' numbers that might be a deadlock, and is left to fibers.
#include <llvm/ADT/SmallSet.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/Local.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include "server/device/cpu/codegen/live_values.h"
#include "server/device/cpu/codegen/passes.h"
#include "server/device/cpu/codegen/thread_loops.h"
#include "server/device/cpu/codegen/uniformity.h"

namespace rouse::cpu::codegen {
namespace {

constexpr std::uint32_t kEnd = ~std::uint32_t{0};  // instead of a segment: the thread has ended
constexpr std::size_t kMostCuts = 96;
constexpr std::size_t kMostInstructions = 400'000;  // of all segments before what each does not reach is dropped
constexpr std::uint64_t kMostFrameBytes = std::uint64_t{64} << 10;
constexpr std::uint64_t kUniformBytes = 16;

// Of step(): the thread and the kernel's parameters, then these.
enum Argument : unsigned { kThread, kParameters, kFrames, kStride, kUniformIn, kUniformOut, kReduced, kArrived, kSegment };

struct Cut {
  llvm::BasicBlock* exit;              // ends here
  llvm::BasicBlock* resume;            // goes on here
  llvm::CallInst* arrival = nullptr;   // of a reduction: marks its predicate, in `exit`
};

class Splitter {
 public:
  Splitter(llvm::Module& module, llvm::Function& body, llvm::StringRef name, bool independent, const std::function<void(llvm::Function&)>& tidy)
      : module_(module), layout_(module.getDataLayout()), body_(body), name_(name.str()), independent_(independent), tidy_(tidy), b(module.getContext()) {}

  std::optional<std::uint32_t> run() {
    makeStep();
    if (!inlineWaiting()) return giveUp();
    if (!findBarriers()) return giveUp();
    std::optional<Uniformity> uniformity(std::in_place, *step_, barriers_);
    uniform_ = uniformity->barriersAreUniform();
    if (!uniform_ && (reduces_ || ids_.size() > 1)) return giveUp();
    if (uniform_) {
      splitInductions(*step_, *uniformity);
      uniformity.emplace(*step_, barriers_);
      cutBranches(*uniformity);
    }
    // Blocks are split from here on; values stay what they are.
    cutBarriers();
    if (cuts_.size() > kMostCuts || (cuts_.size() + 1) * step_->getInstructionCount() > kMostInstructions) return giveUp();
    if (!keepVariables()) return giveUp();
    if (!keepValues(*uniformity)) return giveUp();
    llvm::removeUnreachableBlocks(*step_);
    addLoop();
    return static_cast<std::uint32_t>(frameBytes_);
  }

 private:
  std::optional<std::uint32_t> giveUp() {
    step_->eraseFromParent();
    return std::nullopt;
  }

  llvm::Argument* argument(unsigned index) const { return step_->getArg(index); }

  // The body once more, as a function that yields the next segment.
  void makeStep() {
    llvm::Type* const pointer = b.getPtrTy();
    llvm::Type* const word = b.getInt32Ty();
    auto* const type =
        llvm::FunctionType::get(word, {pointer, pointer, pointer, b.getInt64Ty(), pointer, pointer, word, pointer, word}, false);
    step_ = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name_ + ".step", module_);
    llvm::ValueToValueMapTy map;
    map[body_.getArg(0)] = argument(kThread);
    map[body_.getArg(1)] = argument(kParameters);
    llvm::SmallVector<llvm::ReturnInst*, 4> ends;
    // Attributes are copied, too: the parameters' of the body are those of the first two here.
    llvm::CloneFunctionInto(step_, &body_, map, llvm::CloneFunctionChangeType::LocalChangesOnly, ends);
    step_->setLinkage(llvm::GlobalValue::InternalLinkage);
    for (llvm::ReturnInst* end : ends) {
      llvm::ReturnInst::Create(module_.getContext(), b.getInt32(kEnd), end->getIterator());
      end->eraseFromParent();
    }
    dropNoAlias(*step_);
  }

  bool waits(llvm::Function& function) {
    if (function.isDeclaration()) return isWaitingFunction(function.getName());
    const auto [found, added] = waits_.try_emplace(&function, false);
    if (!added) return found->second;
    bool any = false;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call != nullptr && call->getCalledFunction() != nullptr) any |= waits(*call->getCalledFunction());
    }
    return waits_[&function] = any;
  }

  // Until no function that waits is called but the runtime's. False for recursion.
  bool inlineWaiting() {
    for (unsigned round = 0; round < 64; ++round) {
      llvm::SmallVector<llvm::CallInst*, 8> calls;
      for (llvm::Instruction& instruction : llvm::instructions(*step_)) {
        auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        if (call == nullptr || call->getCalledFunction() == nullptr || call->getCalledFunction()->isDeclaration()) continue;
        if (waits(*call->getCalledFunction())) calls.push_back(call);
      }
      if (calls.empty()) {
        if (round != 0) tidy_(*step_);
        return true;
      }
      for (llvm::CallInst* call : calls) {
        llvm::InlineFunctionInfo info;
        if (!llvm::InlineFunction(*call, info, false, nullptr, false).isSuccess()) return false;
      }
      if (step_->getInstructionCount() > kMostInstructions) return false;
    }
    return false;
  }

  // Those of all threads, by a number that is known. False if the kernel waits in any other way.
  bool findBarriers() {
    for (llvm::Instruction& instruction : llvm::instructions(*step_)) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call == nullptr) continue;
      const llvm::Function* const callee = call->getCalledFunction();
      if (callee == nullptr || !callee->isDeclaration() || !isWaitingFunction(callee->getName())) continue;
      const bool reduces = callee->getName() == "rouse_cpu_barrier_reduce";
      if (!reduces && callee->getName() != "rouse_cpu_barrier") return false;
      const auto* id = llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(1));
      const auto* count = llvm::dyn_cast<llvm::ConstantInt>(call->getArgOperand(2));
      if (id == nullptr || count == nullptr || !count->isZero()) return false;
      ids_.insert(id->getZExtValue() % 16);
      reduces_ |= reduces;
      barriers_.insert(call);
    }
    return true;
  }

  void cut(llvm::Instruction* at) {
    llvm::BasicBlock* const exit = at->getParent();
    cuts_.push_back({exit, llvm::SplitBlock(exit, at)});
  }

  // Branches that all threads take alike and that decide between barriers.
  void cutBranches(const Uniformity& uniformity) {
    llvm::SmallVector<llvm::BasicBlock*, 16> branching;
    for (llvm::BasicBlock& block : *step_) {
      if (block.getTerminator()->getNumSuccessors() > 1 && uniformity.decidesBarriers(&block)) branching.push_back(&block);
    }
    for (llvm::BasicBlock* block : branching) {
      llvm::SmallSetVector<llvm::BasicBlock*, 4> next(llvm::succ_begin(block), llvm::succ_end(block));
      for (llvm::BasicBlock* successor : next) {
        // A switch may come to one block several times.
        if (llvm::count(llvm::successors(block), successor) == 1) cut(llvm::SplitEdge(block, successor)->getTerminator());
      }
    }
  }

  void cutBarriers() {
    llvm::SmallVector<llvm::CallInst*, 16> calls;
    for (llvm::Instruction& instruction : llvm::instructions(*step_)) {
      if (barriers_.contains(&instruction)) calls.push_back(llvm::cast<llvm::CallInst>(&instruction));
    }
    for (llvm::CallInst* call : calls) {
      cut(call);
      if (call->getCalledFunction()->getName() == "rouse_cpu_barrier_reduce") reduce(call, cuts_.back());
      call->eraseFromParent();
    }
    b.SetInsertPoint(step_->getEntryBlock().getTerminator());
  }

  // What a reduction yields is computed from the number of threads whose predicate holds.
  void reduce(llvm::CallInst* call, Cut& at) {
    b.SetInsertPoint(at.exit->getTerminator());
    const llvm::FunctionCallee marker = module_.getOrInsertFunction("rouse.split.arrival", b.getVoidTy(), b.getInt32Ty());
    at.arrival = b.CreateCall(marker, {call->getArgOperand(4)});
    b.SetInsertPoint(call);
    llvm::Value* const reduced = argument(kReduced);
    llvm::Value* result = reduced;
    const auto operation = llvm::cast<llvm::ConstantInt>(call->getArgOperand(3))->getZExtValue();
    if (operation == 1) {
      result = b.CreateZExt(b.CreateICmpEQ(reduced, blockField(offsetof(BlockContext, threads))), b.getInt32Ty());
    } else if (operation != 0) {
      result = b.CreateZExt(b.CreateICmpNE(reduced, b.getInt32(0)), b.getInt32Ty());
    }
    // Which is not computed again from the argument: that will be another reduction's by then.
    call->replaceAllUsesWith(b.CreateFreeze(result));
  }

  llvm::Value* field(llvm::Value* base, std::size_t offset) {
    return b.CreateConstInBoundsGEP1_32(b.getInt8Ty(), base, static_cast<unsigned>(offset));
  }
  llvm::LoadInst* invariant(llvm::Type* type, llvm::Value* pointer) {
    llvm::LoadInst* const load = b.CreateLoad(type, pointer);
    load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b.getContext(), {}));
    return load;
  }
  llvm::Value* blockField(std::size_t offset) {
    llvm::Value* const block = b.CreateLoad(b.getPtrTy(), field(argument(kThread), offsetof(ThreadContext, block)));
    return invariant(b.getInt32Ty(), field(block, offset));
  }

  // Where a value of the thread lies, for all threads `bytes` apart, in the entry block.
  llvm::Value* place(std::uint64_t offset, std::uint64_t bytes) {
    llvm::Value* const array = b.CreateInBoundsGEP(
        b.getInt8Ty(), argument(kFrames), b.CreateMul(argument(kStride), b.getInt64(offset), "", true, true));
    return b.CreateInBoundsGEP(b.getInt8Ty(), array, b.CreateMul(linear_, b.getInt64(bytes), "", true, true));
  }

  // Of one variable: whether it holds something across a cut.
  bool livesAcross(llvm::AllocaInst& variable) {
    llvm::SmallPtrSet<llvm::BasicBlock*, 16> users;
    llvm::SmallVector<llvm::Instruction*, 16> work{&variable};
    llvm::SmallPtrSet<llvm::Instruction*, 16> seen;
    while (!work.empty()) {
      llvm::Instruction* const pointer = work.pop_back_val();
      if (!seen.insert(pointer).second) continue;
      for (llvm::User* user : pointer->users()) {
        auto* const instruction = llvm::cast<llvm::Instruction>(user);
        if (instruction->isLifetimeStartOrEnd()) continue;
        users.insert(instruction->getParent());
        if (llvm::isa<llvm::GetElementPtrInst>(instruction)) {
          work.push_back(instruction);
        } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(instruction)) {
          if (store->getValueOperand() == pointer) return true;
        } else if (!llvm::isa<llvm::LoadInst>(instruction)) {
          return true;
        }
      }
    }
    const auto reached = [](llvm::BasicBlock* from) {
      llvm::SmallPtrSet<llvm::BasicBlock*, 32> found;
      llvm::SmallVector<llvm::BasicBlock*, 32> next{from};
      while (!next.empty()) {
        llvm::BasicBlock* const block = next.pop_back_val();
        if (found.insert(block).second) next.append(llvm::succ_begin(block), llvm::succ_end(block));
      }
      return found;
    };
    llvm::SmallPtrSet<llvm::BasicBlock*, 32> exits;
    for (const Cut& cut : cuts_) {
      bool after = false, before = false;
      for (llvm::BasicBlock* block : reached(cut.resume)) after |= users.contains(block);
      if (!after) continue;
      for (llvm::BasicBlock* user : users) before |= reached(user).contains(cut.exit);
      if (before) return true;
    }
    return false;
  }

  // A new first block with the stack's variables; those that outlive a segment go to the frame.
  bool keepVariables() {
    llvm::BasicBlock* const old = &step_->getEntryBlock();
    first_ = old;
    entry_ = llvm::BasicBlock::Create(module_.getContext(), "segment", step_, old);
    b.SetInsertPoint(entry_);
    llvm::LoadInst* const linear = b.CreateLoad(b.getInt32Ty(), field(argument(kThread), offsetof(ThreadContext, linear)));
    linear_ = b.CreateZExt(linear, b.getInt64Ty());
    llvm::SmallVector<llvm::AllocaInst*, 8> variables;
    for (llvm::Instruction& instruction : llvm::instructions(*step_)) {
      if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) variables.push_back(variable);
    }
    for (llvm::AllocaInst* variable : variables) {
      if (!variable->isStaticAlloca() && variable->getParent() != old) return false;
      if (!llvm::isa<llvm::ConstantInt>(variable->getArraySize())) return false;
      if (!livesAcross(*variable)) {
        variable->moveBefore(*entry_, entry_->begin());
        continue;
      }
      const std::uint64_t align = std::max<std::uint64_t>(variable->getAlign().value(), 16);
      if (align > 64) return false;
      const std::uint64_t bytes = llvm::alignTo(variable->getAllocationSize(layout_)->getFixedValue(), align);
      frameBytes_ = llvm::alignTo(frameBytes_, 64);
      if (frameBytes_ + bytes > kMostFrameBytes) return false;
      llvm::Value* const kept = place(frameBytes_, bytes);
      frameBytes_ += bytes;
      variable->replaceAllUsesWith(kept);
      for (llvm::User* user : llvm::make_early_inc_range(kept->users())) {
        if (auto* marker = llvm::cast<llvm::Instruction>(user); marker->isLifetimeStartOrEnd()) marker->eraseFromParent();
      }
      variable->eraseFromParent();
    }
    frameBytes_ = llvm::alignTo(frameBytes_, 64);
    return true;
  }

  struct Value {
    llvm::AllocaInst* slot = nullptr;  // while a segment runs
    llvm::Type* type = nullptr;
    bool uniform = false, computed = false;
    std::uint64_t index = 0;         // uniform: which
    llvm::Value* kept = nullptr;  // else where
  };

  bool keepValues(const Uniformity& uniformity) {
    llvm::SmallVector<llvm::BasicBlock*, 16> blocks;
    for (const Cut& cut : cuts_) blocks.push_back(cut.resume);
    const std::vector<LiveSet> live = liveAt(*step_, blocks);
    LiveSet all;
    for (const LiveSet& set : live) all.insert(set.begin(), set.end());

    // Where a thread goes on: what is computed again is, before its parts are moved.
    Recomputation recomputation;
    std::vector<llvm::BasicBlock*> entries;
    std::vector<llvm::DenseMap<llvm::Value*, llvm::Value*>> computed(cuts_.size());
    for (std::size_t k = 0; k < cuts_.size(); ++k) {
      entries.push_back(llvm::BasicBlock::Create(module_.getContext(), "resume", step_));
      llvm::IRBuilder<> at(entries.back());
      for (llvm::Instruction* value : live[k]) {
        if (canCompute(recomputation, value)) recomputation.build(value, at, computed[k]);
      }
    }

    // Large ones first: all are aligned then.
    std::vector<llvm::Instruction*> order(all.begin(), all.end());
    const auto bytesOf = [&](llvm::Instruction* value) -> std::uint64_t {
      return value->getType()->isIntegerTy(1) ? 1 : layout_.getTypeAllocSize(value->getType()).getFixedValue();
    };
    std::stable_sort(order.begin(), order.end(), [&](auto* x, auto* y) { return bytesOf(x) > bytesOf(y); });
    llvm::MapVector<llvm::Instruction*, Value> values;
    b.SetInsertPoint(entry_);
    for (llvm::Instruction* value : order) {
      Value& made = values[value];
      made.type = value->getType();
      made.computed = canCompute(recomputation, value);
      if (made.computed) continue;
      made.uniform = uniform_ && uniformity.isUniform(value) && bytesOf(value) <= kUniformBytes;
      if (made.uniform) {
        made.index = uniforms_++;
        continue;
      }
      frameBytes_ = llvm::alignTo(frameBytes_, layout_.getABITypeAlign(made.type));
      made.kept = place(frameBytes_, bytesOf(value));
      frameBytes_ += bytesOf(value);
    }
    if (!uniform_) {
      frameBytes_ = llvm::alignTo(frameBytes_, 4);
      stateOffset_ = frameBytes_;
      frameBytes_ += 4;
    }
    if (frameBytes_ > kMostFrameBytes) return false;

    // Where it stops, and where it goes on.
    llvm::Instruction* const before = &*entry_->begin();
    for (auto& [value, made] : values) {
      made.slot = llvm::DemoteRegToStack(*value, false, before->getIterator());
    }
    for (std::size_t k = 0; k < cuts_.size(); ++k) {
      llvm::IRBuilder<> in(entries[k]);
      b.SetInsertPoint(cuts_[k].exit->getTerminator());
      for (llvm::Instruction* value : live[k]) {
        const Value& made = values[value];
        // Never used, when each of its uses was turned into another's slot.
        if (made.slot == nullptr) continue;
        if (made.computed) {
          in.CreateStore(computed[k].lookup(value), made.slot);
          continue;
        }
        load(in, made);
        save(made);
      }
      in.CreateBr(cuts_[k].resume);
      if (cuts_[k].arrival != nullptr) {
        llvm::Value* const holds = b.CreateICmpNE(cuts_[k].arrival->getArgOperand(0), b.getInt32(0));
        llvm::Value* const sum = b.CreateLoad(b.getInt32Ty(), argument(kArrived));
        b.CreateStore(b.CreateAdd(sum, b.CreateZExt(holds, b.getInt32Ty())), argument(kArrived));
        cuts_[k].arrival->eraseFromParent();
      }
      llvm::Instruction* const end = cuts_[k].exit->getTerminator();
      b.CreateRet(b.getInt32(static_cast<std::uint32_t>(k + 1)));
      end->eraseFromParent();
    }
    b.SetInsertPoint(entry_);
    llvm::BasicBlock* const none = llvm::BasicBlock::Create(module_.getContext(), "none", step_);
    new llvm::UnreachableInst(module_.getContext(), none);
    llvm::SwitchInst* const choice = b.CreateSwitch(argument(kSegment), none);
    choice->addCase(b.getInt32(0), first_);
    for (std::size_t k = 0; k < cuts_.size(); ++k) choice->addCase(b.getInt32(static_cast<std::uint32_t>(k + 1)), entries[k]);
    for (auto& [value, made] : values) {
      if (made.slot != nullptr) slots_.push_back(made.slot);
      if (made.kept != nullptr) places_.push_back(made.kept);
    }
    return true;
  }

  bool canCompute(Recomputation& recomputation, llvm::Instruction* value) const {
    return !llvm::isa<llvm::PHINode>(value) && recomputation.offers(value);
  }

  llvm::Value* uniformPlace(llvm::IRBuilder<>& at, Argument base, const Value& value) {
    return at.CreateConstInBoundsGEP1_64(at.getInt8Ty(), argument(base), value.index * kUniformBytes);
  }

  // Vectors of i1 are none that processors know.
  void load(llvm::IRBuilder<>& in, const Value& value) {
    llvm::Value* const from = value.uniform ? uniformPlace(in, kUniformIn, value) : value.kept;
    if (value.type->isIntegerTy(1)) {
      in.CreateStore(in.CreateICmpNE(in.CreateLoad(in.getInt8Ty(), from), in.getInt8(0)), value.slot);
    } else {
      in.CreateStore(in.CreateLoad(value.type, from), value.slot);
    }
  }
  void save(const Value& value) {
    llvm::Value* what = b.CreateLoad(value.type, value.slot);
    if (value.type->isIntegerTy(1)) what = b.CreateZExt(what, b.getInt8Ty());
    b.CreateStore(what, value.uniform ? uniformPlace(b, kUniformOut, value) : value.kept);
  }

  // One segment of step(), with nothing but what it reaches.
  llvm::Function* segment(std::uint32_t number) {
    llvm::ValueToValueMapTy map;
    llvm::Function* const made = llvm::CloneFunction(step_, map);
    made->setName(name_ + ".segment." + std::to_string(number));
    made->getArg(kSegment)->replaceAllUsesWith(b.getInt32(number));
    llvm::ConstantFoldTerminator(&made->getEntryBlock(), true);
    llvm::removeUnreachableBlocks(*made);
    llvm::SmallVector<llvm::AllocaInst*, 32> slots;
    for (llvm::AllocaInst* slot : slots_) {
      if (auto* there = llvm::dyn_cast_or_null<llvm::AllocaInst>(map.lookup(slot)); there != nullptr && llvm::isAllocaPromotable(there))
        slots.push_back(there);
    }
    llvm::DominatorTree dominators(*made);
    llvm::PromoteMemToReg(slots, dominators);
    // What comes and goes unchanged stays where it is.
    for (llvm::Value* place : places_) {
      llvm::Value* const there = map.lookup(place);
      if (there == nullptr) continue;
      for (llvm::User* user : llvm::make_early_inc_range(there->users())) {
        auto* const store = llvm::dyn_cast<llvm::StoreInst>(user);
        if (store == nullptr || store->getPointerOperand() != there) continue;
        const auto* loaded = llvm::dyn_cast<llvm::LoadInst>(store->getValueOperand());
        if (loaded != nullptr && loaded->getPointerOperand() == there) store->eraseFromParent();
      }
    }
    if (independent_) markIndependent(*made);
    return made;
  }

  // --- The loop of the whole block ---

  void addLoop() {
    llvm::Function* const function = makeLoopFunction(module_, name_);
    b.SetInsertPoint(&function->getEntryBlock());
    ThreadLoops loops(b);
    // Another context for what is not inlined, so that nobody sees this one's.
    std::optional<ThreadLoops> apart;
    if (!uniform_) apart.emplace(b);
    const auto variable = [&](llvm::Type* type, std::uint64_t align) {
      llvm::AllocaInst* const made = b.CreateAlloca(type);
      made->setAlignment(llvm::Align(align));
      return made;
    };
    next_ = variable(b.getInt32Ty(), 4);
    least_ = variable(b.getInt32Ty(), 4);
    greatest_ = variable(b.getInt32Ty(), 4);
    arrived_ = variable(b.getInt32Ty(), 4);
    llvm::Type* const table = llvm::ArrayType::get(b.getInt8Ty(), std::max<std::uint64_t>(uniforms_, 1) * kUniformBytes);
    uniformIn_ = variable(table, kUniformBytes);
    uniformOut_ = variable(table, kUniformBytes);
    b.CreateMemSet(uniformOut_, b.getInt8(0), uniforms_ * kUniformBytes, llvm::Align(kUniformBytes));
    b.CreateStore(b.getInt32(0), arrived_);
    // Arrays over threads begin at multiples of 16 threads.
    llvm::Value* const threads = b.CreateZExt(loops.threads(), b.getInt64Ty());
    stride_ = b.CreateAnd(b.CreateAdd(threads, b.getInt64(15), "", true, true), b.getInt64(~std::uint64_t{15}));
    frames_ = llvm::ConstantPointerNull::get(b.getPtrTy());
    if (frameBytes_ != 0) {
      const llvm::FunctionCallee take = module_.getOrInsertFunction("rouse_cpu_frames", b.getPtrTy(), b.getPtrTy(), b.getInt64Ty());
      llvm::CallInst* const taken = b.CreateCall(take, {loops.block(), b.CreateMul(stride_, b.getInt64(frameBytes_), "", true, true)});
      taken->addRetAttr(llvm::Attribute::NoAlias);
      taken->addRetAttr(llvm::Attribute::getWithAlignment(b.getContext(), llvm::Align(64)));
      frames_ = taken;
    }

    llvm::SmallVector<llvm::BasicBlock*, 16> blocks;
    for (std::size_t k = 0; k <= cuts_.size(); ++k) blocks.push_back(newBlock(function, "segment"));
    llvm::BasicBlock* const done = newBlock(function, "done");
    b.CreateBr(blocks[0]);
    uniform_ ? addUniform(loops, blocks, done) : addGeneral(loops, *apart, function, blocks, done);
    b.SetInsertPoint(done);
    loops.noteMisaligned();
    if (apart) apart->noteMisaligned();
    b.CreateRetVoid();
    if (uniform_) step_->eraseFromParent();
  }

  llvm::BasicBlock* newBlock(llvm::Function* function, const char* name) {
    return llvm::BasicBlock::Create(module_.getContext(), name, function);
  }

  llvm::CallInst* call(ThreadLoops& loops, llvm::Function* callee, llvm::Value* number, llvm::Value* reduced) {
    return b.CreateCall(callee, {loops.thread(), loops.parameters(), frames_, stride_, uniformIn_, uniformOut_, reduced, arrived_, number});
  }

  // To the segment `next`, of those that `from` may come to.
  void go(llvm::Value* next, llvm::Function* from, llvm::ArrayRef<llvm::BasicBlock*> blocks, llvm::BasicBlock* done) {
    llvm::SmallSetVector<std::uint32_t, 8> ways;
    for (llvm::BasicBlock& block : *from) {
      auto* const end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator());
      if (end == nullptr) continue;
      const auto* number = llvm::dyn_cast<llvm::ConstantInt>(end->getReturnValue());
      if (number != nullptr) ways.insert(static_cast<std::uint32_t>(number->getZExtValue()));
    }
    const auto target = [&](std::uint32_t way) { return way == kEnd ? done : blocks[way]; };
    if (ways.size() == 1) {
      b.CreateBr(target(ways[0]));
      return;
    }
    llvm::SwitchInst* const choice = b.CreateSwitch(next, done);
    for (const std::uint32_t way : ways) {
      if (way != kEnd) choice->addCase(b.getInt32(way), target(way));
    }
  }

  void addUniform(ThreadLoops& loops, llvm::ArrayRef<llvm::BasicBlock*> blocks, llvm::BasicBlock* done) {
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      llvm::Function* const made = segment(static_cast<std::uint32_t>(k));
      b.SetInsertPoint(blocks[k]);
      // One word at a time, so that each becomes a value of its own.
      for (std::uint64_t at = 0; at < uniforms_ * kUniformBytes; at += 8)
        b.CreateStore(b.CreateLoad(b.getInt64Ty(), field(uniformOut_, at)), field(uniformIn_, at));
      llvm::Value* const reduced = b.CreateLoad(b.getInt32Ty(), arrived_);
      b.CreateStore(b.getInt32(0), arrived_);
      loops.forAll([&] {
        llvm::CallInst* const next = call(loops, made, b.getInt32(static_cast<std::uint32_t>(k)), reduced);
        next->addFnAttr(llvm::Attribute::AlwaysInline);
        b.CreateStore(next, next_);
      });
      go(b.CreateLoad(b.getInt32Ty(), next_), made, blocks, done);
    }
  }

  void note(llvm::Value* next) {
    const auto fold = [&](llvm::AllocaInst* into, llvm::Intrinsic::ID how) {
      b.CreateStore(b.CreateBinaryIntrinsic(how, b.CreateLoad(b.getInt32Ty(), into), next), into);
    };
    fold(least_, llvm::Intrinsic::umin);
    fold(greatest_, llvm::Intrinsic::umax);
  }

  void addGeneral(ThreadLoops& loops, ThreadLoops& single, llvm::Function* function, llvm::ArrayRef<llvm::BasicBlock*> blocks, llvm::BasicBlock* done) {
    llvm::BasicBlock* const together = newBlock(function, "together");
    llvm::BasicBlock* const apart = newBlock(function, "apart");
    const auto state = [&](ThreadLoops& loops) {
      llvm::Value* const array =
          b.CreateInBoundsGEP(b.getInt8Ty(), frames_, b.CreateMul(stride_, b.getInt64(stateOffset_), "", true, true));
      llvm::Value* const linear = b.CreateLoad(b.getInt32Ty(), field(loops.thread(), offsetof(ThreadContext, linear)));
      return b.CreateInBoundsGEP(b.getInt32Ty(), array, b.CreateZExt(linear, b.getInt64Ty()));
    };
    const auto mark = [&](llvm::Instruction* access) {
      if (independent_) access->setMetadata(llvm::LLVMContext::MD_access_group, accessGroup(module_, true));
    };
    const auto begin = [&] {
      b.CreateStore(b.getInt32(kEnd), least_);
      b.CreateStore(b.getInt32(0), greatest_);
    };
    const auto dispatch = [&] {
      llvm::Value* const least = b.CreateLoad(b.getInt32Ty(), least_);
      b.CreateCondBr(b.CreateICmpEQ(least, b.CreateLoad(b.getInt32Ty(), greatest_)), together, apart);
    };
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      llvm::Function* const made = segment(static_cast<std::uint32_t>(k));
      b.SetInsertPoint(blocks[k]);
      begin();
      loops.forAll([&] {
        llvm::CallInst* const next = call(loops, made, b.getInt32(static_cast<std::uint32_t>(k)), b.getInt32(0));
        next->addFnAttr(llvm::Attribute::AlwaysInline);
        mark(b.CreateStore(next, state(loops)));
        note(next);
      });
      dispatch();
    }
    b.SetInsertPoint(together);
    llvm::SwitchInst* const choice = b.CreateSwitch(b.CreateLoad(b.getInt32Ty(), least_), done);
    for (std::size_t k = 1; k < blocks.size(); ++k) choice->addCase(b.getInt32(static_cast<std::uint32_t>(k)), blocks[k]);

    b.SetInsertPoint(apart);
    begin();
    step_->addFnAttr(llvm::Attribute::NoInline);
    single.forAll([&] {
      llvm::Value* const at = state(single);
      llvm::Value* const now = b.CreateLoad(b.getInt32Ty(), at);
      llvm::BasicBlock* const before = b.GetInsertBlock();
      llvm::BasicBlock* const runs = newBlock(function, "runs");
      llvm::BasicBlock* const after = newBlock(function, "after");
      b.CreateCondBr(b.CreateICmpNE(now, b.getInt32(kEnd)), runs, after);
      b.SetInsertPoint(runs);
      llvm::CallInst* const next = call(single, step_, now, b.getInt32(0));
      b.CreateStore(next, at);
      b.CreateBr(after);
      b.SetInsertPoint(after);
      llvm::PHINode* const then = b.CreatePHI(b.getInt32Ty(), 2);
      then->addIncoming(now, before);
      then->addIncoming(next, runs);
      note(then);
    });
    dispatch();
  }

  llvm::Module& module_;
  const llvm::DataLayout& layout_;
  llvm::Function& body_;
  const std::string name_;
  const bool independent_;
  const std::function<void(llvm::Function&)>& tidy_;
  llvm::IRBuilder<> b;
  llvm::Function* step_ = nullptr;
  llvm::DenseMap<llvm::Function*, bool> waits_;
  llvm::SmallPtrSet<llvm::Instruction*, 16> barriers_;
  llvm::SmallSet<std::uint64_t, 4> ids_;
  bool reduces_ = false, uniform_ = false;
  std::vector<Cut> cuts_;
  llvm::BasicBlock* entry_ = nullptr;  // step()'s first; then `first_`, where the kernel begins
  llvm::BasicBlock* first_ = nullptr;
  llvm::Value* linear_ = nullptr;
  std::uint64_t frameBytes_ = 0, stateOffset_ = 0, uniforms_ = 0;
  std::vector<llvm::AllocaInst*> slots_;
  std::vector<llvm::Value*> places_;
  llvm::AllocaInst *next_ = nullptr, *least_ = nullptr, *greatest_ = nullptr, *arrived_ = nullptr;
  llvm::AllocaInst *uniformIn_ = nullptr, *uniformOut_ = nullptr;
  llvm::Value *stride_ = nullptr, *frames_ = nullptr;
};

}  // namespace

std::optional<std::uint32_t> splitAtBarriers(llvm::Module& module, llvm::Function& body, llvm::StringRef name, bool independent,
                                             const std::function<void(llvm::Function&)>& tidy) {
  return Splitter(module, body, name, independent, tidy).run();
}

}  // namespace rouse::cpu::codegen
