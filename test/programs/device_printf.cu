// printf from the device: every conversion, order within a thread, text longer than a line, flush at synchronization.
// expect-stdout: int -7 unsigned 4000000000 hex 0xbeef char Q percent %
// expect-stdout: float 3.250 exp 1.5e+10 general 0.001 wide [    42] [42    ] [00042]
// expect-stdout: long -9000000000000 ulong 18446744073709551615 string device text
// expect-stdout: no arguments
// expect-stdout: sum 1 2
// expect-stdout: returned 2
// expect-stdout: thread 0 of 4
// expect-stdout: thread 1 of 4
// expect-stdout: thread 2 of 4
// expect-stdout: thread 3 of 4
// expect-stdout: second launch
// expect-stdout: PASS
#include "check.h"

__global__ void conversions() {
  printf("int %d unsigned %u hex 0x%x char %c percent %%\n", -7, 4000000000u, 0xbeef, 'Q');
  printf("float %.3f exp %.1e general %g wide [%6d] [%-6d] [%05d]\n", 3.25f, 1.5e10, 0.001, 42, 42, 42);
  printf("long %lld ulong %llu string %s\n", -9000000000000ll, ~0ull, "device text");
  printf("no arguments\n");
  // The device's printf returns the number of arguments, not of characters (programming guide, "Formatted Output").
  int arguments = printf("sum %d %d\n", 1, 2);
  printf("returned %d\n", arguments);
}

__global__ void inOrder() {
  for (unsigned turn = 0; turn < blockDim.x; ++turn) {
    if (turn == threadIdx.x) printf("thread %u of %u\n", threadIdx.x, blockDim.x);
    __syncthreads();
  }
}

__global__ void again() { printf("second launch\n"); }

int main() {
  conversions<<<1, 1>>>();
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  inOrder<<<1, 4>>>();
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  again<<<1, 1>>>();
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  return check::done();
}
