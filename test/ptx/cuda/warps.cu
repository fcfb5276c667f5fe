// Kernels whose threads wait for the other lanes of their warps. Each is k(n, in, out); `in` has n words and more than there are threads, so has `out`.
// Results do not depend on the order of threads.
#include <mma.h>

#include "kernel.h"

constexpr unsigned kAll = 0xffffffffu;

KERNEL shuffles(unsigned n, const unsigned* in, unsigned* out) {
  unsigned value = in[global()];
  value += __shfl_down_sync(kAll, value, 3) * 3;
  value ^= __shfl_up_sync(kAll, value, 5, 16);
  value += __shfl_xor_sync(kAll, value, 9) << 1;
  value ^= __shfl_sync(kAll, value, static_cast<int>(value & 63), 8);
  value += __shfl_sync(kAll, value, 7);
  value += __shfl_down_sync(kAll, value, value & 31, 4);
  int inside;
  unsigned got;
  asm volatile("{ .reg .pred p; shfl.sync.up.b32 %0|p, %2, 6, 0, -1; selp.b32 %1, 1, 0, p; }" : "=r"(got), "=r"(inside) : "r"(value));
  out[global()] = value + got * 7 + inside;
}

KERNEL votes(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned value = in[global()];
  unsigned sum = __ballot_sync(kAll, value & 1);
  sum += __any_sync(kAll, value % 37 == 5) * 3 + __all_sync(kAll, value % 37 != 7) * 5 + __uni_sync(kAll, value > 10) * 7;
  sum ^= __match_any_sync(kAll, value % 7);
  int same;
  sum += __match_all_sync(kAll, blockIdx.x + value * (n - 777), &same);
  sum += same * 11 + __match_all_sync(kAll, static_cast<unsigned long long>(value), &same) + same;
  out[global()] = sum;
}

KERNEL reduces(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned value = in[global()];
  unsigned sum = __reduce_add_sync(kAll, value) + __reduce_min_sync(kAll, value) * 3 + __reduce_max_sync(kAll, value) * 5;
  sum ^= __reduce_and_sync(kAll, value | 3) + __reduce_or_sync(kAll, value & 0xff00) + __reduce_xor_sync(kAll, value);
  const int number = static_cast<int>(value << 8);
  sum += static_cast<unsigned>(__reduce_min_sync(kAll, number) >> 3) + static_cast<unsigned>(__reduce_max_sync(kAll, number));
  out[global()] = sum;
}

// As most programs add up: rounds of one's own, warps, then one warp what those have found.
KERNEL block_sum(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned part[32];
  if (blockDim.y != 1 || blockDim.z != 1) return;
  unsigned sum = 0;
  for (unsigned k = linear(); k < n; k += threads()) sum += in[k];
  for (unsigned half = 16; half > 0; half /= 2) sum += __shfl_down_sync(kAll, sum, half);
  const unsigned lane = threadIdx.x % 32, warp = linear() / 32;
  if (lane == 0) part[warp] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = lane < (threads() + 31) / 32 ? part[lane] : 0;
    for (unsigned half = 16; half > 0; half /= 2) sum += __shfl_xor_sync(kAll, sum, half);
    if (lane == 0) part[0] = sum;
  }
  __syncthreads();
  out[global()] = part[0] + linear();
}

// Warps that go ways of their own, as a whole.
KERNEL warp_branches(unsigned n, const unsigned* in, unsigned* out) {
  unsigned value = in[global()];
  if (__any_sync(kAll, value % 41 == 3)) {
    value += __shfl_xor_sync(kAll, value, 1);
    while (__any_sync(kAll, value & 0xf0000)) {
      const unsigned other = __shfl_sync(kAll, value, 3);
      if ((value & 0xf0000) != 0) value -= (other & 0x7ff) + 0x9000;
      if (value > 0xffffff) value = 5;
    }
  } else {
    value ^= __ballot_sync(kAll, value & 2);
  }
  out[global()] = value;
}

