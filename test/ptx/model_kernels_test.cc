// Kernels made from a seed (model_kernel.h): nvcc's PTX of them leaves in memory what the model says, in vectors, in loops over threads and as fibers.
//
//   ROUSE_MODEL_KERNELS=FIRST:COUNT   these seeds, compiled now, rather than the few that were when the tests were built
//   ROUSE_MODEL_FLAGS="-arch=compute_80 -G"   by nvcc with these, rather than -arch=compute_90 -O3
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "test/cpu/launcher.h"
#include "test/ptx/model_kernel.h"
#include "test/ptx/served_program.h"

namespace rouse::test {
namespace {

// Of plain kernels enough that one worker takes several at once, where they are for that (KernelCode::rows).
constexpr unsigned kFewBlocks = 3;

struct Parameters {
  const void* in;
  void* out;
  void* board;
  std::uint32_t n;
};

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) FAIL("no " << path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string ptxOf(const std::vector<model::Kernel>& kernels) {
  const std::filesystem::path base = std::filesystem::temp_directory_path() / ("rouse-model-" + std::to_string(getpid()));
  const std::string source = base.string() + ".cu", ptx = base.string() + ".ptx";
  std::ofstream(source) << model::print(kernels);
  const char* const flags = std::getenv("ROUSE_MODEL_FLAGS");
  const int end = std::system((std::string(ROUSE_MODEL_NVCC) + " " + (flags == nullptr ? "-arch=compute_90 -O3" : flags) + " -o " + ptx + " " + source).c_str());
  std::filesystem::remove(source);
  REQUIRE(end == 0);
  const std::string text = read(ptx);
  std::filesystem::remove(ptx);
  return text;
}

std::uint32_t indexOf(const cpu::Program& program, const std::string& name) {
  const auto& kernels = program.description().kernels;
  for (std::uint32_t k = 0; k < kernels.size(); ++k) {
    if (kernels[k].name == name) return k;
  }
  FAIL("no kernel " << name);
  return 0;
}

struct Result {
  Error error;
  std::vector<std::uint32_t> out;
};

Result runAs(const cpu::KernelCode& code, bool fibers, const model::Shape& shape, unsigned blocks, unsigned workers, unsigned n, const model::Memory& memory) {
  Result result{{}, memory.out};
  std::vector<std::uint32_t> board = memory.board;
  cpu::Output output;
  cpu::Launch request = cpu::launchOf(code, fibers);
  request.workers = workers;
  request.grid = {blocks, 1, 1};
  request.block = {shape.x, shape.y, shape.z};
  request.sharedBytes = code.staticSharedBytes;
  request.output = &output;
  result.error = cpu::run(request, Parameters{memory.in.data(), result.out.data(), board.data(), n});
  return result;
}

struct Way {
  const char* name;
  const cpu::KernelCode* code;
  bool fibers;
  unsigned workers;
};

// Whether it has a loop.
bool check(std::uint64_t seed, const std::string& name, cpu::Program& inVectors, cpu::Program& inLoops) {
  const model::Kernel kernel = model::makeKernel(seed);
  INFO("ROUSE_MODEL_KERNELS=" << seed << ":1\n" << model::print({kernel}));
  std::mt19937 random(static_cast<std::uint32_t>(seed));
  const std::uint32_t index = indexOf(inVectors, name);
  const auto vectors = inVectors.compile(index), loops = inLoops.compile(index);
  INFO((vectors && loops ? "" : (vectors ? loops : vectors).error().message));
  REQUIRE((vectors && loops));
  std::vector<model::Shape> shapes = kernel.shapes;
  std::shuffle(shapes.begin(), shapes.end(), random);
  shapes.resize(std::min<std::size_t>(shapes.size(), 2));
  for (const model::Shape& shape : shapes) {
    const unsigned n = random() % 40, blocks = kernel.isPlain ? model::kMostBlocks : kFewBlocks;
    model::Memory memory;
    for (unsigned k = 0; k < model::kAllInput; ++k) memory.in.push_back(random() % 3 == 0 ? random() % 64 : random());
    memory.out.assign(std::size_t{blocks} * shape.threads() * (model::kWords + model::kColumns), 0xabababab);
    memory.board.assign(std::size_t{blocks} * model::kBoard, 0);
    model::Memory expected = memory;
    model::run(kernel, shape, blocks, n, expected);
    const auto own = inVectors.compileFor(index, {shape.x, shape.y, shape.z});
    INFO((own ? "" : own.error().message));
    REQUIRE(own);
    for (const Way& way : {Way{"as a launch has it", &*own, false, 1}, Way{"in vectors", &*vectors, false, 2}, Way{"in loops", &*loops, false, 1},
                           Way{"fibers", &*vectors, true, 1}, Way{"fibers of the other", &*loops, true, 2}}) {
      if (!way.fibers && way.code != &*own && way.code->wholeWarps) continue;
      INFO("block " << shape.x << " x " << shape.y << " x " << shape.z << ", n " << n << ", " << way.name << (way.code->loop == nullptr ? ", no loop" : ""));
      const Result found = runAs(*way.code, way.fibers, shape, blocks, way.workers, n, memory);
      INFO(found.error.message);
      REQUIRE(found.error.code == CudaError::success);
      const auto at = std::mismatch(found.out.begin(), found.out.end(), expected.out.begin()).first;
      INFO("word " << at - found.out.begin() << ": thread " << (at - found.out.begin()) / model::kWords << ", its word " << (at - found.out.begin()) % model::kWords);
      REQUIRE(at == found.out.end());
    }
  }
  return vectors->loop != nullptr;
}

}  // namespace

TEST_CASE("kernels leave in memory what a model of them does") {
  constexpr std::uint64_t kAtOnce = 8;
  std::uint64_t first = 1, count = model::kBuilt;
  const char* const asked = std::getenv("ROUSE_MODEL_KERNELS");
  if (asked != nullptr) {
    char* end = nullptr;
    first = std::strtoull(asked, &end, 10);
    REQUIRE(*end == ':');
    count = std::strtoull(end + 1, &end, 10);
    REQUIRE(*end == '\0');
  }
  for (std::uint64_t from = first; from < first + count; from += kAtOnce) {
    const std::uint64_t end = std::min(from + kAtOnce, first + count);
    std::vector<model::Kernel> kernels;
    for (std::uint64_t seed = from; seed < end; ++seed) kernels.push_back(model::makeKernel(seed));
    const std::string text = asked == nullptr ? read(ROUSE_MODEL_PTX) : ptxOf(kernels);
    const auto inVectors = translateServed(text, true), inLoops = translateServed(text, false);
    std::uint64_t withLoops = 0;
    for (std::uint64_t seed = from; seed < end; ++seed) withLoops += check(seed, "k" + std::to_string(seed - from), *inVectors, *inLoops) ? 1 : 0;
    // Most must be what this is about.
    if (asked == nullptr) CHECK(withLoops > kernels.size() / 2);
  }
}

}  // namespace rouse::test
