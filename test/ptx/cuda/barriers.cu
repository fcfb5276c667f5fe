// Kernels whose threads wait at barriers. Each is k(n, in, out); `in` has n words and more than there are threads, so has `out`.
// Results do not depend on the order of threads between barriers.
#include "kernel.h"

KERNEL turned(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned part[1024];
  part[linear()] = in[global()];
  __syncthreads();
  out[global()] = part[threads() - 1 - linear()];
}

KERNEL dynamic_shared(unsigned n, const unsigned* in, unsigned* out) {
  extern __shared__ unsigned words[];
  unsigned* const now = words;
  unsigned* const next = words + threads();
  now[linear()] = in[global()];
  __syncthreads();
  next[linear()] = now[linear()] + now[(linear() + 1) % threads()];
  __syncthreads();
  out[global()] = next[(linear() + 5) % threads()];
}

// The thread's number, or what is the same for all: not the same for all.
KERNEL own_or_common(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned sum;
  unsigned value = threadIdx.x;
  if (in[blockIdx.x] & 1) value = in[blockIdx.x + 1];
  if (linear() == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, value & 0xff);
  __syncthreads();
  out[global()] = value * 3 + sum;
}

// Loops around barriers, values of several kinds across them, addresses that move on.
KERNEL tiles(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ float tile[1024];
  float sum = 0;
  double product = 1;
  unsigned long long mixed = global();
  bool odd = in[global()] & 1;
  const unsigned* from = in + linear();
  for (unsigned first = 0; first + threads() <= n; first += threads(), from += threads()) {
    tile[linear()] = static_cast<float>(*from % 1000);
    __syncthreads();
    for (unsigned k = 0; k < threads(); ++k) sum += tile[k] * 0.5f;
    product *= 1.0 + tile[(linear() + first) % threads()] * 1e-3;
    mixed = mixed * 6364136223846793005ull + static_cast<unsigned>(tile[0]);
    odd = odd != (tile[linear() / 2] > 500.0f);
    __syncthreads();
  }
  out[global()] = __float_as_uint(sum) ^ static_cast<unsigned>(__double_as_longlong(product) >> 20) ^ static_cast<unsigned>(mixed >> 32) ^ odd;
}

KERNEL tree(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned part[1024];
  part[linear()] = in[global()];
  __syncthreads();
  for (unsigned width = threads(); width > 1;) {
    const unsigned half = (width + 1) / 2;
    if (linear() + half < width) part[linear()] += part[linear() + half];
    width = half;
    __syncthreads();
  }
  out[global()] = part[0] + linear();
}

// Each thread leaves the loop when it likes, and waits at another barrier afterwards.
KERNEL own_rounds(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned count[1024];
  count[linear()] = 0;
  const unsigned rounds = 1 + in[global()] % 5;
  unsigned seen = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    atomicAdd(&count[(linear() + round) % threads()], 1);
    seen += round * 3;
    __syncthreads();
  }
  for (unsigned round = rounds; round < 6; ++round) __syncthreads();
  out[global()] = seen + count[linear()];
}

// Those that have ended do not count.
KERNEL early_end(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned part[1024];
  part[linear()] = 7;
  out[global()] = 1;
  __syncthreads();
  if (in[global()] % 3 == 0) return;
  unsigned sum = 0;
  for (unsigned round = 0; round < 4; ++round) {
    part[linear()] += in[global()] + round;
    __syncthreads();
    sum += part[(linear() + round) % threads()];
    __syncthreads();
    if (in[global()] % 7 == round) return;
    out[global()] = sum;
  }
}

// Barriers in branches that threads take differently: arrivals count, wherever they are.
KERNEL apart(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned part[1024];
  unsigned value = in[global()];
  if (value & 1) {
    part[linear()] = value;
    __syncthreads();
    value += part[threads() - 1 - linear()];
    __syncthreads();
  } else {
    part[linear()] = value * 3;
    __syncthreads();
    value ^= part[threads() - 1 - linear()];
    if (value & 2) {
      __syncthreads();
    } else {
      value += 9;
      __syncthreads();
    }
  }
  part[linear()] = value;
  __syncthreads();
  out[global()] = part[(linear() + 1) % threads()];
}

