// Every atomic operation on every type, under contention, in global and shared memory: sums, minima, maxima, wrap-around increments, bit
// operations, exchanges, compare-and-swap loops, float, double, 64 bits, half2; system and block scope.
#include <cuda_fp16.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <limits>
#include <vector>

#include "check.h"

struct Results {
  int add, sub, low, high;
  unsigned inc, dec, ands, ors, xors, lowU, highU;
  unsigned long long add64, and64, or64, xor64;
  long long low64, high64;
  float addF, highF;
  double addD, productD;
  __half2 addH;
  unsigned tickets, swaps;
  int scoped, shared;
};

__device__ double atomicMultiply(double* address, double value) {
  auto* bits = reinterpret_cast<unsigned long long*>(address);
  unsigned long long old = *bits, expected;
  do {
    expected = old;
    old = atomicCAS(bits, expected, __double_as_longlong(__longlong_as_double(expected) * value));
  } while (old != expected);
  return __longlong_as_double(old);
}

__device__ float atomicHighest(float* address, float value) {
  int old = *reinterpret_cast<int*>(address), expected;
  do {
    expected = old;
    old = atomicCAS(reinterpret_cast<int*>(address), expected, __float_as_int(fmaxf(value, __int_as_float(expected))));
  } while (old != expected);
  return __int_as_float(old);
}

__global__ void everything(Results* r, const int* values, int n, unsigned* seenTickets, unsigned long long* chain) {
  __shared__ int sharedSum;
  __shared__ unsigned long long shared64;
  if (threadIdx.x == 0) {
    sharedSum = 0;
    shared64 = 0;
  }
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int v = values[i];
    unsigned long long wide = (unsigned long long)v * 0x100000001ull;
    atomicAdd(&r->add, v);
    atomicSub(&r->sub, v);
    atomicMin(&r->low, v);
    atomicMax(&r->high, v);
    atomicInc(&r->inc, 16);
    atomicDec(&r->dec, 22);
    atomicAnd(&r->ands, ~(1u << (i & 7)));
    atomicOr(&r->ors, 1u << (i & 15));
    atomicXor(&r->xors, unsigned(v));
    atomicMin(&r->lowU, unsigned(v));
    atomicMax(&r->highU, unsigned(v));
    atomicAdd(&r->add64, wide);
    atomicAnd(&r->and64, ~(1ull << (i & 63) % 50));
    atomicOr(&r->or64, 1ull << (i & 63));
    atomicXor(&r->xor64, wide);
    atomicMin(&r->low64, (long long)v << 33);
    atomicMax(&r->high64, (long long)v << 33);
    atomicAdd(&r->addF, float(v & 255) * 0.5f);
    atomicHighest(&r->highF, float(v) * 0.25f);
    atomicAdd(&r->addD, double(v) * 0.125);
    if (i < 1000) atomicMultiply(&r->productD, i & 1 ? 2.0 : 0.5);
    if (i < 1000) atomicAdd(&r->addH, __floats2half2_rn(1, -1));
    atomicAdd_system(&r->scoped, 1);
    atomicAdd_block(&sharedSum, v);
    atomicAdd(&shared64, 1ull << 40 | 1);
    // Every ticket is handed out once.
    seenTickets[atomicAdd(&r->tickets, 1u)] = i;
    // Each exchange takes what the previous one left: together a permutation.
    chain[i] = atomicExch(&r->swaps, unsigned(i + 1));
  }
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&r->shared, sharedSum + int(shared64 >> 40) - int(shared64 & 0xffffffff));
}

// Updates of which some change nothing, and some only the sign of zero.
template <class T>
__global__ void addEach(T* places, const T* values, T* old, int n) {
  if (threadIdx.x < n) old[threadIdx.x] = atomicAdd(&places[threadIdx.x], values[threadIdx.x]);
}

__global__ void boundEach(int* low, unsigned* high, int* oldLow, unsigned* oldHigh) {
  const int i = threadIdx.x;
  oldLow[i] = atomicMin(&low[i], i % 3 - 1);
  oldHigh[i] = atomicMax(&high[i], unsigned(i % 3));
}

template <class T>
bool sameBits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <class T>
void unchangedSums(T large) {
  const T infinite = std::numeric_limits<T>::infinity();
  const std::vector<T> places{T(-0.0), T(-0.0), T(0.0), T(0.0), 5, 5, large, infinite, -infinite, 3}, values{T(0.0), T(-0.0), T(-0.0), T(0.0), T(0.0), T(-0.0), 1, 5, 5, -3},
      wanted{T(0.0), T(-0.0), T(0.0), T(0.0), 5, 5, large, infinite, -infinite, T(0.0)};
  const int n = int(places.size());
  T *device = check::toDevice(places), *old = check::deviceArray<T>(n);
  addEach<<<1, 32>>>(device, check::toDevice(values), old, n);
  CHECK(cudaGetLastError());
  EXPECT(sameBits(check::toHost(device, n), wanted));
  EXPECT(sameBits(check::toHost(old, n), places));
}

