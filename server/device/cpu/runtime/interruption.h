// Kernel code may be left at any instruction: by a fault, or because its launch is stopped. Runtime code on a fiber may
// be left by a fault only where it touches the kernel's memory, and there it holds neither locks nor memory.
#pragma once

#include "server/device/cpu/runtime/runner.h"

namespace rouse::cpu {

// From a call out of generated code to the return into it.
class RuntimeSection {
 public:
  explicit RuntimeSection(Runner& runner) : runner_(runner) { runner_.leaveKernelCode(); }
  ~RuntimeSection() { runner_.enterKernelCode(); }
  RuntimeSection(const RuntimeSection&) = delete;

 private:
  Runner& runner_;
};

}  // namespace rouse::cpu
