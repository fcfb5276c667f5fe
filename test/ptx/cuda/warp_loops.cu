// Warps whose loops go by what their lanes have in common: what these have fetched, or added up among themselves. As in warps.cu.
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