// Inclusive, of each warp; and of those, of the block.
KERNEL scans(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned part[32];
  const unsigned lane = linear() % 32, warp = linear() / 32;
  unsigned value = in[global()];
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const unsigned below = __shfl_up_sync(kAll, value, distance);
    if (lane >= distance) value += below;
  }
  if (lane == 31) part[warp] = value;
  __syncthreads();
  for (unsigned before = 0; before < warp; ++before) value += part[before];
  out[global()] = value;
}

// What lanes wrote before the others have behind it.
KERNEL synchronized(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned words[1024];
  words[linear()] = in[global()];
  __syncwarp();
  const unsigned got = words[linear() ^ 1];
  __syncwarp();
  words[linear()] = got * 3;
  __syncwarp();
  out[global()] = words[linear() / 32 * 32] + __popc(__activemask());
}

// Tiles by way of shared memory, two products a round, whose sums outlive barriers. That a warp's lanes take part together is not seen in the code.
KERNEL matrices(unsigned n, const unsigned* in, unsigned* out) {
  using namespace nvcuda;
  __shared__ __align__(32) signed char left[256], right[256];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, int> sums;
  wmma::fill_fragment(sums, 1);
  const unsigned warp = (linear() + 32 * blockIdx.x) / 32;
  for (unsigned round = 0; round < 3; ++round) {
    for (unsigned k = linear(); k < 256; k += threads()) {
      left[k] = static_cast<signed char>(in[k + 7 * round]);
      right[k] = static_cast<signed char>(in[3 * k + round]);
    }
    __syncthreads();
    if (warp % 4 != 3) {
      wmma::load_matrix_sync(a, left, 16);
      wmma::load_matrix_sync(b, right, 16);
      wmma::mma_sync(sums, a, b, sums);
      wmma::mma_sync(sums, a, b, sums);
    }
    __syncthreads();
  }
  unsigned hash = 0;
  for (int i = 0; i < sums.num_elements; ++i) hash = 5 * hash + static_cast<unsigned>(sums.x[i]);
  out[global()] = hash;
}

// As pipelined products do: what is loaded now is multiplied behind a barrier, and some threads store the next tile's words in between.
KERNEL loaded_ahead(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ __align__(16) unsigned tiles[2][128];
  int sums[4] = {1, 2, 3, 4};
  unsigned words[4], rest = 0;
  for (unsigned k = linear(); k < 128; k += threads()) tiles[0][k] = tiles[1][k] = in[k] * 77;
  __syncthreads();
  for (unsigned round = 0;; ++round) {
    const unsigned row = static_cast<unsigned>(__cvta_generic_to_shared(tiles[round % 2] + linear() % 32 * 4));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3]) : "r"(row));
    if (in[linear() + round] % 3 != 0 && linear() < 128) tiles[1 - round % 2][linear()] = in[linear() + 5 * round];
    __syncthreads();
    if (n + round > 780) break;
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
                 : "r"(words[0]), "r"(words[1]), "r"(words[2]), "r"(words[3]), "r"(words[1]), "r"(words[2]));
    rest = rest * 3 + words[3];
  }
  out[global()] = rest + sums[0] * 3 + sums[1] * 5 + sums[2] * 7 + sums[3];
}

// Parts of warps, each of which comes as one.
KERNEL parts(unsigned n, const unsigned* in, unsigned* out) {
  unsigned value = in[global()];
  if (linear() % 2 == 0) {
    value += __shfl_xor_sync(0x55555555u, value, 2);
  } else {
    value ^= __shfl_xor_sync(0xaaaaaaaau, value, 4);
  }
  if (linear() % 32 < 16) value += __ballot_sync(0xffffu, value & 1);
  out[global()] = value;
}