// An array of each thread's own that lasts, and one that does not.
KERNEL local_arrays(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned part[1024];
  unsigned mine[11];
  for (unsigned i = 0; i < 11; ++i) mine[i] = in[(global() + i) % n];
  unsigned sum = 0;
  for (unsigned round = 0; round < 3; ++round) {
    part[linear()] = mine[in[global()] % 11];
    __syncthreads();
    unsigned passing[5];
    for (unsigned i = 0; i < 5; ++i) passing[i] = part[(linear() + i) % threads()];
    sum += passing[part[linear()] % 5];
    mine[part[(linear() + 1) % threads()] % 11] += sum;
    __syncthreads();
  }
  for (unsigned i = 0; i < 11; ++i) sum = sum * 31 + mine[i];
  out[global()] = sum;
}

KERNEL reductions(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned value = in[global()] % 97;
  const unsigned count = __syncthreads_count(value > 20);
  const unsigned all = __syncthreads_and(value < 97), most = __syncthreads_and(value > 3);
  const unsigned any = __syncthreads_or(value == 5);
  unsigned rounds = 0, left = value;
  while (__syncthreads_or(left > 0)) {
    ++rounds;
    left /= 2;
  }
  out[global()] = count | all << 12 | most << 13 | any << 14 | rounds << 16;
}

KERNEL numbers(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned part[1024];
  part[linear()] = in[global()];
  asm volatile("bar.sync 1;" ::: "memory");
  const unsigned value = part[(linear() + 1) % threads()];
  asm volatile("bar.sync 2;" ::: "memory");
  part[linear()] = value + 1;
  asm volatile("bar.sync 1;" ::: "memory");
  out[global()] = part[(linear() + 2) % threads()];
}

__device__ __noinline__ unsigned exchanged(unsigned* part, unsigned value, unsigned distance) {
  part[linear()] = value;
  __syncthreads();
  const unsigned got = part[(linear() + distance) % threads()];
  __syncthreads();
  return got;
}

KERNEL called(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned part[1024];
  unsigned value = in[global()];
  for (unsigned round = 1; round < 5; ++round) value = value * 3 + exchanged(part, value, round);
  out[global()] = exchanged(part, value, 1);
}

// What all threads know alike, chosen by a condition that they know alike.
KERNEL chosen(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned part[1024];
  unsigned scale = n % 7, value = in[global()];
  for (unsigned round = 0; round < 6; ++round) {
    if ((round + blockIdx.x) % 2 == 0) {
      part[linear()] = value;
      __syncthreads();
      value += part[threads() - 1 - linear()] * scale;
      scale = scale * 5 + 1;
      __syncthreads();
    } else {
      switch (scale % 3) {
        case 0:
          value += 3;
          break;
        case 1:
          __syncthreads();
          value ^= scale;
          break;
        default:
          scale += 2;
      }
    }
  }
  out[global()] = value + scale;
}

// Loops that each thread leaves when it likes, atomic operations on shared memory with results and without, between barriers.
KERNEL bins(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned count[64], most[64], first;
  if (linear() == 0) first = ~0u;
  for (unsigned k = linear(); k < 64; k += threads()) count[k] = most[k] = 0;
  __syncthreads();
  unsigned tickets = 0;
  for (unsigned k = linear(); k < n; k += threads()) {
    const unsigned value = in[k];
    tickets += atomicAdd(&count[value % 64], 1) < n;
    atomicMax(&most[value % 64], value);
    if (value % 5 == 0) atomicMin(&first, k);
  }
  __syncthreads();
  out[global()] = count[linear() % 64] ^ most[(linear() + 1) % 64] ^ tickets << 20 ^ first << 10;
}

// --- What ends a launch ---

KERNEL traps(unsigned n, const unsigned* in, unsigned* out) {
  __syncthreads();
  if (in[global()] == n) asm volatile("trap;");
  __syncthreads();
  out[global()] = 1;
}

KERNEL misaligned(unsigned n, const unsigned* in, unsigned* out) {
  const char* at = reinterpret_cast<const char*>(in + global());
  if (in[global()] == n) at += 1;
  const unsigned value = *reinterpret_cast<const unsigned*>(at);
  __syncthreads();
  out[global()] = value;
}

KERNEL faults(unsigned n, const unsigned* in, unsigned* out) {
  __syncthreads();
  if (in[global()] == n) *reinterpret_cast<volatile unsigned*>(4096) = 1;
  __syncthreads();
  out[global()] = 1;
}

// Of programs that rely on what GPUs do: all have read before one of them, or each, stores over it.

