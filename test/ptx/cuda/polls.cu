// Kernels whose threads poll memory that others write. Each is k(n, in, out); `in` has n words, below 2^24, and more than there are threads, so has `out`,
// 3 * 1024 and 64 behind them, all kUnset. Results do not depend on the order of threads.
#include "kernel.h"

constexpr unsigned kUnset = 0xdeadbeef;

__device__ volatile unsigned* behind(unsigned* out) { return out + 3 * 1024; }
// Unlike a volatile store to shared memory, it leaves it open who goes on with whom.
__device__ void set(volatile unsigned* where, unsigned value) { atomicExch(const_cast<unsigned*>(where), value); }

// The first thread waits for the block before; what it saw comes to the others by way of shared memory.
KERNEL handed_on(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned before;
  volatile unsigned* const sums = behind(out);
  const unsigned value = in[global()];
  if (linear() == 0) {
    unsigned seen = 0;
    if (blockIdx.x != 0)
      while ((seen = sums[blockIdx.x - 1]) == kUnset) {
      }
    before = seen;
  }
  __syncthreads();
  out[global()] = value + before;
  if (linear() == 0) {
    __threadfence();
    sums[blockIdx.x] = before + in[blockIdx.x];
  }
}

// All of a block ask for the one behind it once a round, beside sums of warps: the first thread leaves what it saw in volatile shared memory.
KERNEL asked_together(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ volatile unsigned seen;
  volatile unsigned* const sums = behind(out);
  unsigned value = in[global()];
  for (unsigned by = 16; by > 0; by /= 2) value += __shfl_down_sync(~0u, value, by) & 0;
  for (;;) {
    if (linear() == 0) seen = blockIdx.x == gridDim.x - 1 ? 0 : sums[blockIdx.x + 1];
    __syncthreads();
    if (seen != kUnset) break;
    __syncthreads();
  }
  out[global()] = value + seen;
  if (linear() == 0) {
    __threadfence();
    sums[blockIdx.x] = seen + in[blockIdx.x];
  }
}

// What the first thread waits for the last one stores where it has nothing to wait for.
KERNEL late(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ volatile unsigned flag;
  if (linear() == 0) set(&flag, 0);
  __syncthreads();
  unsigned polls = 0;
  if (linear() == 0 && threads() > 1) {
    while (flag == 0) ++polls;
  } else if (linear() + 1 == threads()) {
    set(&flag, 1 + in[blockIdx.x]);
  }
  out[global()] = in[global()] + (polls > 1u << 30 ? 1 : 0);
  __syncthreads();
  if (linear() == 0) behind(out)[blockIdx.x] = flag;
}

// Each waits for the one behind it, in rounds.
KERNEL relay(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ volatile unsigned at[1025];
  at[linear()] = 0;
  unsigned sum = 0;
  for (unsigned round = 1; round < 4; ++round) {
    __syncthreads();
    if (linear() + 1 < threads())
      while (at[linear() + 1] < round * 4096) {
      }
    at[linear()] = round * 4096 + (at[linear() + 1] + 1) % 4096 * (linear() + 1 < threads() ? 1 : 0);
    __syncthreads();
    sum = sum * 3 + at[(linear() + round) % threads()];
  }
  out[global()] = sum;
}

// A lock that each thread takes, and does something with that it has been working at in variables of its own.
KERNEL locked(unsigned n, const unsigned* in, unsigned* out) {
  volatile unsigned* const lock = behind(out) + 4 * blockIdx.x;
  unsigned own[8];
  for (unsigned k = 0; k < 8; ++k) own[(k + in[global()]) % 8] = in[(global() + k) % n];
  for (unsigned round = 0; round < 2; ++round) {
    bool done = false;
    while (!done) {
      if (atomicCAS(const_cast<unsigned*>(lock), kUnset, 1) == kUnset) {
        __threadfence();
        lock[1] = (lock[1] == kUnset ? 0 : lock[1]) + own[(in[global()] + round) % 8];
        __threadfence();
        done = true;
        atomicExch(const_cast<unsigned*>(lock), kUnset);
      }
    }
    __syncthreads();
    out[global()] = lock[1] + own[7 - round];
    __syncthreads();
  }
}

