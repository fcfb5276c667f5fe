// Kernels whose blocks add up by warps and barriers, while some threads end early, or where all go by what they load. Each is k(n, in, out); `in` has n words and more than there are threads, so has `out`.
#include "kernel.h"

constexpr unsigned kAll = 0xffffffffu;

__device__ unsigned sumOfWarp(unsigned value) {
  for (unsigned by = 16; by != 0; by /= 2) value += __shfl_down_sync(kAll, value, by);
  return value;
}

// The block's sum, of those that are left; in the first warp's first lane, if it is.
__device__ unsigned sumOfBlock(unsigned value) {
  __shared__ unsigned part[32];
  if (linear() < 32) part[linear()] = 0;
  __syncthreads();
  value = sumOfWarp(value);
  if (linear() % 32 == 0) part[linear() / 32] = value;
  __syncthreads();
  value = linear() < 32 ? part[linear()] : 0;
  if (linear() < 32) value = sumOfWarp(value);
  __syncthreads();
  return value;
}

// Those behind a bound, which most blocks do not come to, have ended when the others add up.
KERNEL leave_behind(unsigned n, const unsigned* in, unsigned* out) {
  if (global() >= n) return;
  out[global()] = sumOfBlock(in[global()]) * 3 + threadIdx.x;
}

// Whole warps, some lanes, or all threads of a block.
KERNEL leave_warps(unsigned n, const unsigned* in, unsigned* out) {
  out[global()] = 5;
  if (in[global() / 32] % 3 == 0) return;
  out[global()] = sumOfBlock(in[global()]);
  if (in[blockIdx.x] % 2 == 0) return;
  out[global()] += sumOfBlock(linear());
}

KERNEL leave_lanes(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned own = in[global()];
  out[global()] = 1;
  if (own % 5 == 0) return;
  unsigned sum = sumOfBlock(own);
  out[global()] = sum;
  if (own % 7 == 1) {
    out[global()] = sum * 3 + __popc(__activemask());
    return;
  }
  sum += __ballot_sync(kAll, own % 2) + __any_sync(kAll, own % 11 == 3) + __all_sync(kAll, own % 5 != 0) * 2;
  sum ^= __match_any_sync(kAll, own % 3) + __reduce_add_sync(kAll, own % 100) + __reduce_min_sync(kAll, own) + __shfl_sync(kAll, own, 9) + __shfl_up_sync(kAll, own, 3);
  out[global()] = sum + sumOfBlock(own % 13) * 7;
}

// In the middle of loops, by several ways, and in other rounds than neighbours do.
KERNEL leave_rounds(unsigned n, const unsigned* in, unsigned* out) {
  unsigned own = in[global()], sum = 0;
  for (unsigned round = 0; round < 6; ++round) {
    if (own % 11 == round) {
      out[global()] = sum;
      return;
    }
    sum = sum * 3 + sumOfBlock(own + round);
    if (linear() % 32 == round && sum % 2 == 1) return;
    for (unsigned k = 0; k < own % 4; ++k) {
      if ((own + k) % 29 == round) return;
      sum += k;
    }
    sum += __ballot_sync(kAll, own % 2 == round % 2);
    out[global()] = sum;
  }
  out[global()] = sum + sumOfBlock(sum % 1000) * 5;
}

// Each has its own number of rounds, and none comes to a barrier behind them.
KERNEL leave_by_turns(unsigned n, const unsigned* in, unsigned* out) {
  unsigned sum = 0, round = 0;
  for (; round <= in[global()] % 6; ++round) {
    sum += sumOfBlock(in[global()] % 50 + round);
    if (linear() % 3 == 0) sum *= 3;
    if (round == 4 && linear() % 64 > 40) break;
  }
  out[global()] = sum * 16 + round;
}

// Reductions at barriers count who is left.
KERNEL leave_reductions(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned own = in[global()];
  unsigned sum = 0;
  out[global()] = 9;
  for (unsigned round = 0; round < 5; ++round) {
    if (own % 6 == round || linear() == round) return;
    sum = sum * 5 + __syncthreads_count(own % 3 == 1);
    sum += __syncthreads_and(own % 6 > round) * 3 + __syncthreads_and(own % 97 != 5) * 5 + __syncthreads_or(own % 6 == round) * 7 + __syncthreads_or(own % 97 == 7) * 11;
    out[global()] = sum;
  }
}

// All exchange, then some leave before others wait: volatile shared memory is gone through in step.
KERNEL leave_volatile(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ volatile unsigned words[1024];
  words[linear()] = in[global()];
  __syncthreads();
  if (in[global()] % 4 == 1) return;
  const unsigned other = words[(linear() + 5) % threads()];
  __syncthreads();
  words[linear()] = other + 1;
  out[global()] = sumOfBlock(words[linear()]) + other;
}

// How often all go round, and past what, a block finds in plain memory, which for all the compiler knows `out` may be.
KERNEL rounds_loaded(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned rounds = in[blockIdx.x] % 5;
  unsigned sum = in[global()];
  for (unsigned round = 0; round <= rounds; ++round) {
    if (in[blockIdx.x + round] % 3 == 0) continue;
    out[global()] = sum;
    sum += sumOfBlock(sum + round);
  }
  if (in[blockIdx.x + 9] % 2 == 0) sum *= sumOfBlock(1);
  out[global()] = sum + sumOfBlock(2);
}

// Who finds something counts it, and goes on to the next one whatever the count was; the number of rounds is only a number.
KERNEL counted_rounds(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned counts[2];
  if (linear() == 0) counts[0] = counts[1] = 0;
  __syncthreads();
  const unsigned* at = in + linear();
  for (unsigned left = n / threads() + 1;;) {
    if (*at % 5 == 0) {
      if (atomicAdd(&counts[0], 1) < 40) atomicAdd(&counts[1], 3);
    }
    if (--left == 0 || at >= in + n - threads()) break;
    at += threads();
  }
  __syncthreads();
  out[global()] = sumOfBlock(counts[0] * linear()) + counts[1];
}

// What decides is the same for all, whichever way they came.
KERNEL brought_alike(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned bound;
  unsigned value = in[global()] % 100;
  unsigned count = n;
  if (blockIdx.x != 1) {
    if (linear() == 0) bound = value;
    __syncthreads();
    count = bound;
  } else if (linear() == 0) {
    out[global()] = 5;
    value += atomicAdd(&out[global()], 3);
  }
  if (count > 40) value += sumOfBlock(value);
  out[global()] = value + count + sumOfBlock(linear());
}
