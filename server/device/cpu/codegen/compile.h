// One unit of compilation, from emission, or from the cache of code, to linked code.
#pragma once

#include <cstdint>

#include "server/device/cpu/abi.h"
#include "server/device/cpu/codegen/code_cache.h"
#include "server/device/cpu/codegen/jit.h"
#include "server/device/cpu/codegen/program_compiler.h"
#include "server/device/cpu/program.h"
#include "server/device/ptx/call_graph.h"

namespace rouse::cpu::codegen {

// What units of one module have in common. All borrowed.
struct Source {
  const ptx::Module& module;
  const ptx::CallGraph& graph;
  CodeCache* cache;     // null: none
  ProgramCompiler* compiler;  // null: in this process
  CodeCache::Key text;  // hash of what the module was parsed from; of no meaning without a cache
  bool sideBySide = true;  // false: no threads in vectors (lanes.h)
};

CodeCache::Key hashOf(std::string_view text);

struct KernelUnit {
  std::uint32_t function;
  Code code = Code::plain;
  bool pointersWait = false;  // functions called through pointers may
};

// A kernel with what it calls. Throws ptx::Failure.
Result<KernelCode> compileKernel(Jit&, const Source&, const KernelUnit&);

// The functions whose address is taken; each is then found in the Jit under ModuleEmitter::pointerName. Yields whether
// they may wait.
Result<bool> compilePointers(Jit&, const Source&, Code);

std::string pointerName(std::uint32_t function, Code);

}  // namespace rouse::cpu::codegen
