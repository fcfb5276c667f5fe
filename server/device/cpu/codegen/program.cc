#include "server/device/cpu/program.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "server/device/cpu/codegen/compile.h"
#include "server/device/cpu/codegen/device_runtime.h"
#include "server/device/ptx/check_module.h"
#include "server/device/ptx/describe.h"
#include "server/device/ptx/failure.h"
#include "server/device/ptx/parser.h"
#include "server/device/ptx/source_line.h"

namespace rouse::cpu {
namespace {

// Compilation is serialized by `mutex_`: one unit at a time for each program, any number of programs at once.
class PtxProgram : public Program {
 public:
  PtxProgram(ptx::Module module, Compilation how, const CodeCache::Key& text)
      : module_(std::move(module)),
        graph_(module_),
        description_(ptx::describe(module_, graph_)),
        how_(std::move(how)),
        source_{module_, graph_, how_.cache.get(), how_.service == nullptr ? nullptr : &compiler_.emplace(*how_.service, module_.text), text, how_.sideBySide} {}

  const memory::ModuleDescription& description() const override { return description_.module; }
  const std::vector<InitialValue>& initialValues() const override { return description_.initialValues; }

  Result<KernelCode> compile(std::uint32_t kernel, Code kind) override {
    if (kernel >= description_.functions.size()) {
      return Error{CudaError::invalidDeviceFunction,
                   "kernel " + std::to_string(kernel) + " of a module that has " + std::to_string(description_.functions.size())};
    }
    const std::lock_guard lock(mutex_);
    if (const auto known = kernels_.find({kernel, kind}); known != kernels_.end()) return known->second;
    if (kind == Code::plain || kind == Code::full) {
      const auto other = kernels_.find({kernel, kind == Code::plain ? Code::full : Code::plain});
      if (other != kernels_.end() && !other->second.lanes) return other->second;
    }
    return guarded<KernelCode>([&]() -> Result<KernelCode> {
      const std::uint32_t function = description_.functions[kernel];
      if (Status covered = isCovered(graph_.reachable(function)); !covered) return covered.error();
      bool pointersWait = false;
      if (Status ready = prepare(); !ready) return ready.error();
      if (usesPointers(function)) {
        if (kind == Code::clustered && pointersKnowBlocks())
          return Error{CudaError::notSupported, "clusters of several blocks whose kernel calls functions through pointers that have shared variables or ask for their cluster"};
        const Result<bool> waits = pointers(kind == Code::checked);
        if (!waits) return waits.error();
        pointersWait = *waits && graph_.reachesIndirectCall(function);
      }
      Result<KernelCode> code = codegen::compileKernel(*jit_, source_, {function, kind, pointersWait});
      if (code) {
        code->firstSetsAlong = graph_.firstSetsAlong(function);
        kernels_[{kernel, kind}] = *code;
      }
      return code;
    });
  }

  bool usesClusters(std::uint32_t kernel) const override { return kernel < description_.functions.size() && graph_.usesClusters(description_.functions[kernel]); }

  Result<std::uint64_t> functionAddress(std::uint32_t index, Code kind) override {
    const auto& known = graph_.addressTaken();
    if (std::find(known.begin(), known.end(), index) == known.end()) {
      return Error{CudaError::invalidDeviceFunction,
                   "function " + std::to_string(index) + " has no address in the module"};
    }
    const std::lock_guard lock(mutex_);
    if (!pointersWait_[kind == Code::checked]) {
      const auto compiled = guarded<bool>([&]() -> Result<bool> {
        if (Status ready = prepare(); !ready) return ready.error();
        return pointers(kind == Code::checked);
      });
      if (!compiled) return compiled.error();
    }
    return jit_->find(codegen::pointerName(index, kind));
  }

