// Prints the kernels that the test has when it is built (model_kernel.h), as CUDA C++.
#include <cstdio>

#include "test/ptx/model_kernel.h"

int main() {
  std::vector<rouse::test::model::Kernel> kernels;
  for (unsigned seed = 1; seed <= rouse::test::model::kBuilt; ++seed) kernels.push_back(rouse::test::model::makeKernel(seed));
  std::fputs(rouse::test::model::print(kernels).c_str(), stdout);
}
