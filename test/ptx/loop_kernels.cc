#include "test/ptx/loop_kernels.h"

#include <algorithm>
#include <random>
#include <sstream>

#include "server/device/cpu/runtime/device_heap.h"
#include "test/ptx/cuda_source.h"

namespace rouse::test {
namespace {

struct Parameters {
  std::uint32_t n;
  const std::uint32_t* in;
  std::uint32_t* out;
};

constexpr std::uint32_t kWords = kBlocks * 1024 + 64;
constexpr const char* kVariants[] = {"O3", "O0-G"};
constexpr memory::Dim3 kShapes[] = {{1, 1, 1},   {33, 1, 1},   {64, 1, 1}, {256, 1, 1}, {1024, 1, 1},
                                    {5, 7, 3},   {8, 8, 4},    {1, 1, 64}, {16, 16, 1}, {40, 3, 2},
                                    {32, 8, 1},  {64, 2, 2},   {4, 4, 8},  {8, 8, 1},   {16, 3, 3},
                                    {24, 4, 1}};

std::vector<std::string> sorted(std::vector<std::string> lines) {
  std::ranges::sort(lines);
  return lines;
}

}  // namespace

LoopKernels::LoopKernels(const std::string& source, const std::string& variant) {
  auto made = cpu::Program::translate(cudaSource(source, variant));
  INFO((made ? "" : made.error().message));
  REQUIRE(made);
  program_ = std::move(*made);
  storage_ = std::make_unique<ModuleStorage>(*program_);
}

std::uint32_t LoopKernels::indexOf(std::string_view name) const {
  const auto& kernels = program_->description().kernels;
  for (std::uint32_t k = 0; k < kernels.size(); ++k) {
    if (kernels[k].name == name) return k;
  }
  FAIL("no kernel " << name);
  return 0;
}

cpu::KernelCode LoopKernels::code(std::string_view name, cpu::Code kind) const {
  const auto code = program_->compile(indexOf(name), kind);
  INFO((code ? "" : code.error().message));
  REQUIRE(code);
  return *code;
}

cpu::KernelCode LoopKernels::codeFor(std::string_view name, const memory::Dim3& block) const {
  const auto code = program_->compileFor(indexOf(name), block);
  INFO((code ? "" : code.error().message));
  REQUIRE(code);
  return *code;
}

Outcome runAs(const cpu::KernelCode& code, bool fibers, memory::Dim3 block, const std::vector<std::uint32_t>& in, std::uint32_t n, const LoopKernels* kernels) {
  Outcome outcome{CudaError::success, {}, std::vector<std::uint32_t>(kWords, 0xdeadbeef), {}, {}};
  cpu::DeviceHeap heap;
  cpu::Output output;
  cpu::Launch request;
  request.entry = code.entry;
  request.loop = fibers ? nullptr : code.loop;
  request.rows = code.rows;
  request.mayPoll = code.mayPoll;
  request.grid = {kBlocks, 1, 1};
  request.block = block;
  request.sharedBytes = code.staticSharedBytes + 2 * 1024 * 4;
  request.localBytes = code.localBytes;
  request.variables = kernels == nullptr ? nullptr : kernels->variables();
  request.heap = &heap;
  request.output = &output;
  const Error end = cpu::run(request, Parameters{n, in.data(), outcome.words.data()});
  if (!end.message.empty()) UNSCOPED_INFO(end.message);
  outcome.error = end.code;
  outcome.message = end.message;
  std::istringstream text(output.text_);
  for (std::string line; std::getline(text, line);) outcome.printed.push_back(line);
  outcome.errors = output.errors;
  return outcome;
}

Error endOf(const cpu::KernelCode& code, std::uint32_t blocks, memory::Dim3 block, const std::vector<std::uint32_t>& in, std::uint32_t n) {
  std::vector<std::uint32_t> words(kWords);
  REQUIRE(blocks * block.x * block.y * block.z <= kWords);
  cpu::Output output;
  cpu::Launch request;
  request.entry = code.entry;
  request.loop = code.loop;
  request.rows = code.rows;
  request.mayPoll = code.mayPoll;
  request.grid = {blocks, 1, 1};
  request.block = block;
  request.workers = 1;
  request.sharedBytes = code.staticSharedBytes;
  request.localBytes = code.localBytes;
  request.output = &output;
  return cpu::run(request, Parameters{n, in.data(), words.data()});
}

std::vector<std::uint32_t> someNumbers() {
  std::mt19937 random(3);
  std::vector<std::uint32_t> words(kWords);
  for (auto& word : words) word = random() >> 8;
  return words;
}

void mustBeTheSame(const std::string& source, const std::vector<const char*>& names, bool haveLoops, const std::vector<const char*>& variants) {
  const std::vector<std::uint32_t> in = someNumbers();
  for (const char* variant : variants) {
    const LoopKernels kernels(source, variant);
    for (const char* name : names) {
      const cpu::KernelCode code = kernels.code(name);
      INFO(variant << " " << name);
      if (haveLoops) REQUIRE(code.loop != nullptr);
      for (const memory::Dim3& block : kShapes) {
        INFO(block.x << " x " << block.y << " x " << block.z);
        const cpu::KernelCode own = kernels.codeFor(name, block);
        const Outcome loops = runAs(own, false, block, in, 777, &kernels), fibers = runAs(code, true, block, in, 777, &kernels);
        if (!code.wholeWarps && own.loop != code.loop) {
          const Outcome any = runAs(code, false, block, in, 777, &kernels);
          REQUIRE(any.error == CudaError::success);
          REQUIRE(any.words == loops.words);
          REQUIRE(sorted(any.printed) == sorted(loops.printed));
        }
        REQUIRE(fibers.error == CudaError::success);
        REQUIRE(loops.error == CudaError::success);
        const auto differs = std::mismatch(loops.words.begin(), loops.words.end(), fibers.words.begin());
        INFO("word " << differs.first - loops.words.begin());
        REQUIRE(differs.first == loops.words.end());
        REQUIRE(sorted(loops.printed) == sorted(fibers.printed));
      }
    }
  }
}

void mustStore(const std::string& source, const char* name, bool fibers, std::uint32_t threads, const Expected& expected, bool haveLoop) {
  const std::vector<std::uint32_t> in = someNumbers();
  const LoopKernels kernels(source, "O3");
  const cpu::KernelCode code = kernels.code(name);
  INFO(name << ", " << threads);
  if (!fibers && haveLoop) REQUIRE(code.loop != nullptr);
  const Outcome outcome = runAs(code, fibers, {threads, 1, 1}, in, 777, &kernels);
  REQUIRE(outcome.error == CudaError::success);
  std::uint32_t wrong = 0;
  for (std::uint32_t block = 0; block < kBlocks; ++block)
    for (std::uint32_t thread = 0; thread < threads; ++thread) wrong += outcome.words[block * threads + thread] != expected(in, block, thread) ? 1 : 0;
  CHECK(wrong == 0);
}

void mustEndWith(const std::string& source, const char* name, CudaError error) {
  constexpr std::uint32_t kNobody = ~std::uint32_t{0} - 2;
  std::vector<std::uint32_t> in = someNumbers();
  for (const char* variant : kVariants) {
    const LoopKernels kernels(source, variant);
    INFO(variant << " " << name);
    const cpu::KernelCode code = kernels.code(name);
    REQUIRE(code.loop != nullptr);
    CHECK(runAs(code, false, {96, 1, 1}, in, kNobody, &kernels).error == CudaError::success);
    in[130] = kNobody;  // of the second block
    CHECK(runAs(kernels.code(name, cpu::Code::full), false, {96, 1, 1}, in, kNobody, &kernels).error == error);
    const Outcome loop = runAs(code, false, {96, 1, 1}, in, kNobody, &kernels), fibers = runAs(code, true, {96, 1, 1}, in, kNobody, &kernels);
    CHECK(loop.error == error);
    CHECK(fibers.error == error);
    CHECK(loop.errors == fibers.errors);
    // Which thread it was is known where the thread itself says so.
    const auto who = [](const std::string& message) { return message.substr(0, message.find(':')); };
    if (error == CudaError::assertion || error == CudaError::launchFailure) CHECK(who(loop.message) == who(fibers.message));
    if (error == CudaError::assertion) CHECK(loop.errors.find("block: [1,0,0], thread: [34,0,0]") != std::string::npos);
    in[130] = 0;
  }
}

}  // namespace rouse::test