// Some leave, the others go in turns, the last first.
KERNEL turns(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ volatile unsigned turn;
  __shared__ unsigned sum;
  if (linear() == 0) {
    set(&turn, threads() - 1);
    sum = 1;
  }
  __syncthreads();
  if (linear() % 5 == 4) {
    out[global()] = 4;
    return;
  }
  for (;;) {
    const unsigned now = turn;
    if (now == linear()) break;
    if (now % 5 == 4 && now == linear() + 1) set(&turn, linear());  // who has left
  }
  if (threads() % 5 == 0 && linear() == threads() - 2) sum = 2;
  sum = sum * 3 + in[global()];
  out[global()] = sum;
  __threadfence();
  if (linear() != 0) set(&turn, linear() - 1);
  __syncthreads();
  out[global()] += sum;
}

// All blocks wait for each other.
KERNEL all_rounds(unsigned n, const unsigned* in, unsigned* out) {
  volatile unsigned* const count = behind(out);
  volatile unsigned* const values = out;
  unsigned value = in[global()], met = 0;
  for (unsigned round = 0; round < 4; ++round) {
    values[global()] = value;
    for (unsigned half = 0; half < 2; ++half) {
      __syncthreads();
      if (linear() == 0) {
        __threadfence();
        atomicAdd(const_cast<unsigned*>(count), 1u);
        ++met;
        while (*count - kUnset < met * gridDim.x) {
        }
        __threadfence();
      }
      __syncthreads();
      if (half == 0) value = value * 3 + values[(global() + threads()) % (gridDim.x * threads())];
    }
  }
  values[global()] = value;
}

// One of each warp waits in a loop within a loop, for the warp before; barriers are where some threads come more often.
KERNEL passed(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ volatile unsigned token;
  if (linear() == 0) token = 0;
  __syncthreads();
  const unsigned warp = linear() / 32, warps = (threads() + 31) / 32;
  unsigned sum = 0;
  for (unsigned lap = 0; lap < 3; ++lap) {
    for (unsigned k = 0; k < in[warp] % 3; ++k) sum = sum * 5 + in[global() + k];
    if (linear() % 32 == in[warp] % (warp + 1 < warps || threads() % 32 == 0 ? 32 : threads() % 32)) {
      while (token != lap * warps + warp) {
      }
      sum += token;
      __threadfence_block();
      token = token + 1;
    }
  }
  __syncthreads();
  out[global()] = sum + token;
}

// As CUB's look-back: a whole warp polls what the blocks before have stored, each lane one of them, flag and value in one.
KERNEL looked_back(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned before, sums[32];
  unsigned* const states = out + 3 * 1024 + 2;  // aligned to 8
  const unsigned lane = linear() % 32, all = threads() < 32 ? (1u << threads()) - 1 : ~0u;
  const bool isWhole = threads() % 32 == 0;
  unsigned value = in[global()];
  if (isWhole) {
    for (unsigned offset = 1; offset < 32; offset *= 2) value += __shfl_xor_sync(~0u, value, offset);
  }
  if (lane == 0) sums[linear() / 32] = value;
  __syncthreads();
  unsigned sum = 0;
  for (unsigned k = 0; k < (threads() + 31) / 32; ++k) sum = sum * 5 + sums[k];
  if (linear() < 32) {
    unsigned flag = 1, got = 0;
    const bool mine = lane < blockIdx.x;
    do {
      if (mine) asm volatile("ld.relaxed.gpu.v2.u32 {%0, %1}, [%2];" : "=r"(flag), "=r"(got) : "l"(states + 2 * lane) : "memory");
    } while (__any_sync(all, flag == kUnset));
    const unsigned reached = __ballot_sync(all, mine);
    unsigned total = 0;
    for (unsigned k = 0; k < 3; ++k) {
      const unsigned one = __shfl_sync(all, got, k < threads() ? k : 0);
      if (reached >> k & 1) total = total * 7 + one;
    }
    if (threads() == 1) total = got * blockIdx.x;
    if (lane == 0) {
      before = total;
      const unsigned own = threads() == 1 ? sum : sum + blockIdx.x;
      asm volatile("st.relaxed.gpu.v2.u32 [%0], {%1, %2};" ::"l"(states + 2 * blockIdx.x), "r"(1u), "r"(own) : "memory");
    }
  }
  __syncthreads();
  out[global()] = value + (threads() == 1 ? 0 : before) + sum;
}

