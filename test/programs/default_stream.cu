// The legacy default stream: waits for and holds back blocking streams, leaves non-blocking ones alone; cudaStreamLegacy
// and cudaStreamPerThread handles.
#include "check.h"

__global__ void slowSet(volatile int* flag, int value, long long nanoseconds) {
  long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < nanoseconds);
  *flag = value;
}

__global__ void copyFlag(const volatile int* flag, int* out) { *out = *flag; }
__global__ void waitFor(const volatile int* flag) {
  while (*flag == 0) {
  }
}

int main() {
  int* flag = check::deviceArray<int>(8);
  int* out = flag + 1;
  cudaStream_t blocking, other, free;
  CHECK(cudaStreamCreate(&blocking));
  CHECK(cudaStreamCreate(&other));
  CHECK(cudaStreamCreateWithFlags(&free, cudaStreamNonBlocking));
  auto reset = [&] {
    CHECK(cudaMemset(flag, 0, 8 * sizeof(int)));
    CHECK(cudaDeviceSynchronize());
  };
  auto read = [&] {
    CHECK(cudaDeviceSynchronize());
    return check::toHost(out, 1)[0];
  };

  // default after blocking
  reset();
  slowSet<<<1, 1, 0, blocking>>>(flag, 11, 20000000);
  copyFlag<<<1, 1>>>(flag, out);
  EXPECT(read() == 11);
  // blocking after default
  reset();
  slowSet<<<1, 1>>>(flag, 12, 20000000);
  copyFlag<<<1, 1, 0, blocking>>>(flag, out);
  EXPECT(read() == 12);
  // blocking -> default -> another blocking one: transitive
  reset();
  slowSet<<<1, 1, 0, blocking>>>(flag, 13, 20000000);
  slowSet<<<1, 1>>>(flag + 5, 1, 0);
  copyFlag<<<1, 1, 0, other>>>(flag, out);
  EXPECT(read() == 13);
  // cudaStreamLegacy is the same stream; cudaStreamPerThread is a blocking one
  reset();
  slowSet<<<1, 1, 0, cudaStreamPerThread>>>(flag, 14, 20000000);
  copyFlag<<<1, 1, 0, cudaStreamLegacy>>>(flag, out);
  EXPECT(read() == 14);
  // a synchronous copy on the default stream waits too
  reset();
  slowSet<<<1, 1, 0, blocking>>>(flag, 15, 20000000);
  EXPECT(check::toHost(flag, 1)[0] == 15);
  // A non-blocking stream passes the default stream by: here it has to, or the default stream's kernel would never end.
  reset();
  waitFor<<<1, 1>>>(flag);
  slowSet<<<1, 1, 0, free>>>(flag, 16, 1000000);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(free));
  CHECK(cudaStreamSynchronize(0));
  EXPECT(check::toHost(flag, 1)[0] == 16);
  CHECK(cudaStreamDestroy(blocking));
  CHECK(cudaStreamDestroy(other));
  CHECK(cudaStreamDestroy(free));
  return check::done();
}
