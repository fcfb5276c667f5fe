// The names of a module's variables, which the driver does not list: read from the machine code (the symbol table of
// the ELF file) or the PTX that it will use. What is found is only asked for: the driver knows where each is and how
// large, and if it is there at all.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schemas/base/result.h"

namespace rouse::cuda {

struct NamedVariable {
  std::string name;
  bool constant = false;
  bool operator==(const NamedVariable&) const = default;
};

// `module`: a fatbin, a cubin or PTX text, from a client; anything else is refused, and so is a fatbin whose lengths do
// not add up, which the driver would read past its end. `capability`: 90. Pure.
Result<std::vector<NamedVariable>> variableNames(std::span<const std::byte> module, std::uint32_t capability);

// The parts of it.
std::vector<NamedVariable> variablesOfPtx(std::string_view text);
std::vector<NamedVariable> variablesOfElf(std::string_view file);

}  // namespace rouse::cuda
