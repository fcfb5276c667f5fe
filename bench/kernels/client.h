// The half of `rouse-bench kernels` that runs as a program of the pool. Prints one JSON object.
#pragma once

#include <string>

namespace rouse::bench {

// ratio_NAME, ms_NAME, reference_ms_NAME, difference_NAME of each computation, and `wrong`: names of those whose results differ by more
// than 1e-4, or at all where they are integers. Exit status.
int runKernels(double scale, int repetitions, unsigned threads);
// first_ms and second_ms: objects, by kernel, of its first small launch in this process and of the fastest after that.
int runFirstLaunches();

}  // namespace rouse::bench
