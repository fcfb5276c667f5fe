// Kernels whose threads do not wait, side by side in vectors where the processor has masks, beside the same one thread after the other.
#include <bit>
#include <cmath>

#include "test/ptx/loop_kernels.h"

namespace rouse::test {

TEST_CASE("threads side by side compute what each computes alone") {
  mustBeTheSame("lanes", {"guarded", "branches", "own_loops", "left_apart", "many_ends", "common_loops", "wraps", "null_pointers", "types", "arithmetic", "numbers", "atomics",
                          "one_place", "divisions", "edges", "edges_signed", "edges_back", "edges_wrap", "edges_only", "either", "called", "quotients", "rows", "looks_up", "divided_bytes", "own_or_loaded"});
}

TEST_CASE("threads that wait for others side by side with them are not") { mustBeTheSame("lanes", {"bit_locks", "chained"}); }

TEST_CASE("code for blocks of whole vectors is compiled where there is a difference only") {
  const LoopKernels kernels("lanes", "O3");
  const cpu::KernelCode whole = kernels.code("guarded", cpu::Code::full), any = kernels.code("guarded");
  CHECK(whole.lanes == any.lanes);
  CHECK((whole.loop != any.loop) == any.lanes);
  const cpu::KernelCode chained = kernels.code("chained"), again = kernels.code("chained", cpu::Code::full);
  REQUIRE_FALSE(chained.lanes);
  CHECK(chained.entry == again.entry);
  CHECK(chained.loop == again.loop);
}

TEST_CASE("threads of blocks whose rows are short go side by side by their number") {
  const LoopKernels kernels("lanes", "O3");
  const cpu::KernelCode any = kernels.code("own_loops");
  for (const memory::Dim3& block : {memory::Dim3{8, 8, 1}, memory::Dim3{4, 16, 2}, memory::Dim3{2, 40, 1}, memory::Dim3{1, 1, 64}, memory::Dim3{3, 20, 1}}) {
    INFO(block.x << " x " << block.y << " x " << block.z);
    CHECK((kernels.codeFor("own_loops", block).loop != any.loop) == any.lanes);
  }
  for (const memory::Dim3& block : {memory::Dim3{16, 4, 1}, memory::Dim3{12, 4, 1}, memory::Dim3{8, 1, 1}, memory::Dim3{4, 2, 1}}) {
    INFO(block.x << " x " << block.y << " x " << block.z);
    const cpu::KernelCode own = kernels.codeFor("own_loops", block);
    CHECK((own.loop == any.loop || own.loop == kernels.code("own_loops", cpu::Code::full).loop));
  }
}

TEST_CASE("what one of the threads side by side does ends the launch") {
  mustEndWith("lanes", "faults", CudaError::illegalAddress);
  mustEndWith("lanes", "misaligned", CudaError::misalignedAddress);
  mustEndWith("lanes", "misaligned_own", CudaError::misalignedAddress);
  mustEndWith("lanes", "late_fault", CudaError::illegalAddress);
  mustEndWith("lanes", "edges_misaligned", CudaError::misalignedAddress);
}

// By this processor: where it has no masks, threads are put side by side for less.
TEST_CASE("functions that only compute do not keep threads from being side by side") {
  const LoopKernels kernels("lanes", "O3");
  CHECK(kernels.code("called").lanes == kernels.code("guarded").lanes);
}

TEST_CASE("threads that look up bytes are not side by side, those that divide bytes between them are") {
  const LoopKernels kernels("lanes", "O3");
  CHECK_FALSE(kernels.code("looks_up").lanes);
  CHECK(kernels.code("divided_bytes").lanes == kernels.code("guarded").lanes);
}

// PTX ISA, rsqrt: 2^-22.9.
TEST_CASE("reciprocal roots are as near as they must be") {
  std::vector<std::uint32_t> in = someNumbers();
  std::uint32_t seed = 1;
  for (auto& word : in) word = (seed = seed * 1664525 + 1013904223) & 0x7fffffff;
  const std::uint32_t special[] = {0, 0x80000000, 1, 0x80000001, 0x007fffff, 0x00800000, 0x3f800000, 0x40800000, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0xbf800000};
  std::copy(std::begin(special), std::end(special), in.begin());
  for (const char* variant : {"O3", "O0-G"}) {
    const LoopKernels kernels("lanes", variant);
    for (const bool fibers : {false, true}) {
      const Outcome outcome = runAs(kernels.code("roots"), fibers, {1024, 1, 1}, in, 777);
      REQUIRE(outcome.error == CudaError::success);
      for (std::size_t k = 0; k < 3 * 1024; ++k) {
        INFO(variant << " " << std::hex << in[k] << " " << outcome.words[k]);
        const double exact = 1 / std::sqrt(static_cast<double>(std::bit_cast<float>(in[k])));
        const float found = std::bit_cast<float>(outcome.words[k]);
        const bool isNear = std::isnan(exact)                  ? outcome.words[k] == 0x7fffffff
                            : std::isinf(exact) || exact == 0 ? found == exact
                                                              : std::fabs(found - exact) <= exact * std::exp2(-22.9);
        if (!isNear) FAIL("too far");
      }
    }
  }
}

// PTX ISA, ex2 and lg2: 2^-22; logarithms between 1/2 and 2 absolutely.
TEST_CASE("powers of two and logarithms are as near as they must be") {
  std::vector<std::uint32_t> in = someNumbers();
  const std::uint32_t special[] = {0, 0x80000000, 1, 0x80000001, 0x007fffff, 0x00800000, 0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001, 0x40800000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
                                   0xff800000, 0x7fc00000, 0xffc00000, 0x42fe0000, 0x42ffffff, 0x43000000, 0xc2fc0000, 0xc3150000, 0xc3160000, 0xc3160001, 0x3f3504f3, 0x3f3504f4};
  const auto isNear = [](std::uint32_t word, double exact, double error) {
    const float found = std::bit_cast<float>(word);
    if (std::isnan(exact)) return word == 0x7fffffff;
    const auto rounded = static_cast<float>(exact);
    if (std::isinf(rounded) || exact == 0) return found == rounded;
    return std::fabs(found - exact) <= std::max(error, 0x1p-150);  // half of the least number
  };
  std::uint32_t seed = 1;
  for (std::size_t k = 0; k < in.size(); ++k) {
    seed = seed * 1664525 + 1013904223;
    // Half of them where the results are ordinary.
    in[k] = k < std::size(special) ? special[k] : k % 2 == 0 ? seed : (seed & 0x807fffff) | ((116 + (seed >> 28)) << 23);
  }
  for (const char* variant : {"O3", "O0-G"}) {
    const LoopKernels kernels("lanes", variant);
    for (const bool fibers : {false, true}) {
      const Outcome powers = runAs(kernels.code("powers"), fibers, {1024, 1, 1}, in, 777), logarithms = runAs(kernels.code("logarithms"), fibers, {1024, 1, 1}, in, 777);
      REQUIRE((powers.error == CudaError::success && logarithms.error == CudaError::success));
      for (std::size_t k = 0; k < 3 * 1024; ++k) {
        INFO(variant << " " << std::hex << in[k] << " " << powers.words[k] << " " << logarithms.words[k]);
        const double x = std::bit_cast<float>(in[k]);
        const double power = std::exp2(x), logarithm = std::log2(x);
        if (!isNear(powers.words[k], power, power * 0x1p-22)) FAIL("the power is too far");
        if (!isNear(logarithms.words[k], logarithm, x > 0.5 && x < 2 ? 0x1p-22 : std::fabs(logarithm) * 0x1p-22)) FAIL("the logarithm is too far");
      }
    }
  }
}

// PTX ISA, sin and cos: 2^-20.5, from -pi to pi; tanh: 2^-11, relatively. Beyond that a sine is between -1 and 1.
TEST_CASE("sines, cosines and hyperbolic tangents are as near as they must be") {
  std::vector<std::uint32_t> in = someNumbers();
  const std::uint32_t special[] = {0, 0x80000000, 1, 0x80000001, 0x007fffff, 0x00800000, 0x3f800000, 0xbf800000, 0x3f1fffff, 0x3f200000, 0x3f490fdb, 0x3fc90fdb, 0x40490fdb, 0xc0490fdb, 0x7f7fffff, 0xff7fffff,
                                   0x7f800000, 0xff800000, 0x7fc00000, 0x4e800000, 0x4e800001, 0x4b000000, 0x41200000, 0xc1a00000};
  std::uint32_t seed = 1;
  for (std::size_t k = 0; k < in.size(); ++k) {
    seed = seed * 1664525 + 1013904223;
    in[k] = k < std::size(special) ? special[k] : k % 4 == 0 ? seed : (seed & 0x807fffff) | ((110 + (seed >> 28) + (seed >> 24) % 4) << 23);
  }
  constexpr double kPi = 3.14159265358979323846;
  for (const char* variant : {"O3", "O0-G"}) {
    const LoopKernels kernels("lanes", variant);
    for (const bool fibers : {false, true}) {
      const auto of = [&](std::uint32_t n) { return runAs(kernels.code("waves"), fibers, {1024, 1, 1}, in, n); };
      const Outcome sines = of(777), cosines = of(778), tangents = of(779);
      REQUIRE((sines.error == CudaError::success && cosines.error == CudaError::success && tangents.error == CudaError::success));
      for (std::size_t k = 0; k < 3 * 1024; ++k) {
        INFO(variant << " " << std::hex << in[k] << " " << sines.words[k] << " " << cosines.words[k] << " " << tangents.words[k]);
        const double x = std::bit_cast<float>(in[k]);
        const float sine = std::bit_cast<float>(sines.words[k]), cosine = std::bit_cast<float>(cosines.words[k]), tangent = std::bit_cast<float>(tangents.words[k]);
        if (std::isnan(x) || std::isinf(x)) {
          CHECK((sines.words[k] == 0x7fffffff && cosines.words[k] == 0x7fffffff));
        } else if (std::fabs(x) <= kPi) {
          if (std::fabs(sine - std::sin(x)) > 0x1p-20 * std::sqrt(0.5)) FAIL("the sine is too far");
          if (std::fabs(cosine - std::cos(x)) > 0x1p-20 * std::sqrt(0.5)) FAIL("the cosine is too far");
        } else if (std::fabs(x) < 1e5) {
          if (std::fabs(sine - std::sin(x)) > 0x1p-20 || std::fabs(cosine - std::cos(x)) > 0x1p-20) FAIL("it is too far out there");
        } else if (!(std::fabs(sine) <= 1 && std::fabs(cosine) <= 1)) {
          FAIL("that is no sine");
        }
        if (x == 0) CHECK(sines.words[k] == in[k]);
        if (std::isnan(x) ? tangents.words[k] != 0x7fffffff : std::fabs(tangent - std::tanh(x)) > std::max(std::fabs(std::tanh(x)) * 0x1p-11, 0x1p-150)) FAIL("the tangent is too far");
      }
    }
  }
}

TEST_CASE("which block ended the launch is known where several are done at once") {
  constexpr std::uint32_t kNobody = ~std::uint32_t{0} - 2;
  std::vector<std::uint32_t> in = someNumbers();
  const LoopKernels kernels("lanes", "O3");
  for (const char* name : {"faults", "misaligned_own"}) {
    INFO(name);
    const cpu::KernelCode code = kernels.code(name);
    REQUIRE(code.rows);
    for (const memory::Dim3& block : {memory::Dim3{32, 1, 1}, memory::Dim3{16, 3, 1}}) {
      const std::uint32_t threads = block.x * block.y;
      CHECK(endOf(code, 64, block, in, kNobody).code == CudaError::success);
      in[37 * threads + threads - 3] = kNobody;
      const Error error = endOf(code, 64, block, in, kNobody);
      CHECK(error.code == (std::string_view(name) == "faults" ? CudaError::illegalAddress : CudaError::misalignedAddress));
      CHECK(error.message.find("block [37,0,0]") != std::string::npos);
      in[37 * threads + threads - 3] = 0;
    }
  }
}

}  // namespace rouse::test