// The last stage of a sum, by as many lanes as there were warps; in a loop that all go through alike.
KERNEL last_stage(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned part[8];
  unsigned total = 0;
  for (unsigned round = 0; round < 3; ++round) {
    unsigned sum = in[(global() + round) % n];
    for (unsigned half = 16; half > 0; half /= 2) sum += __shfl_down_sync(kAll, sum, half);
    if (linear() < 8) part[linear()] = round;
    __syncthreads();
    if (linear() % 32 == 0 && linear() / 32 < 8) part[linear() / 32] += sum;
    __syncthreads();
    if (threadIdx.x < 8 && threadIdx.y == 0 && threadIdx.z == 0) {
      sum = part[threadIdx.x];
      for (unsigned half = 4; half > 0; half /= 2) sum += __shfl_down_sync(0xffu, sum, half, 8);
      if (threadIdx.x == 0) part[0] = sum;
    }
    __syncthreads();
    total += part[0] * (round + 1);
    __syncthreads();
  }
  out[global()] = total;
}

// Groups of lanes, each with a mask of its own: all that can be done by one.
KERNEL groups(unsigned n, const unsigned* in, unsigned* out) {
  unsigned value = in[global()], sum = 0;
  const unsigned lane = linear() % 32;
  for (unsigned size = 2; size <= 16; size *= 2) {
    const unsigned mask = ((1u << size) - 1) << (lane & ~(size - 1));
    sum += __shfl_xor_sync(mask, value, size / 2, size);
    sum ^= __ballot_sync(mask, value & 1) * 3 + __any_sync(mask, value % 7 == 0) * 5 + __all_sync(mask, value % 3 != 0) * 7 + __uni_sync(mask, value & 2) * 11;
    sum += __match_any_sync(mask, value % 3) * 13;
    int same;
    sum ^= __match_all_sync(mask, value % 2, &same) + same * 17;
    sum += __reduce_add_sync(mask, value) + __reduce_max_sync(mask, static_cast<int>(value << 8)) + __reduce_min_sync(mask, value) + __reduce_xor_sync(mask, value);
    sum ^= __reduce_and_sync(mask, value | 5) + __reduce_or_sync(mask, value & 0xf0);
    value = sum * 5 + size;
    __syncwarp(mask);
  }
  out[global()] = value;
}

// Those that a ballot has found go on together; so do those that a comparison of their values has.
KERNEL voted(unsigned n, const unsigned* in, unsigned* out) {
  unsigned value = in[global()], sum = 0;
  const bool takesPart = value % 5 < 3;
  const unsigned mask = __ballot_sync(kAll, takesPart);
  if (takesPart) {
    const unsigned first = __ffs(mask) - 1;
    sum = __shfl_sync(mask, value, first) + __reduce_add_sync(mask, value) + __ballot_sync(mask, value & 4);
    const unsigned peers = __match_any_sync(mask, value % 4);
    sum ^= __shfl_sync(peers, value, __ffs(peers) - 1) * 3 + __reduce_max_sync(peers, value) + __popc(peers);
    int same;
    sum += __match_all_sync(mask, 5u, &same) + same;
  }
  out[global()] = sum + (takesPart ? 1 : value);
}

// One of those that are there counts for all of them, in a loop that each leaves when it likes. (They need not be in the same round.)
KERNEL aggregated(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned counter;
  __shared__ unsigned char taken[1024 * 9];
  if (linear() == 0) counter = 0;
  for (unsigned k = linear(); k < sizeof taken; k += threads()) taken[k] = 0;
  __syncthreads();
  const unsigned rounds = in[global()] % 9;
  for (unsigned round = 0; round < rounds; ++round) {
    if ((in[global()] + round) % 3 == 0) continue;
    const unsigned mask = __activemask();
    const unsigned leader = __ffs(mask) - 1;
    unsigned at = 0;
    if (linear() % 32 == leader) at = atomicAdd(&counter, static_cast<unsigned>(__popc(mask)));
    at = __shfl_sync(mask, at, leader) + __popc(mask & ((1u << (linear() % 32)) - 1));
    ++taken[at];
  }
  __syncthreads();
  unsigned once = 0;
  for (unsigned k = 0; k < sizeof taken; ++k) once += taken[k] == (k < counter ? 1 : 0);
  out[global()] = counter + once * 10000;
}

