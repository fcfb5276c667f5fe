// Time on the device: clock64 and globaltimer do not run backwards, busy kernels take as long as they were told, however many threads they have, event times agree with
// the host's clock, __nanosleep returns.
#include <chrono>

#include "check.h"

__global__ void monotonic(int* wrong, long long* spent) {
  long long last = clock64(), start = last;
  unsigned lowStart = clock();
  unsigned long long timer, lastTimer;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(lastTimer));
  for (int i = 0; i < 200; ++i) {
    long long now = clock64();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(timer));
    if (now < last || timer < lastTimer) atomicAdd(wrong, 1);
    last = now;
    lastTimer = timer;
    __nanosleep(100);
  }
  spent[threadIdx.x] = last - start;
  if (unsigned(clock()) == lowStart && last - start < 1000000000) atomicAdd(wrong, 1);
}

__global__ void busy(unsigned long long nanoseconds) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < nanoseconds);
}

int main() {
  int* wrong = check::deviceArray<int>(1);
  long long* spent = check::deviceArray<long long>(64);
  CHECK(cudaMemset(wrong, 0, sizeof(int)));
  monotonic<<<1, 64>>>(wrong, spent);
  CHECK(cudaGetLastError());
  EXPECT(check::toHost(wrong, 1)[0] == 0);
  for (long long s : check::toHost(spent, 64)) EXPECT(s > 0);

  cudaEvent_t first, second;
  CHECK(cudaEventCreate(&first));
  CHECK(cudaEventCreate(&second));
  CHECK(cudaDeviceSynchronize());
  auto start = std::chrono::steady_clock::now();
  CHECK(cudaEventRecord(first));
  for (int i = 0; i < 4; ++i) busy<<<1, 1>>>(10000000);
  CHECK(cudaEventRecord(second));
  auto queued = std::chrono::steady_clock::now();
  CHECK(cudaEventSynchronize(second));
  auto end = std::chrono::steady_clock::now();
  float milliseconds = 0;
  CHECK(cudaEventElapsedTime(&milliseconds, first, second));
  double whole = std::chrono::duration<double, std::milli>(end - start).count();
  double calls = std::chrono::duration<double, std::milli>(queued - start).count();
  EXPECT(milliseconds >= 39);         // four kernels of 10 ms each, one after the other
  EXPECT(milliseconds <= whole + 1);  // nothing measured that did not happen
  EXPECT(whole >= 39);
  EXPECT(calls < whole - 5);  // launches did not wait for the kernels
  CHECK(cudaEventRecord(first));
  CHECK(cudaEventRecord(second));
  CHECK(cudaEventSynchronize(second));
  CHECK(cudaEventElapsedTime(&milliseconds, first, second));
  EXPECT(milliseconds >= 0 && milliseconds < 1000);
  // Time passes for all threads at once: one after the other they would take four seconds.
  CHECK(cudaEventRecord(first));
  busy<<<2, 1024>>>(2000000);
  CHECK(cudaEventRecord(second));
  CHECK(cudaEventSynchronize(second));
  CHECK(cudaEventElapsedTime(&milliseconds, first, second));
  EXPECT(milliseconds >= 2 && milliseconds < 1000);
  return check::done();
}
