// Who calls whom, whose address is taken, and which shared variables each kernel reaches.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "server/device/ptx/module.h"

namespace rouse::ptx {

// What one function does itself.
struct FunctionFacts {
  std::vector<std::uint32_t> callees;    // direct, aliases resolved, defined or of the runtime
  std::vector<std::uint32_t> addresses;  // functions whose address it takes
  std::vector<std::uint32_t> shared;     // Module::shared
  bool callsIndirectly = false;
  bool exits = false;  // has an exit instruction
  bool usesClusters = false;  // does what is otherwise in a cluster of several blocks
  // Of global memory, or what may be: plain stores; atomic operations.
  bool storesGlobally = false, combinesGlobally = false;
  std::uint8_t asksForFirst = 0;  // bits 0 to 2, for x to z: compares %ctaid's component with 0
};

class CallGraph {
 public:
  explicit CallGraph(const Module&);

  const FunctionFacts& facts(std::uint32_t function) const { return facts_[function]; }

  // The function and all it calls directly, callees too, each once; callees that are not defined are left out.
  std::vector<std::uint32_t> reachable(std::uint32_t function) const;

  // Functions whose address is taken anywhere in the module, ascending; and those with all they call.
  const std::vector<std::uint32_t>& addressTaken() const { return addressTaken_; }
  const std::vector<std::uint32_t>& addressTakenReachable() const { return addressTakenReachable_; }

  // Whether the function may reach code through a function pointer.
  bool reachesIndirectCall(std::uint32_t function) const;
  // Whether the function, or what it calls directly, does what is otherwise in a cluster of several blocks.
  bool usesClusters(std::uint32_t function) const;
  // Along which of x, y and z (0 to 2) the first block may set what all of its row then combine with: the function, or what it calls directly, asks for that block, stores, and has atomic operations. The last of several.
  std::optional<std::uint8_t> firstSetsAlong(std::uint32_t function) const;

 private:
  std::vector<std::uint32_t> closure(std::vector<std::uint32_t> functions) const;

  const Module& module_;
  std::vector<FunctionFacts> facts_;
  std::vector<std::uint32_t> addressTaken_;
  std::vector<std::uint32_t> addressTakenReachable_;
};

// A function or the one that it is an alias of.
std::uint32_t resolveAlias(const Module&, std::uint32_t function);

// Where a kernel's static shared variables lie. Functions that are called through pointers are compiled once for all
// kernels, so what they use comes first, at the same place in every kernel that may call them.
struct SharedLayout {
  std::vector<std::uint32_t> offsets;  // Module::shared; kNone: not used or extern (those begin at `bytes`)
  std::uint32_t bytes = 0;
};
SharedLayout sharedLayout(const Module&, const CallGraph&, std::uint32_t kernel);
// Of the functions whose address is taken.
SharedLayout sharedLayoutOfPointers(const Module&, const CallGraph&);

// Bytes of .local variables of all functions that are reached: an upper bound where nothing recurses.
std::uint64_t localBytes(const Module&, const CallGraph&, std::uint32_t function);

}  // namespace rouse::ptx
