// Calls of the runtime by which the lanes of a warp exchange values (abi.h).
#pragma once

#include <optional>

#include "server/device/cpu/codegen/module_emitter.h"

namespace rouse::cpu::codegen {

enum class WarpCall : std::uint8_t { sync, shuffle, vote, match, reduce, active };

// Of those; with the lanes that take part, in the member mask.
std::optional<WarpCall> warpOperation(const llvm::CallInst&);

// Whether all lanes of the warp take part, if all come to it.
bool isOfWholeWarp(const llvm::CallInst&);

}  // namespace rouse::cpu::codegen
