// Single-pass scan with decoupled look-back: blocks take tickets, publish aggregates and prefixes in 64-bit words and spin
// on their predecessors' words (volatile loads, fences between blocks).
#include "check.h"

constexpr int kThreads = 128;
// State in the high half: 0 nothing yet, 1 the block's own sum, 2 the sum up to and including the block.
constexpr unsigned long long kAggregate = 1ull << 32, kPrefix = 2ull << 32;

__global__ void scan(const unsigned* in, unsigned* out, int n, unsigned* ticket, volatile unsigned long long* states) {
  __shared__ unsigned tile, before, warpSums[kThreads / 32];
  if (threadIdx.x == 0) tile = atomicAdd(ticket, 1u);
  __syncthreads();
  const unsigned mine = tile;
  int i = mine * kThreads + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  unsigned value = i < n ? in[i] : 0, sum = value;
  for (int offset = 1; offset < 32; offset *= 2) {
    unsigned below = __shfl_up_sync(0xffffffffu, sum, offset);
    if (lane >= offset) sum += below;
  }
  if (lane == 31) warpSums[warp] = sum;
  __syncthreads();
  unsigned total = 0, warpsBefore = 0;
  for (int w = 0; w < kThreads / 32; ++w) {
    if (w == warp) warpsBefore = total;
    total += warpSums[w];
  }
  if (threadIdx.x == 0) {
    unsigned prefix = 0;
    if (mine > 0) {
      states[mine] = kAggregate | total;
      __threadfence();
      for (int p = int(mine) - 1;;) {
        unsigned long long state = states[p];
        if (state >= kPrefix) {
          prefix += unsigned(state);
          break;
        }
        if (state >= kAggregate) {
          prefix += unsigned(state);
          --p;
        }
      }
    }
    states[mine] = kPrefix | (prefix + total);
    __threadfence();
    before = prefix;
  }
  __syncthreads();
  if (i < n) out[i] = before + warpsBefore + sum;
}

int main() {
  const int n = 50000, tiles = (n + kThreads - 1) / kThreads;
  check::Random random(6);
  std::vector<unsigned> in(n), wanted(n);
  unsigned sum = 0;
  for (int i = 0; i < n; ++i) wanted[i] = sum += in[i] = unsigned(random.next());
  unsigned *din = check::toDevice(in), *dout = check::deviceArray<unsigned>(n), *ticket = check::deviceArray<unsigned>(1);
  auto* states = check::deviceArray<unsigned long long>(tiles);
  for (int round = 0; round < 3; ++round) {
    CHECK(cudaMemset(ticket, 0, sizeof(unsigned)));
    CHECK(cudaMemset(states, 0, tiles * sizeof(unsigned long long)));
    CHECK(cudaMemset(dout, 0xff, n * sizeof(unsigned)));
    scan<<<tiles, kThreads>>>(din, dout, n, ticket, states);
    CHECK(cudaGetLastError());
    check::equal("scan", check::toHost(dout, n), wanted);
  }
  return check::done();
}
