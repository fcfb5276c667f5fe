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

}  // namespace rouse::test