// One thread waits for the block before, between operations of warps.
KERNEL led(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned before;
  volatile unsigned* const sums = behind(out);
  const unsigned lanes = __activemask();
  unsigned value = in[global()];
  value += __shfl_xor_sync(lanes, value, 1) & (linear() + 1 < threads() ? ~0u : 0);
  for (unsigned round = 0; round < 3; ++round) {
    __syncthreads();
    if (linear() == threads() - 1) {
      if (blockIdx.x != 0)
        while ((before = sums[3 * round + blockIdx.x - 1]) == kUnset) {
        }
      else
        before = round;
      __threadfence();
      sums[3 * round + blockIdx.x] = before * 3 + in[round];
    }
    __syncthreads();
    value = value * 3 + before;
    const unsigned other = __shfl_sync(lanes, value, (linear() % 32) & ~1u);
    value += linear() % 2 == 0 ? other : 1;
  }
  out[global()] = value;
}

// All poll together until one has seen it; some do so in a branch of their own before.
KERNEL together(unsigned n, const unsigned* in, unsigned* out) {
  volatile unsigned* const flags = behind(out);
  unsigned rounds = 0;
  bool seen = blockIdx.x == 0;
  while (!__syncthreads_or(seen)) {
    if (linear() == in[blockIdx.x] % threads()) seen = flags[blockIdx.x - 1] != kUnset;
    ++rounds;
  }
  const unsigned count = __syncthreads_count(in[global()] % 3 == 0);
  if (linear() == 0) {
    __threadfence();
    flags[blockIdx.x] = count;
  } else if (linear() == 1) {
    while (flags[blockIdx.x] == kUnset) {
    }
  }
  const bool all = __syncthreads_and(rounds < 1u << 30);
  out[global()] = count * 2 + all;
}

// Predicates are counted beside operations of warps.
KERNEL counted(unsigned n, const unsigned* in, unsigned* out) {
  unsigned value = in[global()];
  for (unsigned round = 0; round < 3; ++round) {
    const unsigned many = __popc(__ballot_sync(~0u, value % 3 == round));
    const unsigned count = __syncthreads_count(value % 5 > many % 5);
    const bool any = __syncthreads_or(value % 1009 == count), all = __syncthreads_and(value > count);
    value = value * 3 + count + many + (any ? 7 : 0) + (all ? 9 : 0);
  }
  out[global()] = value;
}

// As CUB's radix sort: each lane looks back on its own, as far as it must, with a fence in each round, and those that go on do so together.
KERNEL swept(unsigned n, const unsigned* in, unsigned* out) {
  volatile unsigned* const states = out + 3 * 1024 + 2;  // 20 for each block
  const unsigned lane = linear() % 32;
  const unsigned lanes = threads() - (linear() - lane) < 32 ? (1u << (threads() - (linear() - lane))) - 1 : ~0u;
  const unsigned value = in[global()] + __shfl_xor_sync(lanes, in[global()], threads() % 32 == 0 ? 1 : 0);
  __shared__ unsigned sums[20];
  if (linear() < 20) sums[linear()] = 0;
  __syncthreads();
  atomicAdd(&sums[linear() % 20], value % 1000);
  __syncthreads();
  unsigned sum = linear() < 20 ? sums[linear()] : 0;
  if (linear() < 20) {
    if (blockIdx.x != 0) states[20 * blockIdx.x + linear()] = 0x1000000 + sum;
    unsigned together = __ballot_sync(lanes & (threads() < 20 ? ~0u : 0xfffff), true);
    for (unsigned before = blockIdx.x; before-- != 0;) {
      unsigned seen;
      do {
        __threadfence_block();
        seen = states[20 * before + linear()];
      } while (seen == kUnset);
      sum = sum + (seen & 0xffffff);
      together = __ballot_sync(together, (seen & 0x2000000) == 0);
      if (seen & 0x2000000) break;
    }
    states[20 * blockIdx.x + linear()] = 0x2000000 + sum;
  }
  __syncthreads();
  if (linear() < 20) sums[linear()] = sum;
  __syncthreads();
  out[global()] = value + sums[linear() % 20] * (threads() < 20 && linear() >= threads() ? 0 : 1);
}

