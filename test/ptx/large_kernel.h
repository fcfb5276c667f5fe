// Kernels as long as one likes, `k(.param .u64 pout, .param .u32 px)`, and what they compute of x.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "server/device/cpu/abi.h"

namespace rouse::test {

// Twice through a chain of steps: each goes one of two ways by a bit of the argument, and both write its register. `r0` starts at zero without being
// written; from a step's register of the round before comes what a loop carries.
std::string chain(std::uint32_t steps);
std::uint32_t expectedOfChain(std::uint32_t steps, std::uint32_t x);

// One line, without branches, of as many registers as steps, gone through twice: each step takes from the one `distance` before it.
std::string line(std::uint32_t steps, std::uint32_t distance);
std::uint32_t expectedOfLine(std::uint32_t steps, std::uint32_t distance, std::uint32_t x);

// So many rounds of a store to shared memory, a barrier, a load and a barrier, one behind the other.
std::string rounds(std::uint32_t count);
std::uint32_t expectedOfRounds(std::uint32_t count, std::uint32_t x);

// One line of choices between numbers by others, which are no jumps in PTX but may become some.
std::string choices(std::uint32_t count);
std::uint32_t expectedOfChoices(std::uint32_t count, std::uint32_t x);

// Products of small matrices in one line, of a warp, from shared memory: `out` has a word for each lane.
std::string products(std::uint32_t count);

// Of one thread, which must end well, and with the same as a fiber and in a loop.
std::uint32_t run(const cpu::KernelCode&, std::uint32_t x);
// Of a warp.
std::array<std::uint32_t, 32> runWarp(const cpu::KernelCode&, bool asFibers, std::uint32_t x);

}  // namespace rouse::test
