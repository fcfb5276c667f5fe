// Kernels that call what is not inlined: printf, assert, malloc, functions that call themselves or are called through pointers. Most exchange values between the lanes of their warps as
// well. Each is k(n, in, out); `in` has n words and more than there are threads, so has `out`. Results do not depend on the order of threads, nor do the lines that are printed.
#include <cassert>
#include <cstdio>
#include <cstdlib>

#include "kernel.h"

constexpr unsigned kAll = 0xffffffffu;

__device__ unsigned laneNumber() {
  unsigned lane;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane;
}

// Nothing that calls itself is inlined.
__device__ __noinline__ unsigned deep(unsigned value, unsigned depth) { return depth == 0 ? value * 3 + 1 : deep(value ^ depth, depth - 1) + deep(value + 5, depth / 3); }

KERNEL called(unsigned n, const unsigned* in, unsigned* out) {
  unsigned value = in[global()];
  if (value % 3 != 0) value = deep(value, value % 5);
  value += __shfl_xor_sync(kAll, value, 3);
  for (unsigned k = 0; k < value % 4; ++k) value ^= deep(value + k, k);
  __syncthreads();
  out[global()] = value + __shfl_down_sync(kAll, value, 1) + deep(n, 4);
}

// What each lane knows of itself.
__device__ __noinline__ unsigned who(unsigned depth) {
  if (depth != 0) return who(depth - 1) * 7 + threadIdx.x;
  return threadIdx.x + 1000 * threadIdx.y + 100000 * threadIdx.z + 1000000 * laneNumber() + blockIdx.x * 13 + blockDim.x + 17 * gridDim.x;
}

KERNEL contexts(unsigned n, const unsigned* in, unsigned* out) {
  unsigned value = who(in[global()] & 3);
  if (in[global()] & 4) value += who(2);
  out[global()] = value + 3 * __shfl_sync(kAll, value, 5);
}

// Numbers of all widths, truth values, and more than one result.
struct Parts {
  unsigned char bytes[5];
  double real;
  long long wide;
};
__device__ __noinline__ bool taken(bool first, unsigned char byte, unsigned short half, long long wide, double real, float single, unsigned depth) {
  if (depth != 0) return taken(!first, byte + 1, half * 3, wide - 7, real * 0.5, single + 1, depth - 1);
  return first != ((byte + half + static_cast<unsigned>(wide) + static_cast<unsigned>(real) + static_cast<unsigned>(single)) % 3 == 0);
}
__device__ __noinline__ Parts parted(Parts parts, unsigned depth) {
  if (depth != 0) {
    parts.bytes[depth % 5] += 3;
    return parted(parts, depth - 1);
  }
  parts.wide *= parts.bytes[2];
  parts.real += parts.bytes[4];
  return parts;
}
KERNEL types(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned value = in[global()];
  const bool is = taken(value % 2 != 0, value, value >> 4, static_cast<long long>(value) << 20, value * 0.25, value % 1000, value % 3);
  Parts parts{{1, 2, static_cast<unsigned char>(value), 4, 5}, value * 0.5, static_cast<long long>(value) << 13};
  parts = parted(parts, value % 4);
  unsigned sum = __ballot_sync(kAll, is) + static_cast<unsigned>(parts.real);
  sum += __shfl_xor_sync(kAll, parts.bytes[3] + static_cast<unsigned>(parts.wide >> 9), 1);
  out[global()] = sum;
}

// Variables whose addresses are handed on, across barriers too.
__device__ __noinline__ void swapped(unsigned* words, unsigned* other, unsigned depth) {
  if (depth != 0) return swapped(other, words, depth - 1);
  const unsigned kept = words[1];
  words[1] = other[0] + threadIdx.x;
  other[0] = kept;
}
KERNEL variables(unsigned n, const unsigned* in, unsigned* out) {
  unsigned words[4] = {in[global()], 1, 2, 3}, other[2] = {4, 5};
  swapped(words, other, in[global()] % 3);
  words[2] += __shfl_xor_sync(kAll, other[0], 7);
  __syncthreads();
  if (in[global()] % 2 == 0) swapped(words, &words[2], 1);
  __syncthreads();
  out[global()] = words[0] + 3 * words[1] + 5 * words[2] + 7 * words[3] + 11 * other[0] + 13 * other[1];
}