// A leader fetches the next item behind the loop's body; the loop ends by it.
KERNEL fetches(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned next;
  if (linear() == 0) next = in[blockIdx.x] % 8;
  __syncthreads();
  unsigned sum = 0;
  while (next < 40) {
    sum = sum * 3 + next;
    if (linear() == 0) next += 1 + in[blockIdx.x + next] % 4;
    __syncthreads();
  }
  out[global()] = sum;
}

// All read what has been added up, and the leader begins anew at once.
KERNEL clears(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned sum;
  if (linear() == 0) sum = 0;
  __syncthreads();
  unsigned total = 0;
  for (unsigned round = 0; round < 4; ++round) {
    atomicAdd(&sum, linear() + round);
    __syncthreads();
    total = total * 3 + sum;
    if (linear() == 0) sum = round;
    __syncthreads();
  }
  out[global()] = total;
}

// Each goes on with what its neighbour had.
KERNEL neighbours(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned row[1024 + 1];
  row[linear() + 1] = linear();
  if (linear() == 0) row[0] = 5;
  __syncthreads();
  for (unsigned round = 0; round < 6; ++round) {
    const unsigned before = row[linear()];
    row[linear() + 1] = before * 2 + round;
    __syncthreads();
  }
  out[global()] = row[linear() + 1];
}

// Pipelines: each goes on with what the thread before it had, the first with what comes in, in the ways in which that is written.
KERNEL pipelines(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned row[4][1024];
  const unsigned t = linear();
  for (unsigned k = 0; k < 4; ++k) row[k][t] = t;
  __syncthreads();
#pragma unroll 1
  for (unsigned round = 0; round < 100; ++round) {  // one load from either
    unsigned value;
    if (t == 0) {
      value = in[round];
    } else {
      value = row[0][t - 1];
    }
    row[0][t] = value * 3 + round;
    __syncthreads();
  }
#pragma unroll 1
  for (unsigned round = 0; round < 100; ++round) {  // the index is bounded
    unsigned value = row[1][t > 0 ? t - 1 : 0];
    if (t == 0) value = in[round];
    row[1][t] = value * 3 + round;
    __syncthreads();
  }
#pragma unroll 1
  for (unsigned round = 0; round < 100; ++round) {  // the last one's neighbour is the first
    row[2][t] = row[2][(t + threads() - 1) % threads()] * 3 + round;
    __syncthreads();
  }
#pragma unroll 1
  for (unsigned round = 0; round < 100; ++round) {  // those that are left, whose results go elsewhere in the end
    if (t > round) {
      const unsigned value = row[3][t - 1] * 3 + round;
      if (t + 1 < threads()) {
        row[3][t] = value;
      } else {
        out[global()] = value;
      }
    }
    __syncthreads();
  }
  out[global()] = row[0][t] * 3 + row[1][t] * 5 + row[2][t] * 7 + (t + 1 < threads() ? row[3][t] : t == 0 ? 0 : out[global()]);
}

// The lanes of the first warp add up what lies in global memory, each round behind the one before.
KERNEL adds_in_step(unsigned n, const unsigned* in, unsigned* out) {
  out[global()] = linear() * 3 + 1;
  __syncthreads();
  if (threads() < 64) return;
  if (linear() < 32) {
    volatile unsigned* const own = out + blockIdx.x * threads() + linear();
    own[0] += own[32];
    own[0] += own[16];
    own[0] += own[8];
    own[0] += own[4];
    own[0] += own[2];
    own[0] += own[1];
  }
}

__device__ __noinline__ unsigned tripled(unsigned x) { return x * 3; }
__device__ __noinline__ unsigned squared(unsigned x) { return x * x; }

// Functions that wait for nobody are called through pointers in a loop that waits for nobody.
KERNEL through_pointer(unsigned n, const unsigned* in, unsigned* out) {
  unsigned (*const which)(unsigned) = in[global()] % 2 == 0 ? tripled : squared;
  unsigned value = in[global()];
  for (unsigned round = 0; round < n % 16; ++round) value = which(value) + round;
  out[global()] = value;
}

