// Kernel code may be left at any instruction: by a fault, or because its launch is stopped. Runtime code on a fiber may
// be left by a fault only where it touches the kernel's memory, and there it holds neither locks nor memory.
#pragma once

#include "server/device/cpu/runtime/block.h"
#include "server/device/cpu/runtime/runner.h"

namespace rouse::cpu {

// From a call out of generated code to the return into it. An interrupt() in between is not lost: it comes after the
// launch was stopped, which is looked at on the way back.
class RuntimeSection {
 public:
  explicit RuntimeSection(Block& block) : block_(block) { block_.runner().leaveKernelCode(); }
  ~RuntimeSection() { block_.enterKernelCode(); }
  RuntimeSection(const RuntimeSection&) = delete;

 private:
  Block& block_;
};

}  // namespace rouse::cpu
