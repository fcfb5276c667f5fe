// What a module's variable begins with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rouse::ptx {

// A 64-bit word in a variable's initial value that holds an address known only once the module is instantiated.
struct Relocation {
  std::uint64_t offset = 0;  // in the variable
  enum class Target : std::uint8_t { variable, function } target = Target::variable;
  std::uint32_t index = 0;   // Module::variables or Module::functions
  std::int64_t addend = 0;
};

struct InitialValue {
  std::vector<std::byte> bytes;  // shorter than the variable: the rest is zero
  std::vector<Relocation> relocations;
};

}  // namespace rouse::ptx