// What threads hand on under a lock, by plain loads and stores with no barrier between, differs from one to the next.
KERNEL drawn(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned next, lock, total, last;
  if (linear() == 0) next = lock = total = last = 0;
  __syncthreads();
  while (atomicCAS(&lock, 0, 1) != 0) {
  }
  const unsigned drawn = next;
  next = drawn + 1;
  __threadfence();
  atomicExch(&lock, 0);
  if (drawn + 1 == threads()) atomicAdd(&last, 1);
  atomicAdd(&total, drawn * drawn);
  const unsigned many = __syncthreads_count(drawn % 2 == 0);
  out[global()] = in[global()] + total * 16 + last * 8 + many + __popc(__ballot_sync(~0u, true)) * (threads() % 32 == 0 ? 1 : 0);
}

// Counts of each warp, by words that say whose they are: who finds another's tag in its word tries again (before shared memory had atomics). All go in step.
__device__ void countTagged(volatile unsigned* word, unsigned tag) {
  unsigned count;
  do {
    count = tag | ((*word & 0x7ffffff) + 1);
    *word = count;
  } while (*word != count);
}

__device__ void countsTagged(unsigned n, const unsigned* in, unsigned* out, bool twice) {
  __shared__ volatile unsigned counts[32 * 8];
  const unsigned warp = linear() / 32, tag = linear() << 27;
  if (linear() % 32 < 8) counts[8 * warp + linear() % 32] = 0;
  __syncthreads();
  for (unsigned k = 0; k < 20; ++k) {
    const unsigned x = in[(linear() + 5 * k) % n];
    countTagged(&counts[8 * warp + x % 8], tag);
    if (twice) countTagged(&counts[8 * warp + x / 8 % 8], tag);
  }
  __syncthreads();
  out[global()] = counts[8 * warp + linear() % 8] & 0x7ffffff;
}

KERNEL tagged(unsigned n, const unsigned* in, unsigned* out) { countsTagged(n, in, out, false); }

// Twice a round: who is done with the second must not begin the next round while others still look whether theirs is there.
KERNEL tagged_twice(unsigned n, const unsigned* in, unsigned* out) { countsTagged(n, in, out, true); }

// Each lane polls on its own, warp after warp, the last first; behind that they add up in step, with no barrier.
KERNEL met_again(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned sums[1024];
  volatile unsigned* const done = behind(out);
  const unsigned warp = linear() / 32, warps = threads() / 32, lane = linear() % 32;
  unsigned sum = 0;
  for (unsigned k = lane; k < 100;) {
    if (warp + 1 == warps || done[20 * blockIdx.x % 60 + (warp + 1) % 20] == warp + 1) {
      __threadfence();
      sum += in[100 * warp + k];
      k += 32;
    }
  }
  sums[linear()] = sum;
  for (unsigned step = 16; step > 0; step /= 2)
    if (lane < step) sums[linear()] += sums[linear() + step];
  out[global()] = lane == 0 ? sums[linear()] : lane;
  if (lane == 0) {
    __threadfence();
    done[20 * blockIdx.x % 60 + warp % 20] = warp;
  }
}

