#include "server/device/cpu/program.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "server/device/cpu/codegen/compile.h"
#include "server/device/cpu/ptx/check_module.h"
#include "server/device/cpu/ptx/describe.h"
#include "server/device/cpu/ptx/failure.h"
#include "server/device/cpu/ptx/parser.h"

namespace rouse::cpu {
namespace {

// Compilation is serialized by `mutex_`: one unit at a time for each program, any number of programs at once.
class PtxProgram : public Program {
 public:
  PtxProgram(ptx::Module module, std::shared_ptr<CodeCache> cache, const CodeCache::Key& text)
      : module_(std::move(module)),
        graph_(module_),
        description_(ptx::describe(module_, graph_)),
        cache_(std::move(cache)),
        source_{module_, graph_, cache_.get(), text},
        kernels_(description_.functions.size()) {}

  const memory::ModuleDescription& description() const override { return description_.module; }
  const std::vector<InitialValue>& initialValues() const override { return description_.initialValues; }

  Result<KernelCode> compile(std::uint32_t kernel) override {
    if (kernel >= kernels_.size()) {
      return Error{CudaError::invalidDeviceFunction,
                   "kernel " + std::to_string(kernel) + " of a module that has " + std::to_string(kernels_.size())};
    }
    const std::lock_guard lock(mutex_);
    if (kernels_[kernel]) return *kernels_[kernel];
    return guarded<KernelCode>([&]() -> Result<KernelCode> {
      const std::uint32_t function = description_.functions[kernel];
      bool pointersWait = false;
      if (Status ready = prepare(); !ready) return ready.error();
      if (usesPointers(function)) {
        const Result<bool> waits = pointers();
        if (!waits) return waits.error();
        pointersWait = *waits && graph_.reachesIndirectCall(function);
      }
      Result<KernelCode> code = codegen::compileKernel(*jit_, source_, function, pointersWait);
      if (code) kernels_[kernel] = *code;
      return code;
    });
  }

  Result<std::uint64_t> functionAddress(std::uint32_t index) override {
    const auto& known = graph_.addressTaken();
    if (std::find(known.begin(), known.end(), index) == known.end()) {
      return Error{CudaError::invalidDeviceFunction,
                   "function " + std::to_string(index) + " has no address in the module"};
    }
    const std::lock_guard lock(mutex_);
    return guarded<std::uint64_t>([&]() -> Result<std::uint64_t> {
      if (Status ready = prepare(); !ready) return ready.error();
      if (const Result<bool> waits = pointers(); !waits) return waits.error();
      return jit_->find(codegen::pointerName(index));
    });
  }

  bool handlesCodeAddresses() const override {
    if (!graph_.addressTaken().empty()) return true;
    for (std::uint32_t function = 0; function < module_.functions.size(); ++function)
      if (graph_.facts(function).callsIndirectly) return true;
    return false;
  }

 private:
  template <class Value, class Body>
  static Result<Value> guarded(Body body) {
    try {
      return body();
    } catch (const ptx::Failure& failure) {
      return failure.error();
    }
  }

  Status prepare() {
    if (jit_ != nullptr) return {};
    Result<std::unique_ptr<codegen::Jit>> made = codegen::Jit::create();
    if (!made) return made.error();
    jit_ = std::move(*made);
    return {};
  }

  bool usesPointers(std::uint32_t function) const {
    for (const std::uint32_t reached : graph_.reachable(function)) {
      if (graph_.facts(reached).callsIndirectly || !graph_.facts(reached).addresses.empty()) return true;
    }
    return false;
  }

  // Functions that are called through pointers, compiled once. Whether they may wait.
  Result<bool> pointers() {
    if (!pointersWait_) {
      const Result<bool> waits = codegen::compilePointers(*jit_, source_);
      if (!waits) return waits.error();
      pointersWait_ = *waits;
    }
    return *pointersWait_;
  }

  const ptx::Module module_;
  const ptx::CallGraph graph_;
  const ptx::Description description_;
  const std::shared_ptr<CodeCache> cache_;
  const codegen::Source source_;
  std::mutex mutex_;
  std::unique_ptr<codegen::Jit> jit_;
  std::optional<bool> pointersWait_;
  std::vector<std::optional<KernelCode>> kernels_;
};

}  // namespace

Result<std::unique_ptr<Program>> Program::translate(std::string_view text, std::shared_ptr<CodeCache> cache) {
  try {
    ptx::Module module = ptx::parse(text);
    ptx::checkModule(module);
    const CodeCache::Key hash = cache == nullptr ? CodeCache::Key{} : codegen::hashOf(text);
    return std::unique_ptr<Program>(std::make_unique<PtxProgram>(std::move(module), std::move(cache), hash));
  } catch (const ptx::Failure& failure) {
    return failure.error();
  }
}

}  // namespace rouse::cpu
