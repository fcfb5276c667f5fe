// A failing assert() in a kernel: cudaErrorAssert, reported at the next synchronization and by everything after it; a passing one
// costs nothing. The message goes to stderr.
// expect-stderr: device_assert.cu:
// expect-stderr: Assertion `data[i] < limit
// faults
#include <cassert>

#include "check.h"

__global__ void verify(const int* data, int n, int limit) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) assert(data[i] < limit && "too large");
}

int main() {
  const int n = 256;
  std::vector<int> data(n);
  for (int i = 0; i < n; ++i) data[i] = i;
  int* device = check::toDevice(data);
  verify<<<2, 128>>>(device, n, 256);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  verify<<<2, 128>>>(device, n, 255);
  EXPECT_ERROR(cudaErrorAssert, cudaDeviceSynchronize());
  EXPECT_ERROR(cudaErrorAssert, cudaMemcpy(data.data(), device, 4, cudaMemcpyDeviceToHost));
  EXPECT_ERROR(cudaErrorAssert, cudaGetLastError());
  int* more;
  EXPECT_ERROR(cudaErrorAssert, cudaMalloc(&more, 64));
  return check::done();
}