  InstructionSite site(std::uint32_t begin) const override {
    InstructionSite found;
    for (const ptx::Function& function : module_.functions) {
      const auto& all = function.instructions;
      const auto at = std::ranges::find(all, begin, &ptx::Instruction::begin);
      if (at == all.end()) continue;
      found.function = function.name;
      found.text = module_.textOf(*at);
      found.line = at->line;
      if (auto source = ptx::sourceLineAt(module_.text, begin)) {
        const bool inlined = !source->inlinedFile.empty();
        found.file = inlined ? source->file + ":" + std::to_string(source->line) + ", inlined at " + source->inlinedFile : std::move(source->file);
        found.fileLine = inlined ? source->inlinedLine : source->line;
      }
      break;
    }
    return found;
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

  Status isCovered(const std::vector<std::uint32_t>& functions) const {
    for (const std::uint32_t function : functions) {
      if (const std::string& why = module_.functions[function].notCovered; !why.empty()) return Error{CudaError::notSupported, why};
    }
    return {};
  }

  bool usesPointers(std::uint32_t function) const {
    for (const std::uint32_t reached : graph_.reachable(function)) {
      if (graph_.facts(reached).callsIndirectly || !graph_.facts(reached).addresses.empty()) return true;
    }
    return false;
  }

  // Functions that are called through pointers are compiled once, for blocks without others.
  bool pointersKnowBlocks() const {
    return std::ranges::any_of(graph_.addressTakenReachable(), [&](std::uint32_t function) { return !graph_.facts(function).shared.empty() || graph_.facts(function).usesClusters; });
  }

  // Functions that are called through pointers, compiled once. Whether they may wait.
  Result<bool> pointers(bool checked) {
    auto& known = pointersWait_[checked];
    if (!known) {
      if (Status covered = isCovered(graph_.addressTakenReachable()); !covered) return covered.error();
      const Result<bool> waits = codegen::compilePointers(*jit_, source_, checked ? Code::checked : Code::plain);
      if (!waits) return waits.error();
      known = *waits;
    }
    return *known;
  }

  const ptx::Module module_;
  const ptx::CallGraph graph_;
  const ptx::Description description_;
  const Compilation how_;
  std::optional<codegen::ProgramCompiler> compiler_;
  const codegen::Source source_;
  std::mutex mutex_;
  std::unique_ptr<codegen::Jit> jit_;
  std::array<std::optional<bool>, 2> pointersWait_;  // of checked code the second
  std::map<std::pair<std::uint32_t, Code>, KernelCode> kernels_;
};

constexpr std::uint32_t kWarp = 32;

// Of threads that go by their number in the block, the form that knows most of such a block.
Code byNumber(const memory::Dim3& block) {
  const auto known = [](std::uint32_t size) { return std::has_single_bit(size) ? size : 0; };
  if (block.y * block.z == 1) return Code::row;
  return block.z == 1 ? Code(Code::flat, known(block.x)) : Code(Code::deep, known(block.x), known(block.y));
}

// Whether there are so few neighbours in x that vectors of them are mostly empty: threads by their number fill them. What they load then lies in several rows, so that a kernel that does little else is better as
// it is, unless the rows are as good as none.
bool isNarrow(const memory::Dim3& block, bool isShort) {
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  return threads > block.x && threads >= kSideBySide && (block.x <= 2 || (!isShort && (block.x <= 4 || block.x == 8)));
}

}  // namespace

Result<KernelCode> Program::compileFor(std::uint32_t kernel, const memory::Dim3& block) {
  auto code = compile(kernel, block.x % kSideBySide == 0 ? Code::full : Code::plain);
  if (!code) return code;
  const bool mustBe = code->wholeWarps && block.x % kWarp != 0;
  if (!mustBe && !(code->lanes && isNarrow(block, code->rows))) return code;
  const Code form = byNumber(block);
  // Where whole rows leave it to fibers, so does what knows no more of the block than that.
  const bool mayHelp = code->loop != nullptr || form.width != 0;
  const auto other = mayHelp ? compile(kernel, form) : Result<KernelCode>(KernelCode{});
  if (!mustBe && !(other && other->loop != nullptr)) return code;
  code->wholeWarps = code->rows = false;
  code->loop = other ? other->loop : nullptr;
  code->frameBytes = other ? other->frameBytes : 0;
  code->mayPoll = other && other->mayPoll;
  return code;
}

Result<std::unique_ptr<Program>> Program::translate(std::string_view text, Compilation how) {
  try {
    const auto uncovered = how.leavesOut ? ptx::Uncovered::leftOut : ptx::Uncovered::fails;
    ptx::Module module = ptx::parse(text, uncovered);
    std::string linked;
    if (const std::string_view runtime = codegen::deviceRuntimeFor(module); !runtime.empty()) {
      linked.append(module.text).append(runtime);
      module = ptx::parse(text = linked, uncovered);
    }
    ptx::checkModule(module, uncovered);
    // Where no kernel is covered, who loads the module is told at once.
    const auto isKernel = [](const ptx::Function& function) { return function.isKernel && function.isDefined; };
    const auto first = std::ranges::find_if(module.functions, [](const ptx::Function& function) { return !function.notCovered.empty(); });
    if (first != module.functions.end() && std::ranges::none_of(module.functions, [&](const ptx::Function& function) { return isKernel(function) && function.notCovered.empty(); }))
      return Error{CudaError::notSupported, first->notCovered};
    const CodeCache::Key hash = how.cache == nullptr ? CodeCache::Key{} : codegen::hashOf(text);
    return std::unique_ptr<Program>(std::make_unique<PtxProgram>(std::move(module), std::move(how), hash));
  } catch (const ptx::Failure& failure) {
    return failure.error();
  }
}

}  // namespace rouse::cpu