// The leader of each warp draws its next task and leaves it in volatile shared memory, with nothing between, until there is none: nobody waits.
KERNEL tasks(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned drawn;
  __shared__ volatile unsigned first[32];
  const unsigned warp = linear() / 32, lane = linear() % 32;
  if (linear() == 0) drawn = 0;
  __syncthreads();
  for (;;) {
    if (lane == 0) first[warp] = atomicAdd(&drawn, 32);
    const unsigned task = first[warp] + lane;
    if (task >= threads()) break;
    out[blockIdx.x * threads() + task] = 3 * in[task % n] + blockIdx.x;
  }
}

// Who has something elects one of the warp by storing over each other's number; all take what that one has, until nobody has any.
KERNEL elected(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ volatile unsigned elects[32][2];
  const unsigned warp = linear() / 32, lane = linear() % 32;
  unsigned has = in[linear() % n] % 4, sum = 0;
  while (__any_sync(~0u, has != 0)) {
    if (has != 0) elects[warp][0] = lane;
    if (elects[warp][0] == lane) {
      elects[warp][1] = has * lane;
      has = 0;
    }
    sum = 3 * sum + elects[warp][1] + 1;
  }
  out[global()] = sum;
}

// The leader of each warp polls what the last thread stores, and leaves what it found in plain shared memory for the others.
KERNEL left_for_warp(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned found[32], flag;
  const unsigned warp = linear() / 32;
  if (linear() == 0) flag = 0;
  __syncthreads();
  unsigned value = 7;
  if (linear() + 32 < threads()) {
    do {
      if (linear() % 32 == 0) found[warp] = atomicAdd(&flag, 0);
      __syncwarp();
      value = found[warp];
      __syncwarp();
    } while (value == 0);
  }
  if (linear() == threads() - 1) atomicExch(&flag, 7);
  out[blockIdx.x * threads() + linear()] = value + linear();
}

// The lanes of a warp poll what its last one stores instead.
KERNEL flagged(unsigned n, const unsigned* in, unsigned* out) {
  volatile unsigned* const flag = &out[global()] - linear() % 32;
  unsigned value = __shfl_xor_sync(~0u, in[global()], 1);
  if (linear() % 32 == 31) {
    *flag = 1;
  } else {
    while (*flag != 1) {
    }
  }
  value += __shfl_xor_sync(~0u, value, 2);
  out[global()] = value;
}

