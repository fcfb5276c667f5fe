// Every function that generated code may be linked against, by name: the runtime's (abi.h), ours, and what LLVM calls
// of the C and mathematics libraries. Nothing else of the process can be reached by name.
#pragma once

#include <cstdint>
#include <vector>

namespace rouse::cpu::codegen {

struct RuntimeSymbol {
  const char* name;
  std::uint64_t address;
};
const std::vector<RuntimeSymbol>& runtimeSymbols();

}  // namespace rouse::cpu::codegen
