// Hundreds of barriers in one kernel: loops around block scans, unrolled by the compiler (as in sorts by digits, where each digit's counts are scanned), and rounds of a
// pipeline written out.
#include <algorithm>

#include "check.h"

constexpr int kThreads = 128, kDigits = 16;

// Counts of each digit up to each thread, one inclusive scan after the other.
__global__ void scanDigits(const unsigned* keys, unsigned* places) {
  __shared__ unsigned counts[2 * kThreads];
  const unsigned t = threadIdx.x, digit = keys[blockIdx.x * kThreads + t] % kDigits;
  unsigned before = 0, place = 0;
#pragma unroll
  for (unsigned d = 0; d < kDigits; ++d) {
    counts[t] = 0;
    counts[kThreads + t] = digit == d;
    __syncthreads();
    for (unsigned offset = 1; offset < blockDim.x; offset *= 2) {
      const unsigned other = counts[kThreads + t - offset];
      __syncthreads();
      counts[kThreads + t] += other;
      __syncthreads();
    }
    if (digit == d) place = before + counts[kThreads + t] - 1;
    before += counts[2 * kThreads - 1];
    __syncthreads();
  }
  places[blockIdx.x * kThreads + t] = place;
}

template <int kRounds>
__global__ void rounds(unsigned* out) {
  __shared__ unsigned line[kThreads];
  const int t = threadIdx.x;
  unsigned value = blockIdx.x * 1000 + t;
#pragma unroll
  for (int k = 0; k < kRounds; ++k) {
    line[t] = value;
    __syncthreads();
    value = value * 3 + line[(t + k * 7 + 1) % kThreads];
    __syncthreads();
  }
  out[blockIdx.x * kThreads + t] = value;
}

int main() {
  constexpr int kBlocks = 8, kCount = kBlocks * kThreads, kRounds = 80;
  check::Random random(1);
  std::vector<unsigned> keys(kCount), places(kCount), values(kCount);
  for (unsigned& key : keys) key = random.below(1000);
  for (int block = 0; block < kBlocks; ++block) {
    const unsigned* const own = keys.data() + block * kThreads;
    for (int t = 0; t < kThreads; ++t) {
      for (int other = 0; other < kThreads; ++other) {
        const unsigned theirs = own[other] % kDigits, mine = own[t] % kDigits;
        places[block * kThreads + t] += theirs < mine || (theirs == mine && other < t);
      }
    }
    std::vector<unsigned> line(kThreads), next(kThreads);
    for (int t = 0; t < kThreads; ++t) line[t] = block * 1000 + t;
    for (int k = 0; k < kRounds; ++k) {
      for (int t = 0; t < kThreads; ++t) next[t] = line[t] * 3 + line[(t + k * 7 + 1) % kThreads];
      line = next;
    }
    std::copy(line.begin(), line.end(), values.begin() + block * kThreads);
  }
  const unsigned* const deviceKeys = check::toDevice(keys);
  auto* const out = check::deviceArray<unsigned>(kCount);
  scanDigits<<<kBlocks, kThreads>>>(deviceKeys, out);
  check::equal("places", check::toHost(out, kCount), places);
  rounds<kRounds><<<kBlocks, kThreads>>>(out);
  check::equal("values", check::toHost(out, kCount), values);
  return check::done();
}
