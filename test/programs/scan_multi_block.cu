// Exclusive and inclusive prefix sums of any length: Blelloch's up-sweep and down-sweep in a block, block totals scanned
// recursively, then added back. Three dependent kernels a level on one stream.
#include "check.h"

constexpr int kThreads = 128, kElements = 2 * kThreads;

__global__ void scanBlocks(const unsigned* in, unsigned* out, unsigned* totals, int n) {
  __shared__ unsigned s[kElements];
  int t = threadIdx.x, base = blockIdx.x * kElements;
  for (int k = t; k < kElements; k += kThreads) s[k] = base + k < n ? in[base + k] : 0;
  int offset = 1;
  for (int d = kThreads; d > 0; d >>= 1, offset *= 2) {
    __syncthreads();
    if (t < d) s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1];
  }
  if (t == 0) {
    totals[blockIdx.x] = s[kElements - 1];
    s[kElements - 1] = 0;
  }
  for (int d = 1; d <= kThreads; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (t < d) {
      int a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1;
      unsigned left = s[a];
      s[a] = s[b];
      s[b] += left;
    }
  }
  __syncthreads();
  for (int k = t; k < kElements; k += kThreads)
    if (base + k < n) out[base + k] = s[k];
}

__global__ void addTotals(unsigned* out, const unsigned* totals, int n) {
  int i = blockIdx.x * kElements + threadIdx.x;
  if (i < n) out[i] += totals[blockIdx.x];
  if (i + kThreads < n) out[i + kThreads] += totals[blockIdx.x];
}

__global__ void toInclusive(const unsigned* in, unsigned* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] += in[i];
}

void exclusiveScan(const unsigned* in, unsigned* out, int n) {
  int blocks = (n + kElements - 1) / kElements;
  unsigned* totals = check::deviceArray<unsigned>(blocks);
  scanBlocks<<<blocks, kThreads>>>(in, out, totals, n);
  CHECK(cudaGetLastError());
  if (blocks > 1) {
    exclusiveScan(totals, totals, blocks);
    addTotals<<<blocks, kThreads>>>(out, totals, n);
    CHECK(cudaGetLastError());
  }
  CHECK(cudaFree(totals));
}

int main() {
  check::Random random(5);
  for (int n : {1, 255, 256, 257, 40000, 70001}) {
    std::vector<unsigned> in(n), exclusive(n), inclusive(n);
    unsigned sum = 0;
    for (int i = 0; i < n; ++i) {
      in[i] = unsigned(random.next());
      exclusive[i] = sum;
      inclusive[i] = sum += in[i];
    }
    unsigned *din = check::toDevice(in), *dout = check::deviceArray<unsigned>(n);
    exclusiveScan(din, dout, n);
    check::equal("exclusive", check::toHost(dout, n), exclusive);
    toInclusive<<<(n + 255) / 256, 256>>>(din, dout, n);
    CHECK(cudaGetLastError());
    check::equal("inclusive", check::toHost(dout, n), inclusive);
    CHECK(cudaFree(din));
    CHECK(cudaFree(dout));
  }
  return check::done();
}
