// cudaDeviceReset of a healthy device: memory is given back, modules come back with their initial values, the program starts anew;
// cudaDeviceSynchronize and flags around it.
// alone
#include "check.h"

__device__ int state = 17;

__global__ void change(int* out) {
  *out = state;
  state = 99;
}

int main() {
  size_t before = 0, total = 0, after = 0;
  CHECK(cudaSetDevice(0));
  for (int round = 0; round < 3; ++round) {
    CHECK(cudaMemGetInfo(&before, &total));
    int *out, *ballast;
    CHECK(cudaMalloc(&out, sizeof(int)));
    CHECK(cudaMalloc(&ballast, 32 << 20));
    CHECK(cudaMemset(ballast, 1, 32 << 20));
    CHECK(cudaMemGetInfo(&after, &total));
    if (check::throughRouse()) EXPECT(after <= before - (32 << 20));  // natively others may give memory back meanwhile
    change<<<1, 1>>>(out);
    CHECK(cudaGetLastError());
    int got = 0;
    CHECK(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost));
    EXPECT(got == 17);
    change<<<1, 1>>>(out);
    CHECK(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost));
    EXPECT(got == 99);
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaDeviceReset());
    CHECK(cudaMemGetInfo(&after, &total));
    if (check::throughRouse()) EXPECT(after >= before - (16 << 20));  // all but what a context itself needs
  }
  return check::done();
}
