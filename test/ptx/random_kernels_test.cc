// Kernels that nobody has written (random_kernel.h): in vectors, in loops over threads and as fibers they leave the
// same memory.
//
//   ROUSE_RANDOM_KERNELS=FIRST:COUNT   these seeds, rather than a few
#include <sys/mman.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "test/cpu/launcher.h"
#include "test/ptx/random_kernel.h"
#include "test/ptx/served_program.h"

namespace rouse::test {
namespace {

constexpr std::uint64_t kFirst = 1, kCount = 48;

// Enough of them that one worker takes several at once, where kernels are for that (KernelCode::rows).
constexpr memory::Dim3 kFewBlocks{2, 1, 1}, kRows{5, 10, 1};

// As far as any index goes, most of it zeros: 4 GiB elements of 8 bytes above, 2 GiB below.
class Source {
 public:
  Source() {
    void* const made =
        mmap(nullptr, kBelow + kAbove, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    REQUIRE(made != MAP_FAILED);
    base_ = static_cast<std::byte*>(made);
    std::mt19937 random(7);
    // Where indices of 0, 2^31 and 2^32 lead to, by the size of elements.
    std::vector<std::int64_t> places{0};
    for (const std::int64_t bytes : {1, 2, 4, 8}) {
      for (const std::int64_t index : {std::int64_t{1} << 32, std::int64_t{1} << 31, -(std::int64_t{1} << 31)})
        places.push_back(index * bytes);
    }
    for (const std::int64_t place : places) {
      for (std::int64_t at = -kFilled; at < kFilled; at += 4) {
        std::uint32_t word = random();
        if ((word & 7) == 0) word = random() % 64;
        if ((word & 31) == 1) word = 0x7f800000u ^ (word & 0x80000000u);
        std::memcpy(base_ + kBelow + place + at, &word, sizeof word);
      }
    }
  }
  ~Source() { munmap(base_, kBelow + kAbove); }
  const std::byte* zero() const { return base_ + kBelow; }

 private:
  static constexpr std::int64_t kFilled = std::int64_t{32} << 10;
  static constexpr std::size_t kBelow = std::size_t{17} << 30, kAbove = std::size_t{33} << 30;
  std::byte* base_;
};

struct Result {
  Error error;
  std::vector<std::byte> memory;
};

Result runAs(const cpu::KernelCode& code, bool fibers, memory::Dim3 grid, memory::Dim3 block, const Source& source,
             std::uint32_t n) {
  const std::size_t threads = std::size_t{grid.x} * grid.y * block.x * block.y * block.z;
  const std::size_t own = threads * kOwnBytes, columns = threads * kColumns * 4, bins = kBins * 12;
  Result result;
  result.memory.resize(own + columns + bins);
  for (std::size_t k = 0; k < result.memory.size(); ++k) result.memory[k] = static_cast<std::byte>(k * 37 >> 3);
  cpu::Output output;
  cpu::Launch request = cpu::launchOf(code, fibers);
  request.grid = grid;
  request.block = block;
  request.sharedBytes = randomSharedBytes(block.x * block.y * block.z);
  request.output = &output;
  RandomParameters parameters;
  parameters.in = source.zero();
  parameters.own = parameters.again = result.memory.data();
  parameters.columns = parameters.own + own;
  parameters.bins = parameters.columns + columns;
  parameters.n = n;
  result.error = cpu::run(request, parameters);
  return result;
}

cpu::KernelCode compile(cpu::Program& program, cpu::Code kind = cpu::Code::plain) {
  const auto code = program.compile(0, kind);
  INFO((code ? "" : code.error().message));
  REQUIRE(code);
  return *code;
}

// For blocks of that shape, as a launch chooses, or half of them.
cpu::KernelCode compileFor(cpu::Program& program, const cpu::KernelCode& plain, memory::Dim3 block, bool full) {
  if (!plain.wholeWarps && !full) return plain;
  const auto code = program.compileFor(0, block);
  INFO((code ? "" : code.error().message));
  REQUIRE(code);
  return *code;
}

std::vector<memory::Dim3> shapesOf(const RandomKernel& kernel, std::mt19937& random) {
  static constexpr memory::Dim3 kAny[] = {{1, 1, 1},   {7, 1, 1},  {16, 1, 1}, {33, 1, 1}, {64, 1, 1}, {100, 1, 1},
                                          {256, 1, 1}, {16, 4, 1}, {8, 8, 2},  {40, 3, 1}, {17, 3, 2},
                                          {4, 8, 1},   {2, 16, 3}, {1, 40, 1}, {3, 11, 1}, {8, 5, 1}};
  static constexpr memory::Dim3 kWhole[] = {{32, 1, 1}, {64, 1, 1}, {128, 1, 1}, {32, 3, 1},
                                            {64, 2, 2}, {16, 4, 1}, {96, 1, 1},  {2, 32, 1},
                                            {8, 8, 1},  {16, 16, 1}, {48, 2, 1},  {1, 64, 1},
                                            {8, 4, 2},  {24, 4, 1}, {16, 2, 3},  {4, 4, 8},
                                            {8, 3, 4},  {12, 4, 2}, {1, 1, 64},  {40, 4, 2}};
  std::vector<memory::Dim3> shapes;
  for (unsigned k = 0; k < 3; ++k)
    shapes.push_back(kernel.wholeWarps ? kWhole[random() % std::size(kWhole)] : kAny[random() % std::size(kAny)]);
  return shapes;
}

// Whether there was a loop.
bool check(std::uint64_t seed, const Source& source) {
  const RandomKernel kernel = randomKernel(seed);
  INFO("ROUSE_RANDOM_KERNELS=" << seed << ":1\n" << kernel.text);
  const auto inVectors = translateServed(kernel.text, true), inLoops = translateServed(kernel.text, false);
  const cpu::KernelCode vectors = compile(*inVectors), loops = compile(*inLoops);
  const memory::Dim3 grid = vectors.rows || loops.rows ? kRows : kFewBlocks;
  std::mt19937 random(static_cast<std::uint32_t>(seed));
  for (const memory::Dim3& block : shapesOf(kernel, random)) {
    INFO("block " << block.x << " x " << block.y << " x " << block.z);
    const std::uint32_t n = random() % 40;
    // What is decided by rows is not decided by warps where those are others: then lanes wait for some that never come.
    if (kernel.decidesByRows && block.x > 32 && block.x % 32 != 0) continue;
    const Result fibers = runAs(vectors, true, grid, block, source, n);
    INFO("fibers: " << fibers.error.message);
    if (!kernel.mayFault) REQUIRE(fibers.error.code == CudaError::success);
    for (const cpu::KernelCode* code : {&vectors, &loops}) {
      INFO((code == &vectors ? "vectors" : "loops"));
      cpu::Program& program = code == &vectors ? *inVectors : *inLoops;
      const Result other = runAs(compileFor(program, *code, block, n % 2 == 0), false, grid, block, source, n);
      INFO(other.error.message);
      REQUIRE(other.error.code == fibers.error.code);
      if (fibers.error.code != CudaError::success) continue;
      const auto differs = std::mismatch(other.memory.begin(), other.memory.end(), fibers.memory.begin());
      INFO("byte " << differs.first - other.memory.begin() << ": thread "
                   << (differs.first - other.memory.begin()) / kOwnBytes << ", its byte "
                   << (differs.first - other.memory.begin()) % kOwnBytes);
      REQUIRE(differs.first == other.memory.end());
    }
  }
  return vectors.loop != nullptr;
}

}  // namespace

TEST_CASE("random kernels leave the same memory in vectors, in loops and as fibers") {
  std::uint64_t first = kFirst, count = kCount;
  if (const char* asked = std::getenv("ROUSE_RANDOM_KERNELS")) {
    char* end = nullptr;
    first = std::strtoull(asked, &end, 10);
    REQUIRE(*end == ':');
    count = std::strtoull(end + 1, &end, 10);
    REQUIRE(*end == '\0');
  }
  const Source source;
  std::uint64_t withLoops = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) withLoops += check(seed, source) ? 1 : 0;
  // Most must be what this is about.
  if (count >= kCount) CHECK(withLoops > count / 2);
}

// LLVM 19 goes round in circles there, with AVX-512 (codegen/mask_selects.cc).
TEST_CASE("masks that one condition selects are compiled at the first attempt") {
  const auto service = cpu::CompileService::start({.secondsAtLeast = 100});
  INFO((service ? "" : service.error().message));
  REQUIRE(service);
  const auto program = cpu::Program::translate(randomKernel(9067).text, {.service = *service});
  REQUIRE(program);
  const auto start = std::chrono::steady_clock::now();
  compile(**program);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(90));
}

}  // namespace rouse::test
