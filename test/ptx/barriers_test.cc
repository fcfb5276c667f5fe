// Kernels with barriers, in loops over threads beside the same with fibers.
#include "test/ptx/loop_kernels.h"

namespace rouse::test {

TEST_CASE("a kernel with barriers computes the same in loops and with fibers") {
  mustBeTheSame("barriers", {"turned", "dynamic_shared", "tiles", "tree", "own_rounds", "early_end", "apart", "local_arrays", "reductions", "numbers",
                             "called", "chosen", "bins"});
}

TEST_CASE("what one thread does between barriers ends the launch") {
  mustEndWith("barriers", "traps", CudaError::launchFailure);
  mustEndWith("barriers", "misaligned", CudaError::misalignedAddress);
  mustEndWith("barriers", "faults", CudaError::illegalAddress);
}

TEST_CASE("a block that waits for a barrier object as a whole does so in loops") {
  mustBeTheSame("objects", {"elected", "mixed"}, false);
  mustBeTheSame("objects", {"tiles"}, true, {"O3"});  // built for debugging it has constants in memory, which nobody places here
  const LoopKernels kernels("objects", "O3");
  for (const char* name : {"elected", "mixed"}) CHECK(kernels.code(name).loop != nullptr);
}

TEST_CASE("threads that wait for barrier objects apart do so as fibers") {
  mustBeTheSame("objects", {"halves", "dropped", "chained", "asked"}, false);
  for (const char* variant : {"O3", "O0-G"}) {
    const LoopKernels kernels("objects", variant);
    for (const char* name : {"halves", "dropped", "chained"}) CHECK(kernels.code(name).loop == nullptr);
  }
}

TEST_CASE("a wait for a barrier object that nobody is left to end ends the launch") {
  const LoopKernels kernels("objects", "O3");
  const cpu::KernelCode code = kernels.code("stuck");
  REQUIRE(code.loop != nullptr);
  std::vector<std::uint32_t> in = someNumbers();
  CHECK(runAs(code, false, {96, 1, 1}, in, ~0u).error == CudaError::success);
  in[130] = ~0u;
  const Error end = endOf(code, 3, {96, 1, 1}, in, ~0u);
  CHECK(end.code == CudaError::launchFailure);
  CHECK(end.message.find("barrier object") != std::string::npos);
}

}  // namespace rouse::test
