// What can be checked only when the whole module has been read: calls against their callees, and that nothing is
// missing.
#pragma once

#include <optional>

#include "server/device/ptx/module.h"

namespace rouse::ptx {

// Functions that CUDA programs call and the runtime provides (abi.h).
enum class RuntimeFunction : std::uint8_t { vprintf, assertFail, malloc, free };
std::optional<RuntimeFunction> runtimeFunctionNamed(std::string_view name);

// Throws Failure: for what is not covered if that fails, or is outside functions.
void checkModule(Module&, Uncovered = Uncovered::fails);

// The signature of a call: the callee's, or the prototype's.
const Signature& signatureOf(const Module&, const Function& caller, const Call&);

}  // namespace rouse::ptx