// Loops that all lanes of a warp go through together, named in the ways in which programs name warps.
__device__ unsigned sum_of(unsigned value) {
  for (unsigned distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(kAll, value, distance);
  return value;
}

KERNEL by_warps(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned lane = linear() & 31;
  unsigned sum = 0;
  for (unsigned at = linear() & ~31u; at < n; at += threads()) sum += sum_of(in[at + lane]);
  for (unsigned at = linear() / 32 * 16; at < n; at += threads() / 2 + 1) sum = sum * 3 + sum_of(in[at + lane]);
  for (unsigned at = linear() / 32 * 100; at < n; at += 1000) sum = sum * 3 + sum_of(in[at + lane]);
  for (unsigned at = (linear() & 0x3e0) + 5; at < n; at += threads()) sum = sum * 3 + sum_of(in[at + lane]);
  for (unsigned at = (blockIdx.x * blockDim.x * blockDim.y * blockDim.z + linear()) / 32 * 8; at < n; at += threads() / 4 + 1) sum = sum * 3 + sum_of(in[at + lane]);
  for (unsigned at = linear() / 64 * 3; at < n; at += 97) sum = sum * 3 + sum_of(in[at + lane]);
  out[global()] = sum;
}

// Each lane as many rounds as it has words to take; who is done is not waited for.
KERNEL strided(unsigned n, const unsigned* in, unsigned* out) {
  unsigned sum = 0;
#pragma unroll 1
  for (unsigned k = linear(); k < n - 5; k += threads()) {
    const unsigned value = in[k];
    sum = sum * 3 + sum_of(value) + __popc(__ballot_sync(kAll, value & 1)) + __shfl_sync(kAll, value, 2);
  }
  out[global()] = sum;
}

// The warp's step might be none, for all that nvcc knows, and each round would do nothing then: it makes an endless loop for that, which nobody comes to.
KERNEL own_step(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned lane = threadIdx.x % 32, warps = blockDim.x / 32;
  unsigned sum = 0;
  for (unsigned i = threadIdx.x / 32; i < 64; i += warps)
    for (unsigned r = 0; r < warps; ++r) {
      const unsigned value = in[(i + r * 32 + lane) % 64];
      sum = sum * 3 + value + __shfl_xor_sync(kAll, value, 1);
    }
  out[global()] = sum;
}

// Work divided by strides, which all lanes have equally much of (n is 777), though the text does not say so. nvcc unrolls the loop, and makes another of the rest.
KERNEL even(unsigned n, const unsigned* in, unsigned* out) {
  unsigned sum = 0;
  for (int k = threadIdx.x % 4; k < int(n) - 9; k += 4) sum = sum * 3 + in[k] + __shfl_xor_sync(kAll, in[k], 1);
  out[global()] = sum;
}

// With operations behind it, and loops around it that are a warp's.
KERNEL even_rows(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned lane = linear() % 32, warps = (threads() + 31) / 32;
  unsigned sum = 0;
  for (unsigned row = linear() / 32; row < 40; row += warps) {
    for (unsigned k = lane; k < n - 9; k += 32) {
      const unsigned value = in[k] + row;
      sum = sum * 3 + value + __shfl_xor_sync(kAll, value, 2);
    }
    sum += __shfl_sync(kAll, sum, 3);
  }
  out[global()] = sum + __popc(__ballot_sync(kAll, sum & 1));
}

// In blocks of 128 threads times a number. nvcc makes no loop of the rest, but writes it three times.
KERNEL even_written(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned sums[4][32][8];
  const int lane = threadIdx.x % 4, column = threadIdx.x / 4 % 8, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  for (int k = 0; k < 4; ++k) sums[k][warp][column] = in[threadIdx.x / 4 + k];
  __syncthreads();
  unsigned total = 0;
  for (int row = warp; row < 4; row += warps) {
    unsigned sum = 0;
    for (int k = lane; k < warps; k += 4) {
      unsigned value = sums[row][k][column];
      value += __shfl_down_sync(kAll, value, 1, 4);
      value += __shfl_down_sync(kAll, value, 2, 4);
      sum = sum * 3 + value;
    }
    total = total * 5 + sum;
  }
  out[global()] = total;
}

// The same of a loop as it is written.
KERNEL even_plain(unsigned n, const unsigned* in, unsigned* out) {
  unsigned sum = 0;
#pragma unroll 1
  for (unsigned k = linear() % 32 & 3; k < n - 9; k += 4) sum = sum * 3 + in[k] + __shfl_xor_sync(kAll, in[k], 1);
  out[global()] = sum * 5 + __shfl_xor_sync(kAll, sum, 4);
}

// Aligned parts of warps take rows of their own, of different lengths: a part's lanes are together, whoever else is where.
template <unsigned kLanes>
__device__ unsigned row_of(unsigned n, const unsigned* in, unsigned row) {
  const unsigned lane = linear() % 32, rank = lane % kLanes, mask = ((1u << kLanes) - 1) << (lane & ~(kLanes - 1));
  const unsigned length = in[row % n] % 40;
  unsigned sum = 0;
#pragma unroll 1
  for (unsigned k = rank; k < length; k += kLanes) sum += in[(row + k) % n];
  for (unsigned half = kLanes / 2; half > 0; half /= 2) sum += __shfl_down_sync(mask, sum, half, kLanes);
  // What the first has decides for all of them.
  const unsigned more = __shfl_sync(mask, sum, 0, kLanes) % 3;
#pragma unroll 1
  for (unsigned k = 0; k < more; ++k) sum = sum * 3 + __shfl_xor_sync(mask, sum, 1, kLanes) + __popc(__ballot_sync(mask, sum & 1));
  if (more == 1) sum += __reduce_max_sync(mask, sum) + __match_any_sync(mask, sum % 3);
  __syncwarp(mask);
  return sum;
}

KERNEL tiles(unsigned n, const unsigned* in, unsigned* out) {
  unsigned sum = 0;
#pragma unroll 1
  for (unsigned row = linear() / 16 + blockIdx.x; row < 400; row += threads() / 16 + 1) sum = sum * 5 + row_of<16>(n, in, row);
#pragma unroll 1
  for (unsigned row = linear() / 8 + blockIdx.x; row < 400; row += threads() / 8 + 1) sum = sum * 5 + row_of<8>(n, in, row);
#pragma unroll 1
  for (unsigned row = linear() / 4 + blockIdx.x; row < 400; row += threads() / 4 + 1) sum = sum * 5 + row_of<4>(n, in, row);
  if (in[linear() / 2] & 1) sum += row_of<2>(n, in, linear() / 2);
  out[global()] = sum;
}

// Halves of warps, in a loop that lanes leave each on its own.
KERNEL halves_strided(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned mask = 0xffffu << (linear() & 16);
  unsigned sum = 0;
#pragma unroll 1
  for (unsigned k = linear(); k < n - 5; k += threads()) sum = sum * 3 + __popc(__ballot_sync(mask, in[k] & 1)) + __shfl_sync(mask, in[k], 2, 16);
  out[global()] = sum;
}

// The same, and then all of them what they have found: who is done waits there, for those that still go round.
KERNEL strided_sum(unsigned n, const unsigned* in, unsigned* out) {
  unsigned value = in[global()], k = 0;
  const unsigned rounds = value % 8;
#pragma unroll 1
  for (; k < rounds; ++k) value = value * 3 + __shfl_xor_sync(kAll, value, 1);
#pragma unroll 1
  for (; k < 8; ++k) value = value * 5 + __shfl_xor_sync(kAll, value, 1);
  out[global()] = value;
}

// Lanes of one mask that come to two places, or to one in different rounds: they wait for each other, so this is for fibers.
KERNEL paired(unsigned n, const unsigned* in, unsigned* out) {
  unsigned value = in[global()];
  const unsigned mask = 3u << (linear() % 32 & ~1u);
  if (linear() % 2 == 0) {
    value = value * 3 + __shfl_xor_sync(mask, value, 1);
  } else {
    value = value * 5 + __shfl_xor_sync(mask, value, 1);
  }
  out[global()] = value;
}

KERNEL skewed(unsigned n, const unsigned* in, unsigned* out) {
  unsigned value = in[global()];
  const unsigned mask = 3u << (linear() % 32 & ~1u);
  unsigned times = 0;
#pragma unroll 1
  for (unsigned round = 0; round < 8; ++round) {
    if (round % 2 != linear() % 2) continue;
    value = value * 3 + __shfl_xor_sync(mask, value + times, 1);
    ++times;
  }
  out[global()] = value;
}

// Votes by masks of the lanes before one's own, which PTX leaves open and GPUs answer.
KERNEL before(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned mask = (1u << (linear() % 32)) - 1;
  out[global()] = __popc(__ballot_sync(mask, in[global()] & 1)) + (mask != 0 && __any_sync(mask, in[global()] % 5 == 0) ? 100 : 0);
}

// Those that are not in the mask keep nobody up, and do not take part in what is somebody else's.
KERNEL outside(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned lane = linear() % 32;
  unsigned got = 0;
  if (lane < 16) got = __ballot_sync(0xffff0000u, 1) & 0;
  got += __ballot_sync(kAll, in[global()] & 1);
  const unsigned low = __ballot_sync(0xffu, in[global()] & 2);
  const bool any = __any_sync(0xffu, in[global()] % 3 == 0);
  out[global()] = got + (lane < 8 ? low * 3 + any * 5 : 0);
}

// Which lanes come is decided by the outer loop's round: the others come in another one.
KERNEL rounds(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned lane = linear() % 32, mask = in[0] == ~0u ? 1 : 0xffffu << (lane & 16);
  unsigned sum = in[global()];
#pragma unroll 1
  for (unsigned outer = 0; outer < 2; ++outer) {
    const bool comes = (lane & 15) / 8 == outer;
#pragma unroll 1
    for (unsigned inner = 0; inner < 3; ++inner) {
      if (comes) sum += __shfl_sync(mask, sum + inner, 15 - (lane & 15), 16);
    }
  }
  out[global()] = sum;
}

// Of a lane that is not there a shuffle gets 0, whatever the mask.
KERNEL lost(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned lane = linear() % 32;
  unsigned sum = in[global()], all = sum, told = 1;
  if (lane < 8) {
    for (unsigned k = 16; k > 0; k /= 2) sum += __shfl_down_sync(0xffu, sum, k);
    told = __shfl_sync(0xffu, in[global()] | 1, 9) * 5 + __shfl_sync(0xffu, in[global()], 3) * 7;
  }
  if (threadIdx.x % 32 < 8) {
    for (unsigned k = 16; k > 0; k /= 2) all += __shfl_down_sync(kAll, all, k);
  }
  out[global()] = sum + all * 3 + told * 11;
}

// The same range for all of a block's threads, which none of them stores to.
KERNEL ranges(unsigned n, const unsigned* __restrict__ in, unsigned* __restrict__ out) {
  __shared__ unsigned sums[32];
  unsigned total = 0;
  for (unsigned k = in[blockIdx.x] % 4; k < 4 + in[blockIdx.x + 1] % 4; ++k) {
    unsigned sum = in[(global() + k) % 1000];
    for (unsigned step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(kAll, sum, step);
    if (linear() % 32 == 0) sums[linear() / 32] = sum;
    __syncthreads();
    total = total * 3 + sums[(linear() / 32 + k) % ((threads() + 31) / 32)];
    __syncthreads();
  }
  out[global()] = total;
}

// For blocks of rows of 8, in layers of 4 rows if there are several: what a warp is to do is found by its number.
KERNEL in_eights(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned sums[32];
  const unsigned thread = threadIdx.x + 8 * (threadIdx.y + 4 * threadIdx.z), warp = thread / 32;
  unsigned sum = in[global()];
  for (unsigned k = 0; k < 3; ++k) {
    if (in[blockIdx.x * 32 + warp * 3 + k] & 1) sum += __shfl_xor_sync(kAll, sum, 4 >> k) * threadIdx.x + threadIdx.z;
  }
  for (unsigned step = 16; step > 0; step /= 2) sum += __shfl_down_sync(kAll, sum, step);
  if (thread % 32 == 0) sums[warp] = sum;
  __syncthreads();
  out[global()] = sums[(threadIdx.y / 4 + threadIdx.z + 1) % (threads() / 32)] + threadIdx.y * 3 + blockDim.x * 5 + blockDim.y;
}

// Arrays with an index that is known late, each thread's own, across operations of warps and barriers.
KERNEL own_arrays(unsigned n, const unsigned* in, unsigned* out) {
  unsigned char bytes[16];
  unsigned words[8];
  for (unsigned k = 0; k < 16; ++k) bytes[k] = static_cast<unsigned char>(in[global()] >> (k & 15));
  for (unsigned k = 0; k < 8; ++k) words[k] = in[(global() + k) % 1000];
  const unsigned other = __shfl_xor_sync(kAll, in[global()] + bytes[in[global()] & 15], 1);
  bytes[other & 15] += 3;
  if (linear() % 3 == 0) words[other % 8] ^= bytes[words[0] & 15];
  __syncthreads();
  unsigned sum = other;
  for (unsigned k = 0; k < 8; ++k) sum = sum * 5 + words[(k + other) % 8] + bytes[(sum + k) & 15];
  out[global()] = sum;
}

// Whoever is first takes the next task for its warp.
KERNEL tasks(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned next;
  if (linear() == 0) next = 0;
  out[global()] = 0;
  __syncthreads();
  for (;;) {
    unsigned task = 0;
    if (linear() % 32 == 0) task = atomicAdd(&next, 1u);
    task = __shfl_sync(kAll, task, 0);
    if (task >= 40) break;
    for (unsigned k = linear() % 32; k < threads(); k += 32) atomicAdd(&out[blockIdx.x * threads() + k], task * in[k % 1000]);
  }
}

// The last warp's tree, neither volatile nor synchronized.
KERNEL plain_tree(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned least[64], place[64];
  const unsigned t = linear();
  least[t] = in[global()] % 100003;
  place[t] = t;
  __syncthreads();
  if (t < 32) {
#pragma unroll
    for (unsigned k = 32; k > 0; k /= 2) {
      if (least[t + k] < least[t]) {
        least[t] = least[t + k];
        place[t] = place[t + k];
      }
    }
  }
  __syncthreads();
  out[global()] = least[0] + in[blockIdx.x * 64 + place[0]] % 100003;
}

// One half of a warp comes to its operation behind the other's, for which that has waited.
KERNEL halves_meet(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned lane = linear() % 32, value = in[global()];
  const bool late = in[lane] % 2 == 0;
  unsigned got = 0;
  if (!late) got = __shfl_sync(kAll, value, lane ^ 1);
  if (got == 0xffffffffu) out[0] = got;
  if (late) got = __shfl_sync(kAll, value, lane ^ 1);
  out[global()] = got;
}

// Volatile loads that nobody uses.
KERNEL unread(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ volatile unsigned words[1024];
  const unsigned value = in[global()];
  words[linear()] = value;
  __syncwarp();
  if (value & 1) words[linear()];
  if (n & 1) words[linear() ^ 1];
  if (value & 2) words[value % 32 + linear() / 32 * 32];
  out[global()] = __shfl_xor_sync(kAll, value, 5);
}
