// Kernels k(n, in, out) of test/ptx/cuda, in loops over threads or with fibers, on the real runtime.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/device/cpu/program.h"
#include "test/cpu/launcher.h"
#include "test/ptx/module_storage.h"

namespace rouse::test {

class LoopKernels {
 public:
  // Of cuda/SOURCE.cu, compiled as `variant` (cuda_source.h). Fails the test if that does not translate.
  LoopKernels(const std::string& source, const std::string& variant);
  cpu::KernelCode code(std::string_view name, cpu::Code = cpu::Code::plain) const;
  cpu::KernelCode codeFor(std::string_view name, const memory::Dim3& block) const;
  const std::uint64_t* variables() const { return storage_->addresses().data(); }

 private:
  std::uint32_t indexOf(std::string_view name) const;

  std::unique_ptr<cpu::Program> program_;
  std::unique_ptr<ModuleStorage> storage_;
};

struct Outcome {
  CudaError error;
  std::string message;
  std::vector<std::uint32_t> words;
  std::vector<std::string> printed;  // lines
  std::string errors;              // what assertions have said
};

inline constexpr std::uint32_t kBlocks = 3;  // of each launch

// The blocks are of the shape. `kernels`: whose code it is, where it has variables.
Outcome runAs(const cpu::KernelCode&, bool fibers, memory::Dim3 block, const std::vector<std::uint32_t>& in, std::uint32_t n, const LoopKernels* kernels = nullptr);

// How a launch of so many blocks ends, all of which one worker does.
Error endOf(const cpu::KernelCode&, std::uint32_t blocks, memory::Dim3 block, const std::vector<std::uint32_t>& in, std::uint32_t n);

// As many as `in` must have, below 2^24.
std::vector<std::uint32_t> someNumbers();

// All `names`, all `variants`, blocks of many shapes: loops and fibers give the same words. `haveLoops`: which all of them must have.
void mustBeTheSame(const std::string& source, const std::vector<const char*>& names, bool haveLoops = true,
                   const std::vector<const char*>& variants = {"O3", "O0-G"});
// What each thread of a launch of blocks of `threads` is to have stored, in loops or as fibers: expected(in, block, thread). `haveLoop`: which it must have.
using Expected = std::function<std::uint32_t(const std::vector<std::uint32_t>& in, std::uint32_t block, std::uint32_t thread)>;
void mustStore(const std::string& source, const char* name, bool fibers, std::uint32_t threads, const Expected&, bool haveLoop = true);
// Nothing happens while no word of `in` is `n`; where one is, both end with the error.
void mustEndWith(const std::string& source, const char* name, CudaError error);

}  // namespace rouse::test
