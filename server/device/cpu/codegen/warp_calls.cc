#include "server/device/cpu/codegen/warp_calls.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSwitch.h>

namespace rouse::cpu::codegen {

std::optional<WarpCall> warpOperation(const llvm::CallInst& call) {
  const llvm::Function* const callee = call.getCalledFunction();
  if (callee == nullptr || !callee->isDeclaration()) return std::nullopt;
  return llvm::StringSwitch<std::optional<WarpCall>>(callee->getName())
      .Case("rouse_cpu_warp_sync", WarpCall::sync)
      .Case("rouse_cpu_shuffle", WarpCall::shuffle)
      .Case("rouse_cpu_vote", WarpCall::vote)
      .Case("rouse_cpu_match", WarpCall::match)
      .Case("rouse_cpu_redux", WarpCall::reduce)
      .Case("rouse_cpu_activemask", WarpCall::active)
      .Case("rouse_cpu_step", WarpCall::step)
      .Case("rouse_cpu_matrix", WarpCall::matrix)
      .Case("rouse_cpu_matrix_part", WarpCall::matrix)
      .Default(std::nullopt);
}

bool exchangesInWarps(const llvm::Module& module) {
  const auto isOne = [](const llvm::User* user) {
    const auto* const call = llvm::dyn_cast<llvm::CallInst>(user);
    return call != nullptr && warpOperation(*call).has_value();
  };
  return llvm::any_of(module, [&](const llvm::Function& function) { return function.isDeclaration() && llvm::any_of(function.users(), isOne); });
}

namespace {

constexpr llvm::StringLiteral kStep = "rouse.step";
constexpr llvm::StringLiteral kSameInWarp = "rouse.same.in.warp";
constexpr llvm::StringLiteral kOfWarp = "rouse.of.warp";

void mark(llvm::Instruction& instruction, llvm::StringRef how) { instruction.setMetadata(how, llvm::MDNode::get(instruction.getContext(), {})); }

}  // namespace

void markStep(llvm::Instruction& access) { mark(access, kStep); }

bool isStep(const llvm::Instruction& access) { return access.hasMetadata(kStep); }

void markSameInWarp(llvm::Instruction& value) { mark(value, kSameInWarp); }

bool isSameInWarp(const llvm::Instruction& value) { return value.hasMetadata(kSameInWarp); }

void markOfWarp(llvm::LoadInst& load) { mark(load, kOfWarp); }

bool isOfWarp(const llvm::LoadInst& load) { return load.hasMetadata(kOfWarp); }

bool isPlainAccess(const llvm::Instruction& instruction) {
  const auto isPlain = [&](const auto& access) { return access.isSimple() || (!access.isAtomic() && isStep(access)); };
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return isPlain(*load);
  const auto* const store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
  return store != nullptr && isPlain(*store);
}

const llvm::Value* memberMask(const llvm::CallInst& call) {
  switch (*warpOperation(call)) {
    case WarpCall::active:
    case WarpCall::step:
    case WarpCall::matrix:
      return nullptr;
    default:
      return call.getArgOperand(call.arg_size() - 1);
  }
}

bool isOfWholeWarp(const llvm::CallInst& call) {
  const auto* const constant = llvm::dyn_cast_if_present<llvm::ConstantInt>(memberMask(call));
  return constant != nullptr && constant->isMinusOne();
}

}  // namespace rouse::cpu::codegen
