// Fingerprints of pages on the GPU: one block a page. What is computed is said in memory/fingerprint_parts.h. Compiled
// to PTX when Rouse is built, to machine code by the driver.
#include "memory/fingerprint_parts.h"

namespace fp = rouse::memory::fingerprints;

namespace {

constexpr unsigned kWarps = 16, kWarp = 32;
constexpr unsigned kRegionGives = fp::kColumns * fp::kWays;  // words of level 0
constexpr unsigned kNodes1 = kRegionGives / fp::kNodeWords;  // of level 1, of a region
constexpr unsigned kNodes2 = kNodes1 * fp::kRegions * fp::kWays / fp::kNodeWords;
static_assert(kNodes2 == kWarps && kNodes2 * fp::kWays == fp::kNodeWords,
              "a warp a node on level 2, one node on level 3");

// Sums over neighbouring threads; each of `threads` has the sum.
__device__ void add(std::uint64_t (&sums)[fp::kWays], unsigned threads) {
  for (unsigned distance = threads / 2; distance != 0; distance /= 2)
    for (std::uint64_t& sum : sums) sum += __shfl_xor_sync(~0u, sum, distance);
}

// A node by some neighbouring threads of a warp.
template <unsigned kThreads>
__device__ void node(const std::uint64_t* words, const std::uint64_t* key, unsigned thread,
                     std::uint64_t (&sums)[fp::kWays]) {
  for (std::uint64_t& sum : sums) sum = 0;
  for (unsigned i = thread; i < fp::kNodeWords; i += kThreads)
    for (unsigned way = 0; way < fp::kWays; ++way) sums[way] += fp::term(words[i], key[i + way]);
  add(sums, kThreads);
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kWarps* kWarp, 2)
    rouse_fingerprint(const ulonglong2* __restrict__ pages, fp::Sealed* __restrict__ out,
                      const __grid_constant__ fp::Keys keys) {
  __shared__ std::uint64_t first[kWarps][kRegionGives];
  __shared__ std::uint64_t second[kNodes2 * fp::kNodeWords];
  __shared__ std::uint64_t third[fp::kNodeWords];
  __shared__ std::uint64_t key[fp::kLevels - 1][fp::kLevelKey];
  const unsigned warp = threadIdx.x / kWarp, thread = threadIdx.x % kWarp;
  for (unsigned i = threadIdx.x; i < (fp::kLevels - 1) * fp::kLevelKey; i += kWarps * kWarp)
    key[i / fp::kLevelKey][i % fp::kLevelKey] = keys.levels[1 + i / fp::kLevelKey][i % fp::kLevelKey];
  __syncthreads();

  const ulonglong2* page = pages + std::size_t{blockIdx.x} * (fp::kPageWords / 2);
  std::uint64_t sums[fp::kWays];
  for (unsigned region = warp; region < fp::kRegions; region += kWarps) {
    // Two columns a thread: 16 bytes of each row.
    const ulonglong2* at = page + region * (fp::kRegionWords / 2) + thread;
    std::uint64_t left[fp::kWays] = {}, right[fp::kWays] = {};
#pragma unroll 8
    for (unsigned row = 0; row < fp::kNodeWords; ++row) {
      const ulonglong2 words = __ldcs(at + row * (fp::kColumns / 2));
#pragma unroll
      for (unsigned way = 0; way < fp::kWays; ++way) {
        left[way] += fp::term(words.x, keys.levels[0][row + way]);
        right[way] += fp::term(words.y, keys.levels[0][row + way]);
      }
    }
    __syncwarp();  // the warp has read what was here
#pragma unroll
    for (unsigned way = 0; way < fp::kWays; ++way) {
      first[warp][2 * thread * fp::kWays + way] = left[way];
      first[warp][(2 * thread + 1) * fp::kWays + way] = right[way];
    }
    __syncwarp();
    constexpr unsigned kThreads = kWarp / kNodes1;
    node<kThreads>(first[warp] + thread / kThreads * fp::kNodeWords, key[0], thread % kThreads, sums);
    if (thread % kThreads == 0)
      for (unsigned way = 0; way < fp::kWays; ++way)
        second[(region * kNodes1 + thread / kThreads) * fp::kWays + way] = sums[way];
  }
  __syncthreads();
  node<kWarp>(second + warp * fp::kNodeWords, key[1], thread, sums);
  if (thread == 0)
    for (unsigned way = 0; way < fp::kWays; ++way) third[warp * fp::kWays + way] = sums[way];
  __syncthreads();
  if (warp != 0) return;
  node<kWarp>(third, key[2], thread, sums);
  if (thread == 0) out[blockIdx.x] = fp::sipHash(keys.seal, sums);
}