void unchangedBounds() {
  const std::vector<int> low{-1, -1, -1, 0, 0, 0, 1, 1, 1};
  const std::vector<unsigned> high{0, 0, 0, 1, 1, 1, 2, 2, 2};
  std::vector<int> wantedLow = low;
  std::vector<unsigned> wantedHigh = high;
  const int n = int(low.size());
  for (int i = 0; i < n; ++i) {
    wantedLow[i] = std::min(low[i], i % 3 - 1);
    wantedHigh[i] = std::max(high[i], unsigned(i % 3));
  }
  int *lows = check::toDevice(low), *oldLow = check::deviceArray<int>(n);
  unsigned *highs = check::toDevice(high), *oldHigh = check::deviceArray<unsigned>(n);
  boundEach<<<1, n>>>(lows, highs, oldLow, oldHigh);
  CHECK(cudaGetLastError());
  EXPECT(check::toHost(lows, n) == wantedLow && check::toHost(highs, n) == wantedHigh);
  EXPECT(check::toHost(oldLow, n) == low && check::toHost(oldHigh, n) == high);
}

int main() {
  unchangedSums<float>(1e30f);
  unchangedSums<double>(1e300);
  unchangedBounds();
  const int n = 6000;
  check::Random random(33);
  std::vector<int> values(n);
  for (int& v : values) v = int(random.below(200000)) - 100000;
  Results start = {}, wanted = {};
  start.low = INT_MAX, start.high = INT_MIN, start.ands = ~0u, start.lowU = ~0u, start.and64 = ~0ull;
  start.low64 = LLONG_MAX, start.high64 = LLONG_MIN, start.highF = -1e30f, start.productD = 1, start.dec = 5;
  wanted = start;
  for (int i = 0; i < n; ++i) {
    int v = values[i];
    unsigned long long wide = (unsigned long long)v * 0x100000001ull;
    wanted.add += v;
    wanted.sub -= v;
    wanted.low = std::min(wanted.low, v);
    wanted.high = std::max(wanted.high, v);
    wanted.inc = wanted.inc >= 16 ? 0 : wanted.inc + 1;
    wanted.dec = wanted.dec == 0 || wanted.dec > 22 ? 22 : wanted.dec - 1;
    wanted.ands &= ~(1u << (i & 7));
    wanted.ors |= 1u << (i & 15);
    wanted.xors ^= unsigned(v);
    wanted.lowU = std::min(wanted.lowU, unsigned(v));
    wanted.highU = std::max(wanted.highU, unsigned(v));
    wanted.add64 += wide;
    wanted.and64 &= ~(1ull << (i & 63) % 50);
    wanted.or64 |= 1ull << (i & 63);
    wanted.xor64 ^= wide;
    wanted.low64 = std::min(wanted.low64, (long long)v * (1ll << 33));
    wanted.high64 = std::max(wanted.high64, (long long)v * (1ll << 33));
    wanted.addF += float(v & 255) * 0.5f;  // multiples of 1/2 below 2^23: exact in any order
    wanted.highF = std::max(wanted.highF, float(v) * 0.25f);
    wanted.addD += v * 0.125;
    wanted.shared += v;
  }
  Results* device;
  CHECK(cudaMalloc(&device, sizeof(Results)));
  CHECK(cudaMemcpy(device, &start, sizeof start, cudaMemcpyHostToDevice));
  unsigned* tickets = check::deviceArray<unsigned>(n);
  auto* chain = check::deviceArray<unsigned long long>(n);
  everything<<<(n + 95) / 96, 96>>>(device, check::toDevice(values), n, tickets, chain);
  CHECK(cudaGetLastError());
  Results got;
  CHECK(cudaMemcpy(&got, device, sizeof got, cudaMemcpyDeviceToHost));
  EXPECT(got.add == wanted.add);
  EXPECT(got.sub == wanted.sub);
  EXPECT(got.low == wanted.low && got.high == wanted.high);
  EXPECT(got.inc == wanted.inc);
  EXPECT(got.dec == wanted.dec);
  EXPECT(got.ands == wanted.ands && got.ors == wanted.ors && got.xors == wanted.xors);
  EXPECT(got.lowU == wanted.lowU && got.highU == wanted.highU);
  EXPECT(got.add64 == wanted.add64);
  EXPECT(got.and64 == wanted.and64 && got.or64 == wanted.or64 && got.xor64 == wanted.xor64);
  EXPECT(got.low64 == wanted.low64 && got.high64 == wanted.high64);
  EXPECT(got.addF == wanted.addF);
  EXPECT(got.highF == wanted.highF);
  EXPECT(got.addD == wanted.addD);
  EXPECT(got.productD == 1);  // as many doublings as halvings, at most 500 of either in a row
  EXPECT(__half2float(got.addH.x) == 1000 && __half2float(got.addH.y) == -1000);
  EXPECT(got.scoped == n && got.tickets == n);
  EXPECT(got.shared == wanted.shared);
  std::vector<unsigned> order = check::toHost(tickets, n), all(n);
  std::sort(order.begin(), order.end());
  for (int i = 0; i < n; ++i) all[i] = i;
  check::equal("tickets", order, all);
  std::vector<unsigned long long> taken = check::toHost(chain, n), every(n + 1);
  taken.push_back(got.swaps);
  std::sort(taken.begin(), taken.end());
  for (int i = 0; i <= n; ++i) every[i] = i;
  check::equal("exchanges", taken, every);
  return check::done();
}