// Each lane through its own pointer.
using Function = unsigned (*)(unsigned, unsigned);
__device__ unsigned plus(unsigned x, unsigned y) { return x + y * threadIdx.x; }
__device__ unsigned times(unsigned x, unsigned y) { return x * (y | 1); }
__device__ Function functions[3] = {plus, times, deep};
KERNEL pointers(unsigned n, const unsigned* in, unsigned* out) {
  unsigned value = in[global()];
  value = functions[value % 3](value, value % 4);
  value += __shfl_up_sync(kAll, value, 2);
  if (value & 1) value ^= functions[n % 3](value, 3);
  out[global()] = value + __shfl_xor_sync(kAll, value, 16);
}

struct Shape {
  __device__ virtual unsigned area(unsigned unit) const = 0;
};
struct Square final : Shape {
  unsigned side;
  __device__ explicit Square(unsigned s) : side(s) {}
  __device__ unsigned area(unsigned unit) const override { return side * side * unit; }
};
struct Strip final : Shape {
  unsigned length;
  __device__ explicit Strip(unsigned l) : length(l) {}
  __device__ unsigned area(unsigned unit) const override { return length * unit + threadIdx.x; }
};
KERNEL virtuals(unsigned n, const unsigned* in, unsigned* out) {
  const Square square(in[global()]);
  const Strip strip(n);
  const Shape* const shape = in[global()] % 3 == 0 ? static_cast<const Shape*>(&square) : &strip;
  const unsigned area = shape->area(in[global()] % 7);
  out[global()] = area + __shfl_xor_sync(kAll, area, 9);
}

KERNEL allocated(unsigned n, const unsigned* in, unsigned* out) {
  unsigned* words = nullptr;
  const unsigned count = in[global()] % 5;
  if (count != 0) words = static_cast<unsigned*>(malloc(4 * count));
  for (unsigned k = 0; words != nullptr && k < count; ++k) words[k] = in[global()] + k;
  __syncwarp();
  unsigned sum = words == nullptr ? 0 : words[count - 1];
  sum += __shfl_xor_sync(kAll, sum, 1);
  free(words);
  out[global()] = sum;
}

KERNEL printed(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned value = in[global()];
  int taken = 0;
  if (value % 4 == 1) taken += printf("thread %u,%u,%u has %u and %.3f\n", threadIdx.x, threadIdx.y, threadIdx.z, value, value * 0.125);
  const unsigned other = __shfl_xor_sync(kAll, value, 1);
  for (unsigned k = 0; k < value % 3; ++k) taken += printf("block %u round %u: %llx of %s\n", blockIdx.x, k, static_cast<unsigned long long>(value) << 24, value & 8 ? "one" : "another");
  out[global()] = other + taken;
}

// Threads that have ended call nothing, and the others go on.
KERNEL left_early(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned value = in[global()];
  if (value % 5 == 0) return;
  unsigned sum = deep(value, 2);
  __syncthreads();
  sum += who(value % 3);
  __syncthreads();
  if (value % 3 == 1) sum += deep(sum, 1);
  out[global()] = sum + __popc(__activemask()) * 0;
}

KERNEL in_turns(unsigned n, const unsigned* in, unsigned* out) {
  if (blockIdx.x == 0) printf("place 0 lane %u\n", linear());
  __syncwarp();
  if (blockIdx.x == 0) printf("place 1 lane %u\n", linear());
  out[global()] = n;
}

// No lanes exchange anything: threads may be side by side, and need not.
KERNEL printed_alone(unsigned n, const unsigned* in, unsigned* out) {
  unsigned sum = 0;
  for (unsigned k = 0; k < in[global()] % 20; ++k) {
    sum = sum * 3 + in[(global() + k) % n];
    if (sum % 64 == 5) sum += printf("%u,%u,%u of %u: %u\n", threadIdx.x, threadIdx.y, threadIdx.z, blockIdx.x, sum);
  }
  out[global()] = sum;
}

KERNEL called_rarely(unsigned n, const unsigned* in, unsigned* out) {
  unsigned sum = 0;
  for (unsigned k = 0; k < in[global()] % 20; ++k) sum = sum * 3 + in[(global() + k) % n];
  if (sum % 8 == 5) sum += deep(sum, 3) + who(1);
  out[global()] = sum;
}

