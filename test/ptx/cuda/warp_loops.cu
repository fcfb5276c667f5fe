// Warps whose loops go by what their lanes have in common: what these have fetched, or added up among themselves, or the rows that they are at; and one whose lanes come in different rounds. As in warps.cu.
#include "kernel.h"

constexpr unsigned kAll = 0xffffffffu;

// Each warp goes through its part and leaves out what a list names, in order, of which its lanes fetch a row at a time (as OpenMM's forces do): it looks at its own row again and again, and waits for nobody.
KERNEL refilled(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ volatile int left[1024];
  const int lane = threadIdx.x % 32, row = threadIdx.x - lane, begin = threadIdx.x / 32 * 50, end = begin + 50;
  int base = 0, current = row;
  unsigned sum = 0;
  left[threadIdx.x] = -1;
  for (int at = begin; at < end; ++at) {
    while (left[row + 31] < at) {
      if (base + lane < 700) {
        left[threadIdx.x] = 3 * (base + lane) + in[base + lane] % 3;
      } else {
        left[threadIdx.x] = end;
      }
      base += 32;
      current = row;
    }
    while (left[current] < at) ++current;
    if (left[current] == at) continue;
    unsigned value = in[(at + lane) % 777];
    for (unsigned k = 1; k <= 32; ++k) {
      sum += k * value;
      value = __shfl_sync(kAll, value, (lane + 1) % 32);
    }
  }
  out[global()] = sum;
}

// As many rounds as all lanes of the warp have added up, each of them for itself.
KERNEL summed_rounds(unsigned n, const unsigned* in, unsigned* out) {
  unsigned value = in[global()], rounds = value % 4;
  for (unsigned half = 16; half > 0; half /= 2) rounds += __shfl_xor_sync(kAll, rounds, half);
  for (unsigned round = 0; round < rounds; ++round) value = value * 3 + __shfl_sync(kAll, value, static_cast<int>(round));
  out[global()] = value + rounds;
}

// The same by way of doubles, and not within a warp that has but few.
KERNEL summed_doubles(unsigned n, const unsigned* in, unsigned* out) {
  unsigned value = in[global()];
  int rounds = static_cast<int>(value % 4), most = static_cast<int>(value % 7);
  for (unsigned half = 16; half > 0; half /= 2) {
    rounds += __shfl_xor_sync(kAll, static_cast<double>(rounds), half);
    most = max(most, __shfl_xor_sync(kAll, most, half));
  }
  if (rounds + most > 40) {
    for (int round = most; round < rounds; ++round) value = value * 5 + __shfl_xor_sync(kAll, value, round % 32);
  }
  out[global()] = value + rounds;
}

// What is added to a product of two is each lane's own.
KERNEL summed_fused(unsigned n, const unsigned* in, unsigned* out) {
  const double own = static_cast<double>(in[global()] % 4);
  int sum = static_cast<int>(fma(own, __shfl_xor_sync(kAll, own, 1), static_cast<double>(linear() % 32)));
  for (unsigned half = 16; half > 1; half /= 2) sum += __shfl_xor_sync(kAll, sum, half);
  out[global()] = sum;
}

// Of half a warp's sum lanes of the other half know nothing.
KERNEL summed_halves(unsigned n, const unsigned* in, unsigned* out) {
  unsigned value = in[global()], rounds = value % 4;
  for (unsigned half = 8; half > 0; half /= 2) rounds += __shfl_xor_sync(kAll, rounds, half);
  for (unsigned round = 0; round < rounds; ++round) value = value * 3 + round;
  out[global()] = value + __shfl_sync(kAll, rounds, 16);
}

// A mask that is all or a ballot of the loop's, where lanes do not come in the same round.
KERNEL late(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned lane = linear() % 32, value = in[global()];
  unsigned members = kAll, other = 0;
  for (unsigned round = 0; round < 8; ++round) {
    if (round == (lane & 1)) other = __shfl_sync(members, value, lane ^ 1);
    if (round == 5) members = __ballot_sync(kAll, value & 1);
  }
  out[global()] = other + members;
}

// Warps go by rows of their own and meet in each, and behind all of them once more: who has fewer is there while the others still go round.
KERNEL rows_apart(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned words[1024];
  const unsigned warp = linear() / 32, warps = (threads() + 31) / 32;
  words[linear()] = 0;
  __syncthreads();
  unsigned total = in[global()];
  for (unsigned row = warp; row < n % 53 + blockIdx.x; row += warps) {
    const unsigned sum = __reduce_add_sync(kAll, linear() / 32 == threads() / 32 ? 0 : in[row * 32 + linear() % 32]) + row;
    words[linear()] = sum + total;
    __syncthreads();
    total += words[(linear() + 32) % threads()];
    __syncthreads();
  }
  __syncthreads();
  __syncthreads();
  words[linear()] ^= total;
  __syncthreads();
  out[global()] = total + words[(linear() + 64) % threads()];
}

// The same with rounds in each row, of some none at all, some warps that have nothing to do end at once, and the rows of others decide how often they meet.
KERNEL rows_within_rows(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned words[1024];
  const unsigned warp = linear() / 32, warps = (threads() + 31) / 32;
  words[linear()] = 0;
  __syncthreads();
  if (warp % 5 == 3) {
    out[global()] = __reduce_xor_sync(kAll, warp);
    return;
  }
  unsigned total = linear();
  for (unsigned row = warp; row < n % 41 + blockIdx.x; row += warps) {
    const unsigned found = __reduce_max_sync(kAll, warp == threads() / 32 ? row : in[row * 32 + linear() % 32] + row);
    for (unsigned k = 0; k < in[row] % 3; ++k) {
      words[linear()] = found + total * k;
      __syncthreads();
      total = total * 5 + words[(linear() + 96) % threads()];
      __syncthreads();
    }
    if (in[row + 3] % 4 == 0) __syncthreads(), total += words[linear() ^ 1], __syncthreads();
  }
  __syncthreads();
  out[global()] = total;
}
