// `rouse-bench kernels`: what the CPU device makes of kernels, beside the same computations in C++.
#pragma once

namespace CLI {
class App;
}

namespace rouse::bench {

void addKernels(CLI::App& app, int& status);

}  // namespace rouse::bench