KERNEL called_often(unsigned n, const unsigned* in, unsigned* out) {
  unsigned sum = who(1);
  for (unsigned k = 0; k < in[global()] % 20; ++k) sum = sum * 3 + deep(in[(global() + k) % n], 2);
  out[global()] = sum;
}

KERNEL allocated_alone(unsigned n, const unsigned* in, unsigned* out) {
  auto* const words = static_cast<unsigned*>(malloc(8));
  words[0] = in[global()];
  words[1] = linear();
  const unsigned sum = words[0] * 3 + words[1];
  free(words);
  out[global()] = sum;
}

// Functions that call each other, one of which waits; too large to become one.
__device__ unsigned mixed(unsigned* words, unsigned sum) {
  for (unsigned k = 0; k < 3; ++k) {
    sum = sum * 3 + words[(sum + k) % 8];
    words[(sum >> 3) % 8] = sum ^ k;
    sum += __popc(sum) * words[sum % 5];
    if (sum % 7 == 3) sum = sum / 3 + words[sum % 6];
  }
  return sum;
}
__device__ __noinline__ unsigned odd(unsigned* words, unsigned depth);
__device__ __noinline__ unsigned even(unsigned* words, unsigned depth) {
  unsigned sum = mixed(words, depth);
  if (depth == 0) return sum;
  sum = mixed(words, sum + odd(words, depth - 1) * 3);
  return mixed(words, depth > 3 ? sum + odd(words, depth - 2) : sum);
}
__device__ __noinline__ unsigned odd(unsigned* words, unsigned depth) {
  __syncthreads();
  unsigned sum = mixed(words, depth);
  if (depth == 0) return sum;
  sum = mixed(words, sum + even(words, depth - 1));
  return mixed(words, depth > 3 ? sum + even(words, depth - 2) : sum);
}
KERNEL waits_in_call(unsigned n, const unsigned* in, unsigned* out) {
  unsigned words[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const unsigned sum = odd(words, n % 7);
  out[global()] = sum + __shfl_xor_sync(kAll, sum, 1);
}

// --- what ends the launch, where a word of `in` is n ---

KERNEL asserts(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned value = in[global()];
  for (unsigned k = 0; k < value % 3 + 1; ++k) assert(in[global()] != n && "not the one");
  out[global()] = __shfl_xor_sync(kAll, value, 1);
}

KERNEL asserts_alone(unsigned n, const unsigned* in, unsigned* out) {
  assert(in[global()] != n);
  out[global()] = in[global()];
}

__device__ __noinline__ unsigned ends(const unsigned* in, unsigned n, unsigned kind, unsigned depth) {
  if (depth != 0) return ends(in, n, kind, depth - 1) + 1;
  const unsigned value = in[global()];
  if (value != n) return value;
  if (kind == 0) __trap();
  if (kind == 1) assert(false);
  if (kind == 2) return *reinterpret_cast<const unsigned*>(value * 16ull);
  return *reinterpret_cast<const unsigned*>(reinterpret_cast<const char*>(in) + value % 2 + 1);
}
KERNEL traps_in_call(unsigned n, const unsigned* in, unsigned* out) { out[global()] = __shfl_xor_sync(kAll, ends(in, n, 0, 2), 1); }
KERNEL asserts_in_call(unsigned n, const unsigned* in, unsigned* out) { out[global()] = __shfl_xor_sync(kAll, ends(in, n, 1, 2), 1); }
KERNEL faults_in_call(unsigned n, const unsigned* in, unsigned* out) { out[global()] = __shfl_xor_sync(kAll, ends(in, n, 2, 2), 1); }
KERNEL misaligned_in_call(unsigned n, const unsigned* in, unsigned* out) { out[global()] = __shfl_xor_sync(kAll, ends(in, n, 3, 2), 1); }
KERNEL frees_twice(unsigned n, const unsigned* in, unsigned* out) {
  void* const words = malloc(8);
  free(words);
  if (in[global()] == n) free(words);
  out[global()] = __shfl_xor_sync(kAll, in[global()], 1);
}
