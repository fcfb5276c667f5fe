// What of CUDA's device runtime the CPU device brings itself (cuda_device_runtime_api.h): programs that are linked when they run take it from libcudadevrt,
// which is code of a driver's own.
#pragma once

#include <string_view>

#include "server/device/ptx/module.h"

namespace rouse::cpu::codegen {

// A unit to link behind the module's own; empty if the module defines all that it asks for.
std::string_view deviceRuntimeFor(const ptx::Module& module);

}  // namespace rouse::cpu::codegen
