// Kernels whose threads do not wait, side by side in vectors where the processor has masks, beside the same one thread after the other.
#include "test/ptx/loop_kernels.h"

namespace rouse::test {

TEST_CASE("threads side by side compute what each computes alone") {
  mustBeTheSame("lanes", {"guarded", "branches", "own_loops", "common_loops", "wraps", "null_pointers", "types", "arithmetic", "numbers", "atomics",
                          "one_place"});
}

TEST_CASE("what one of the threads side by side does ends the launch") {
  mustEndWith("lanes", "faults", CudaError::illegalAddress);
  mustEndWith("lanes", "misaligned", CudaError::misalignedAddress);
  mustEndWith("lanes", "late_fault", CudaError::illegalAddress);
}

}  // namespace rouse::test
