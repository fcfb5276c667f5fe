// Kernels that call what was not inlined, in vectors where each lane makes its calls itself, beside the same with fibers.
#include "test/ptx/loop_kernels.h"

namespace rouse::test {
namespace {

constexpr const char* kOfWarps[] = {"called", "contexts", "types", "variables", "pointers", "virtuals", "allocated", "printed", "left_early"};

}  // namespace

TEST_CASE("what lanes of warps call each on its own is what threads call as fibers") {
  mustBeTheSame("calls", {std::begin(kOfWarps), std::end(kOfWarps)}, false);
}

TEST_CASE("whole warps that call functions are vectors") {
  const LoopKernels kernels("calls", "O3");
  if (LoopKernels("warps", "O3").code("shuffles").loop == nullptr) {
    WARN("left out: this processor has no AVX2, and kernels with operations of warps run as fibers");
    return;
  }
  for (const char* name : kOfWarps) {
    INFO(name);
    const cpu::KernelCode code = kernels.code(name);
    CHECK(code.loop != nullptr);
    CHECK(code.wholeWarps);
    for (const cpu::Code form : {cpu::Code(cpu::Code::row), cpu::Code(cpu::Code::flat), cpu::Code(cpu::Code::flat, 8), cpu::Code(cpu::Code::deep), cpu::Code(cpu::Code::deep, 4, 2)})
      CHECK(kernels.code(name, form).loop != nullptr);
  }
}

TEST_CASE("functions that call each other and wait leave a kernel to fibers") {
  for (const char* variant : {"O3", "O0-G"}) CHECK(LoopKernels("calls", variant).code("waits_in_call").loop == nullptr);
}

TEST_CASE("threads that exchange nothing call the same side by side") {
  mustBeTheSame("calls", {"printed_alone", "called_rarely", "called_often", "allocated_alone"});
}

// As a GPU's warp does: what all lanes print in one place comes before what any of them prints in the next one.
TEST_CASE("lanes print one after the other") {
  const LoopKernels kernels("calls", "O3");
  const cpu::KernelCode code = kernels.code("in_turns");
  if (!code.wholeWarps) {
    WARN("left out: this processor has no AVX2, and kernels with operations of warps run as fibers");
    return;
  }
  const Outcome outcome = runAs(code, false, {32, 1, 1}, someNumbers(), 777, &kernels);
  REQUIRE(outcome.error == CudaError::success);
  std::vector<std::string> expected;
  for (unsigned place = 0; place < 2; ++place)
    for (unsigned lane = 0; lane < 32; ++lane) expected.push_back("place " + std::to_string(place) + " lane " + std::to_string(lane));
  CHECK(outcome.printed == expected);
}

TEST_CASE("what a lane calls ends the launch, and tells which thread it was") {
  mustEndWith("calls", "asserts", CudaError::assertion);
  mustEndWith("calls", "asserts_alone", CudaError::assertion);
  mustEndWith("calls", "asserts_in_call", CudaError::assertion);
  mustEndWith("calls", "traps_in_call", CudaError::launchFailure);
  mustEndWith("calls", "frees_twice", CudaError::launchFailure);
  mustEndWith("calls", "faults_in_call", CudaError::illegalAddress);
  mustEndWith("calls", "misaligned_in_call", CudaError::misalignedAddress);
}

}  // namespace rouse::test
