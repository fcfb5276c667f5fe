// How much stack machine code takes, registers that are kept there included: the code generator decides, and tells in the object.
#pragma once

#include <cstdint>
#include <string_view>

namespace rouse::cpu::codegen {

// Bytes of the frames of all functions of an object file together, as its section .stack_sizes says (LLVM, "Code Generator", "Emitting function stack
// size information"); without those whose size is not known, since they take stack while they run.
std::uint64_t stackBytes(std::string_view object);

}  // namespace rouse::cpu::codegen