// Row by row of a triangle, a row a warp: each lane waits for the rows that it takes up, one after the other, then all add up.
KERNEL solved(unsigned n, const unsigned* in, unsigned* out) {
  volatile unsigned* const rows = behind(out);
  const unsigned row = global() / 32;
  unsigned sum = 0;
  for (unsigned k = linear() % 32; k < row; k += 32) {
    while (rows[k] == kUnset) {
    }
    sum += rows[k];
  }
  for (unsigned by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(~0u, sum, by);
  out[global()] = sum;
  if (linear() % 32 == 0) {
    __threadfence();
    rows[row] = (sum + in[row]) % 1000;
  }
}

// The same of the 32 rows before, all lanes together: which of them are left is the warp's, and what each has comes by a shuffle.
KERNEL taken_up(unsigned n, const unsigned* in, unsigned* out) {
  volatile unsigned* const rows = behind(out);
  const unsigned row = global() / 32;
  unsigned sum = in[row], left = row < 32 ? (1u << row) - 1 : ~0u;
  while (left != 0) {
    const unsigned next = __ffs(left) - 1, found = rows[row - 1 - next];
    if (found == kUnset) continue;
    sum += __shfl_sync(~0u, found + linear() % 32, next);
    left &= left - 1;
  }
  out[global()] = sum;
  if (linear() % 32 == 0) {
    __threadfence();
    rows[row] = sum % 1000;
  }
}

__device__ void meetAllBlocks(unsigned* count, unsigned& met) {
  __syncthreads();
  if (linear() == 0) {
    __threadfence();
    atomicAdd(count, 1u);
    ++met;
    while (*static_cast<volatile unsigned*>(count) - kUnset < met * gridDim.x) {
    }
    __threadfence();
  }
  __syncthreads();
}

// All blocks go round until one of them has counted down to nothing, which the others find in plain memory; beside sums of warps.
KERNEL counted_down(unsigned n, const unsigned* in, unsigned* out) {
  unsigned *const count = const_cast<unsigned*>(behind(out)), *const left = count + 1;
  unsigned met = 0, sum = 0, value = in[global()] % 100;
  if (global() == 0) *left = 5;
  meetAllBlocks(count, met);
  while (*left > 0) {
    for (unsigned by = 16; by > 0; by /= 2) value += __shfl_xor_sync(~0u, value, by) % 7;
    sum += value * *left;
    meetAllBlocks(count, met);
    if (global() == 0) --*left;
    meetAllBlocks(count, met);
  }
  out[global()] = sum;
}

// What the threads of a block have, together: found by all, with no barrier behind.
__device__ unsigned sumOfBlock(unsigned value) {
  __shared__ unsigned sums[32];
  const unsigned warp = linear() / 32, lane = linear() % 32;
  for (unsigned by = 16; by > 0; by /= 2) value += __shfl_down_sync(~0u, value, by);
  if (lane == 0) sums[warp] = value;
  __syncthreads();
  value = lane < threads() / 32 ? sums[lane] : 0;
  if (warp == 0) {
    for (unsigned by = 16; by > 0; by /= 2) value += __shfl_down_sync(~0u, value, by);
    if (lane == 0) sums[0] = value;
  }
  __syncthreads();
  return sums[0];
}

// Twice, before all blocks meet.
KERNEL summed_twice(unsigned n, const unsigned* in, unsigned* out) {
  unsigned met = 0;
  const unsigned once = sumOfBlock(in[linear()] % 100), twice = sumOfBlock(in[linear()] % 10);
  meetAllBlocks(const_cast<unsigned*>(behind(out)), met);
  out[global()] = 10000 * twice + once;
}

// A thread at a time has a list to itself, and lists what it has taken up while there is room; whether there is decides about no round.
KERNEL listed(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned stacks[1024][2], count;
  if (linear() == 0) count = 0;
  __syncthreads();
  unsigned* const stack = stacks[linear()];
  unsigned top = 1, found = 0;
  stack[0] = in[linear()] % 50;
  while (top != 0) {
    const unsigned left = stack[--top];
    found += left;
    if (left % 3 == 1) {
      const unsigned at = atomicAdd(&count, 1u);
      if (at < n % 1000) out[2 * 1024 + at] = 1;
      continue;
    }
    if (left != 0) stack[top++] = left - 1;
  }
  __syncthreads();
  out[global()] = found;
}

// All blocks of the grid, however many there are, wait for each other. From zero.
KERNEL all_here(unsigned n, const unsigned* in, unsigned* out) {
  if (linear() == 0) {
    atomicAdd(out, 1u);
    while (*static_cast<volatile unsigned*>(out) < gridDim.x) {
    }
  }
  __syncthreads();
}

// A walk along flags that ends at the last one, and waits for it there.
KERNEL walked(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ volatile unsigned flags[4];
  if (linear() < 4) flags[linear()] = 0;
  __syncthreads();
  if (linear() == threads() - 1) flags[3] = in[global()] | 1;
  unsigned found, at = 0;
  while ((found = flags[at < 3 ? at : 3]) == 0) ++at;
  out[global()] = found;
}

// Round a ring, whose places short numbers name, until there is something.
__device__ volatile unsigned char ring[1 << 16];
KERNEL ringed(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned found;
  const unsigned own = 8 * blockIdx.x, wanted = blockIdx.x + 1;
  if (linear() == 0) ring[own] = 0;
  __syncthreads();
  if (linear() == threads() - 1) ring[own] = wanted;
  if (linear() == 0) {
    unsigned short at = n;
    while (ring[at] != wanted) ++at;
    found = at;
  }
  __syncthreads();
  out[global()] = found + in[global()];
}
