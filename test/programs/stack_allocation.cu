// Memory whose size a kernel learns when it runs: alloca, in kernels, in functions that call themselves, in loops, and across barriers.
#include "check.h"

#include <alloca.h>

constexpr int kThreads = 64;

__global__ void inKernel(int n, int* out) {
  const int t = threadIdx.x;
  int* const own = static_cast<int*>(alloca((n + t) * sizeof(int)));
  for (int i = 0; i < n + t; ++i) own[i] = i * (t + 1);
  int sum = 0;
  for (int i = 0; i < n + t; ++i) sum += own[(i * 7 + t) % (n + t)];
  out[blockIdx.x * blockDim.x + t] = sum;
}

__device__ __noinline__ long reversed(long value, int depth) {
  const int digits = 3 + depth % 5;
  char* const text = static_cast<char*>(alloca(digits));
  for (int i = 0; i < digits; ++i) text[i] = char('0' + (value + i) % 10);
  const long inner = depth == 0 ? 0 : reversed(value + 1, depth - 1);
  long sum = inner;
  for (int i = digits; i-- > 0;) sum = sum * 3 + text[i];
  return sum;
}

long reversedOnHost(long value, int depth) {
  const int digits = 3 + depth % 5;
  long sum = depth == 0 ? 0 : reversedOnHost(value + 1, depth - 1);
  for (int i = digits; i-- > 0;) sum = sum * 3 + char('0' + (value + i) % 10);
  return sum;
}

__global__ void inFunctions(int depth, long* out) { out[threadIdx.x] = reversed(threadIdx.x, depth); }

// What a thread has taken stays its own while it waits for the others.
__global__ void acrossBarriers(int n, int* out) {
  __shared__ int exchanged[kThreads];
  const int t = threadIdx.x;
  int* const own = static_cast<int*>(alloca(n * sizeof(int)));
  for (int i = 0; i < n; ++i) own[i] = t * 100 + i;
  exchanged[t] = own[t % n];
  __syncthreads();
  own[0] += exchanged[(t + 1) % kThreads];
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < n; ++i) sum += own[i];
  out[t] = sum;
}

// The saved stack is given back in each round: many rounds take no more than one.
__global__ void inLoop(int rounds, int n, unsigned* out) {
  unsigned sum = threadIdx.x;
  for (int r = 0; r < rounds; ++r) {
    unsigned long long saved;
    asm volatile("stacksave.u64 %0;" : "=l"(saved));
    unsigned long long address;
    asm volatile("alloca.u64 %0, %1, 64;" : "=l"(address) : "l"(static_cast<unsigned long long>(n)));
    auto* const words = static_cast<volatile unsigned*>(__cvta_local_to_generic(address));
    if (address % 64 != 0) sum += 1000000;
    words[0] = sum + r;
    words[n / 4 - 1] = sum ^ r;
    sum = words[0] * 3 + words[n / 4 - 1];
    asm volatile("stackrestore.u64 %0;" ::"l"(saved));
  }
  out[threadIdx.x] = sum;
}

int main() {
  int* out = check::deviceArray<int>(4 * kThreads);
  inKernel<<<4, kThreads>>>(20, out);
  CHECK(cudaGetLastError());
  const auto sums = check::toHost(out, 4 * kThreads);
  for (int k = 0; k < 4 * kThreads; ++k) {
    const int t = k % kThreads, count = 20 + t;
    int wanted = 0;
    for (int i = 0; i < count; ++i) wanted += (i * 7 + t) % count * (t + 1);
    EXPECT(sums[k] == wanted);
  }

  long* longs = check::deviceArray<long>(kThreads);
  inFunctions<<<1, kThreads>>>(9, longs);
  CHECK(cudaGetLastError());
  const auto values = check::toHost(longs, kThreads);
  for (int t = 0; t < kThreads; ++t) EXPECT(values[t] == reversedOnHost(t, 9));

  acrossBarriers<<<1, kThreads>>>(10, out);
  CHECK(cudaGetLastError());
  const auto kept = check::toHost(out, kThreads);
  for (int t = 0; t < kThreads; ++t) {
    const int next = (t + 1) % kThreads;
    EXPECT(kept[t] == t * 1000 + 45 + next * 100 + next % 10);
  }

  constexpr int kRounds = 2000, kBytes = 256;
  unsigned* last = check::deviceArray<unsigned>(kThreads);
  inLoop<<<1, kThreads>>>(kRounds, kBytes, last);
  CHECK(cudaGetLastError());
  const auto ends = check::toHost(last, kThreads);
  for (int t = 0; t < kThreads; ++t) {
    unsigned sum = unsigned(t);
    for (unsigned r = 0; r < kRounds; ++r) sum = (sum + r) * 3 + (sum ^ r);
    EXPECT(ends[t] == sum);
  }
  return check::done();
}
