// What a parsed module says of itself to the rest of the system.
#pragma once

#include <vector>

#include "memory/module.h"
#include "server/device/ptx/call_graph.h"
#include "server/device/ptx/initial_value.h"

namespace rouse::ptx {

// Kernels in the order of the text; Module::functions has the kernel's index in `functions`.
struct Description {
  memory::ModuleDescription module;
  std::vector<std::uint32_t> functions;  // kernel → Module::functions
  std::vector<InitialValue> initialValues;
};

// Throws Failure for what cannot be expressed.
Description describe(const Module&, const CallGraph&);

}  // namespace rouse::ptx