// Some might return before the barriers; those that stay go round alike, which cannot be known, and store over what others have just read.
KERNEL returned(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned tile[16];
  if (linear() + (in[0] >> 24) >= threads()) return;
  unsigned sum = 0;
#pragma unroll 1
  for (unsigned k = linear(); k < linear() + 5; ++k) {
    if (linear() < 16) tile[linear()] = in[k];
    __syncthreads();
    for (unsigned j = 0; j < 16 && j < threads(); ++j) sum = sum * 3 + tile[j];
  }
  out[global()] = sum;
}

// One thread adds up what the others of its warp have just stored.
KERNEL gathers(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned sums[32];
  __syncthreads();
  const unsigned t = linear();
  if (t < 17) {
    unsigned sum = 0;
    for (unsigned k = t; k < 200; k += 17) sum += in[k];
    sums[t] = sum;
  }
  if (t == 0) {
    unsigned sum = 0;
    for (unsigned k = 0; k < 17; ++k) sum += sums[k];
    out[global()] = sum;
  } else {
    out[global()] = t;
  }
}

// Threads of a warp find in shared memory what its others have left there, with no barrier between.
KERNEL left_turned(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned words[1024];
  words[linear()] = in[global()];
  out[global()] = words[linear() ^ 31] * 3 + words[linear() / 32 * 32 + (linear() + n) % 32];
}

// In a strip of its own.
KERNEL left_rows(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned strips[32][4][33];
  const unsigned warp = linear() / 32, lane = linear() % 32;
  for (unsigned k = 0; k < 4; ++k) strips[warp][k][lane] = in[global() + k];
  unsigned sum = 0;
  for (unsigned k = 0; k < 4; ++k) sum = sum * 3 + strips[warp][lane % 4][lane / 4 * 4 + k];
  out[global()] = sum;
}

// The leader leaves one word more, which the last one reads.
KERNEL left_by_few(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned strips[32][33];
  const unsigned warp = linear() / 32, lane = linear() % 32;
  strips[warp][lane] = in[global()];
  if (lane == 0) strips[warp][32] = in[global() + 32];
  out[global()] = strips[warp][lane + 1] * 3 - strips[warp][lane];
}

// Each warp in its own rounds, and over what it had there in the last one; some of its threads add up more than others.
KERNEL left_in_rounds(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned strips[32][48];
  const unsigned warp = linear() / 32, lane = linear() % 32;
  unsigned sum = 0;
  for (unsigned x = warp; x < 40; x += threads() / 32) {
    if (in[x] % 3 == 0) continue;
    for (unsigned k = lane; k < 40; k += 32) strips[warp][k] = in[x * 17 + k];
    if (lane > x) continue;
    for (unsigned k = 0; k < 1 + in[x] % 7; ++k) sum = sum * 3 + strips[warp][lane + k];
  }
  out[global()] = sum;
}

// Each warp goes along a list of its own, of another length; the lane that comes to what is sought leaves it in the warp's word, and all lanes behind it take it from there, in the same round and in later ones.
KERNEL left_by_one(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned found[32];
  const unsigned warp = linear() / 32, lane = linear() % 32;
  const unsigned* const list = in + 7 * (blockIdx.x * (threads() / 32) + warp);
  const unsigned sought = list[0] % 33, count = 40 + list[1] % 60;
  unsigned sum = 0;
  for (unsigned k = lane; k < count; k += 32) {
    const unsigned value = list[k];
    if (k == sought) found[warp] = value * 5;
    if (k > sought) sum += value ^ found[warp];
  }
  out[global()] = sum;
}

// A tree whose first distance nobody knows.
KERNEL left_in_tree(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned words[1024 + 32];
  words[linear()] = in[global()];
  if (linear() < 32) words[threads() + linear()] = 0;
  __syncthreads();
  if (linear() < 32) {
    for (unsigned by = n == 777 ? 16 : n; by > 0; by /= 2) words[linear()] += words[linear() + by];
  }
  out[global()] = linear() == 0 ? words[0] : 1;
}

// All look at a word in global memory, and when the first thread is through it sets it back: the block's others have looked before.
KERNEL set_back(unsigned n, const unsigned* in, unsigned* out) {
  unsigned* const word = out + gridDim.x * threads() + blockIdx.x;
  if (linear() == 0) *word = 2 + blockIdx.x;
  __syncthreads();
  const unsigned was = *word;
  unsigned sum = 0;
  for (unsigned k = global(); k < n; k += threads()) sum += in[k];
  out[global()] = sum + was;
  if (linear() == 0) atomicInc(word, 2 + blockIdx.x);
}
