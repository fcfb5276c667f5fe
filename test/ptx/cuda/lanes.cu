// Kernels whose threads do not wait for each other, and go different ways. Each is k(n, in, out); `in` has n words and more than there are threads, so
// has `out`. Results do not depend on the order of threads.
#include "kernel.h"

KERNEL guarded(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || threadIdx.y != 0 || threadIdx.z != 0) return;
  out[i] = in[i] * 3 + in[n - 1 - i];
}

// Both ways, ways within ways, and where they meet again.
KERNEL branches(unsigned n, const unsigned* in, unsigned* out) {
  unsigned value = in[global()];
  if (value & 1) {
    value = value * 5 + 1;
    if (value & 4 || (value & 8 && n > 10)) {
      value ^= in[value % n];
    } else {
      out[global()] = value;
      value += 7;
    }
  } else if (value % 3 == 0) {
    value /= value % 7 + (value & 2);  // by zero for some: all ones
  }
  out[global()] = value;
}

// Each thread as many rounds as it likes; it may leave in the middle, from an inner loop, or go on early.
KERNEL own_loops(unsigned n, const unsigned* in, unsigned* out) {
  unsigned sum = 0, last = 0;
  float product = 1;
  for (unsigned k = global(); k < n + 500; k += 97) {
    const unsigned value = in[k % n];
    last = value;
    if (value % 11 == 3) continue;
    sum += value ^ k;
    for (unsigned inner = 0; inner < value % 5; ++inner) {
      product *= 1.0f + 1e-3f * static_cast<float>(in[(k + inner) % n] % 100);
      if ((sum + inner) % 13 == 0) break;
    }
    if (value % 29 == 5) break;
  }
  out[global()] = sum ^ last ^ __float_as_uint(product);
}

// The same rounds for all, with what differs in them.
KERNEL common_loops(unsigned n, const unsigned* in, unsigned* out) {
  float sum = 0;
  double wide = 0;
  unsigned long long mixed = global();
  const unsigned* from = in + linear();
  for (unsigned k = 0; k < 20; ++k) {
    for (unsigned inner = 0; inner <= k; ++inner) {
      sum = fmaf(static_cast<float>(in[inner] % 1000), 0.25f, sum);
      if (in[(linear() + inner) % n] & 1) wide += 1.0 / (1.0 + in[k]);
    }
    mixed = mixed * 6364136223846793005ull + *from;
    from += 3;
    if (in[k] % 61 == 17) break;
  }
  out[global()] = __float_as_uint(sum) ^ static_cast<unsigned>(__double_as_longlong(wide) >> 13) ^ static_cast<unsigned>(mixed >> 32);
}

// Indices that wrap at 32 bits in the middle of neighbouring threads, above and below, and signed ones.
KERNEL wraps(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned above = linear() + 4294967289u;
  unsigned value = above > 4000000000u ? 1 : in[above];
  const unsigned below = linear() - 9u;
  if (below < n) value += in[below];
  const int nearEnd = static_cast<int>(linear()) - 13;
  if (nearEnd >= 0) value ^= in[nearEnd];
  const int backwards = static_cast<int>(threads()) - 1 - static_cast<int>(linear());
  value += (in + 20)[backwards - 20 + 0] * 3;
  out[global()] = value;
}

// Only where a pointer is not null it is followed.
KERNEL null_pointers(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned* const somewhere = n > 100000 ? in : nullptr;
  unsigned value = 3;
  if (somewhere != nullptr) value = *somewhere;
  const unsigned* const mine = in[global()] & 1 ? in + global() : nullptr;
  if (mine != nullptr) value += *mine;
  if (in[global()] > 0xffffffu) value += *somewhere;  // nobody
  out[global()] = value;
}

// Types of all sizes; pairs and fours.
KERNEL types(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned char* const bytes = reinterpret_cast<const unsigned char*>(in);
  const short* const halves = reinterpret_cast<const short*>(in);
  const unsigned long long* const longs = reinterpret_cast<const unsigned long long*>(in);
  const uint4 four = reinterpret_cast<const uint4*>(in)[linear() % 64];
  unsigned value = bytes[linear()] + static_cast<unsigned>(halves[linear()]) * 7u + static_cast<unsigned>(longs[linear() / 2] >> 20);
  value += four.x ^ four.y ^ four.z ^ four.w;
  unsigned char* const to = reinterpret_cast<unsigned char*>(out + blockIdx.x * threads());
  to[linear() * 4] = static_cast<unsigned char>(value);
  to[linear() * 4 + 1] = static_cast<unsigned char>(value >> 8);
  reinterpret_cast<unsigned short*>(to)[linear() * 2 + 1] = static_cast<unsigned short>(value >> 16);
}

KERNEL arithmetic(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned x = in[global()], y = in[global() + 1];
  const float a = __uint_as_float(x << 7), c = __uint_as_float(y << 7);
  float f = a * c + sqrtf(fabsf(a)) - a / (c + 1.0f);
  f = isnan(f) ? fminf(a, c) : fmaxf(f, c);
  const long long product = static_cast<long long>(static_cast<int>(x << 8)) * static_cast<int>(y << 8);
  unsigned bits = __popc(x) + __clz(y) * 3 + __brev(x) + __funnelshift_l(x, y, x & 31) + __umulhi(x << 4, y << 4);
  bits += static_cast<unsigned>(product >> 17) + (x > y ? x / 3 : y % 5) + __ffs(y);
  bits ^= static_cast<unsigned>(__float2int_rz(f)) + static_cast<unsigned>(static_cast<int>(x) >> (y & 31));
  out[global()] = __float_as_uint(f) ^ bits;
}

// What is the same for all, and what only the warp and the lane say.
KERNEL numbers(unsigned n, const unsigned* in, unsigned* out) {
  unsigned lane, warp;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("mov.u32 %0, %%warpid;" : "=r"(warp));
  unsigned value = lane * 1000 + warp + threadIdx.x * 3 + threadIdx.y * 5 + threadIdx.z * 7 + blockIdx.x * 11;
  if (in[blockIdx.x] & 1) value += in[2]; else value -= in[3];
  switch (in[global()] % 5) {
    case 0: value += 1; break;
    case 1: value *= 3;
    case 2: value ^= lane; break;
    case 3: break;
    default: value = in[value % n];
  }
  out[global()] = value;
}

// Results of atomic operations that do not depend on who comes first.
KERNEL atomics(unsigned n, const unsigned* in, unsigned* out) {
  __shared__ unsigned count[64];
  unsigned* const bins = out;
  const unsigned value = in[global()];
  if (blockIdx.x == 0 && (value & 3) != 1) {
    atomicAdd(&bins[0], value % 17);
    atomicMax(&bins[1 + value % 5], value);
    unsigned seen = bins[8 + value % 3], expected;
    do {
      expected = seen;
      seen = atomicCAS(&bins[8 + value % 3], expected, expected + (value & 7));
    } while (seen != expected);
    atomicXor(&count[value % 64], 0);
    if (value & 8) bins[12] = 77;
  }
}

// The last of those that write is one of them.
KERNEL one_place(unsigned n, const unsigned* in, unsigned* out) {
  if (in[global()] & 1) out[blockIdx.x * threads()] = 5;
  if (linear() == threads() - 1) out[blockIdx.x * threads() + 1] = in[global()];
}

KERNEL faults(unsigned n, const unsigned* in, unsigned* out) {
  if (in[global()] == n) out[0] = *reinterpret_cast<const unsigned*>(in[global()] * 16ull);
  out[global()] = in[global()];
}

KERNEL misaligned(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned extra = in[global()] == n ? 2 : 0;
  out[global()] = *reinterpret_cast<const unsigned*>(reinterpret_cast<const char*>(in + linear()) + extra);
}

// Faults behind many rounds, in a loop that each thread leaves when it likes.
KERNEL late_fault(unsigned n, const unsigned* in, unsigned* out) {
  unsigned sum = 0;
  for (unsigned k = 0; k < in[global()] % 50 + 1; ++k) {
    if (in[global()] == n && k == 3) sum += *reinterpret_cast<const unsigned*>(16);
    sum += in[k];
  }
  out[global()] = sum;
}

// By what is the same for all and not zero for those that divide: nobody.
KERNEL divisions(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned none = n > 100000 ? n : 0;
  unsigned value = in[global()], rest = 1;
  if (none != 0) rest = n % none;
  if (none != 0 && value & 1) value /= none;
  for (unsigned k = 0; k < value % 3; ++k) {
    if (none != 0) rest += (k + n) / none;
  }
  out[global()] = value + rest;
}

// Quotients about the next integer, of all sizes.
template <class T>
__device__ unsigned divided(unsigned long long bits, unsigned long long more) {
  const T divisor = static_cast<T>(more >> (bits & 63)) == 0 ? T{1} : static_cast<T>(more >> (bits & 63));
  const T times = static_cast<T>(bits >> (more & 63));
  unsigned sum = 0;
  for (int off = -1; off <= 1; ++off) {
    const T dividend = static_cast<T>(divisor * times + off);
    if (divisor == static_cast<T>(-1)) continue;  // the least number
    sum = sum * 31 + static_cast<unsigned>(dividend / divisor) + static_cast<unsigned>(static_cast<unsigned long long>(dividend % divisor) >> 3) * 7;
  }
  return sum;
}

KERNEL quotients(unsigned n, const unsigned* in, unsigned* out) {
  unsigned long long bits = in[global()] * 0x9e3779b97f4a7c15ull, more = (in[global()] + 1) * 0xbf58476d1ce4e5b9ull;
  unsigned sum = 0;
  for (unsigned k = 0; k < 4; ++k) {
    bits ^= bits >> 29;
    more ^= more << 17;
    sum = sum * 13 + divided<int>(bits, more) + divided<unsigned>(bits, more) + divided<long long>(bits, more) + divided<unsigned long long>(bits, more) + divided<short>(bits, more) +
          divided<unsigned char>(bits, more);
    bits *= 0x94d049bb133111ebull;
    more += bits;
  }
  out[global()] = sum;
}

// Neighbours' elements are mostly neighbours, which only their numbers tell: rows that end within a vector, indices that are kept within bounds, turned round or the same.
KERNEL rows(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned width = in[0] % 3 == 0 ? 16 : in[0] % 3 == 1 ? 48 : 37, i = global(), x = i % width, y = i / width;
  const unsigned right = x + 1 < width ? x + 1 : 0, up = y > 0 ? y - 1 : 0;
  const unsigned char* const bytes = reinterpret_cast<const unsigned char*>(in);
  const unsigned short* const halves = reinterpret_cast<const unsigned short*>(in);
  unsigned sum = in[y * width + right] + in[up * width + x] * 3 + in[min(i, 100u)] * 5 + in[y * width + (width - 1 - x)] * 7;
  sum += bytes[y * width + right] + halves[up * width + x] * 11;
  if (sum % 4 != 0) sum += halves[y * width + right] + static_cast<unsigned>(reinterpret_cast<const unsigned long long*>(in)[(up * width + right) / 2]);
  out[y * width + x] = sum;
}

// One thread after the other, by a bit of a word whose other bits are as they were found: who has it must be able to go on.
KERNEL bit_locks(unsigned n, const unsigned* in, unsigned* out) {
  constexpr unsigned kBit = 16;  // not one of those that are there
  unsigned* const lock = out + 3 * 1024 + 2 * blockIdx.x;
  unsigned seen = *lock, expected;
  do {
    expected = seen & ~kBit;
    seen = atomicCAS(lock, expected, expected | kBit);
  } while (seen != expected);
  __threadfence();
  lock[1] += in[global()];
  __threadfence();
  atomicAnd(lock, ~kBit);
  out[global()] = 1;
}

// Each waits for the one behind it, with swaps that change nothing.
KERNEL chained(unsigned n, const unsigned* in, unsigned* out) {
  if (linear() + 1 < threads()) {
    unsigned seen = 0, expected;
    do {
      expected = seen;
      seen = atomicCAS(&out[global() + 1], expected, expected);
    } while (seen == 0xdeadbeef);
  }
  atomicExch(&out[global()], in[global()]);
}

// Nothing is the same for all but the parameters.
KERNEL misaligned_own(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned i = blockIdx.x * threads() + linear();
  const unsigned* const from = reinterpret_cast<const unsigned*>(reinterpret_cast<const char*>(in + i) + (in[i] == n ? 1 : 0));
  out[i] = *from + 1;
}

KERNEL roots(unsigned n, const unsigned* in, unsigned* out) { out[global()] = __float_as_uint(rsqrtf(__uint_as_float(in[global()]))); }

__device__ float bits(unsigned word) { return __uint_as_float(word); }

KERNEL powers(unsigned n, const unsigned* in, unsigned* out) {
  float power;
  asm("ex2.approx.f32 %0, %1;" : "=f"(power) : "f"(bits(in[global()])));
  out[global()] = __float_as_uint(power);
}

KERNEL logarithms(unsigned n, const unsigned* in, unsigned* out) {
  float logarithm;
  asm("lg2.approx.f32 %0, %1;" : "=f"(logarithm) : "f"(bits(in[global()])));
  out[global()] = __float_as_uint(logarithm);
}

KERNEL waves(unsigned n, const unsigned* in, unsigned* out) {
  float sine, cosine, tangent;
  asm("sin.approx.f32 %0, %1;" : "=f"(sine) : "f"(bits(in[global()])));
  asm("cos.approx.f32 %0, %1;" : "=f"(cosine) : "f"(bits(in[global()])));
  asm("tanh.approx.f32 %0, %1;" : "=f"(tangent) : "f"(bits(in[global()])));
  out[global()] = __float_as_uint(n % 3 == 0 ? sine : n % 3 == 1 ? cosine : tangent);
}

// A number of the thread's or what lies in memory, which LLVM makes one load of.
KERNEL own_or_loaded(unsigned n, const unsigned* in, unsigned* out) {
  unsigned lane, number = threadIdx.x;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  const unsigned thread = linear();
  asm volatile("{ .reg .pred p; setp.gt.u32 p, %1, 9; @!p ld.global.u32 %0, [%2]; }" : "+r"(lane) : "r"(thread), "l"(in + 2 * threadIdx.x));
  if (in[global()] & 1) number = in[global() + 1];
  unsigned column = threadIdx.x;
  if (in[global() + 2] % 3 == 0) {  // too much for one line
    out[global()] = number;
    asm volatile("" ::: "memory");
    column = in[global() + 3];
  }
  out[global()] = lane * 7 + number * 5 + column;
}

// What a thread alone does sooner: one byte after the other, found by what was found before.
KERNEL looks_up(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned char* const bytes = reinterpret_cast<const unsigned char*>(in);
  unsigned state = global(), length = 0;
  while (length < n % 50 && bytes[state] % 7 != 3) {
    state = bytes[state + 1] * 3;
    ++length;
  }
  out[global()] = state + length;
}

// And what it does not: it would go through memory in strides.
KERNEL divided_bytes(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned char* const from = reinterpret_cast<const unsigned char*>(in);
  unsigned char* const to = reinterpret_cast<unsigned char*>(out);
  for (int i = global(), stride = gridDim.x * threads(); i < static_cast<int>(4 * n); i += stride) to[i] = from[i] + 1;
}

// nvcc calls a function of its own for each power.
KERNEL called(unsigned n, const unsigned* in, unsigned* out) {
  const double x = in[global()] % 1000 * 0.01;
  double sum = 0;
#pragma unroll 1
  for (unsigned k = 0; k < in[global()] % 4; ++k) sum += pow(x + 0.5, 1.7 - k) + pow(x, 2.0) + round(sum);
  out[global()] = static_cast<unsigned>(sum);
}

// Threads leave the loop in rounds of their own, each by the way that is everybody's in that round.
KERNEL left_apart(unsigned n, const unsigned* in, unsigned* out) {
  unsigned result = 0, sum = 0;
  for (unsigned k = 0;; ++k) {
    if (k < 60 && in[(global() + 7 * k) % n] % 3 != 0) continue;
    if (k < n % 20) {
      sum += k;
      continue;
    }
    if ((k ^ n) & 1) {
      sum += 7;
      result = n + 1;
      break;
    }
    sum *= 3;
    if (k > n % 31) {
      sum += 100;
      result = n * 5;
      break;
    }
  }
  out[global()] = result + sum * 16;
}

// Many ways out, of which one is a thread's own.
KERNEL many_ends(unsigned n, const unsigned* in, unsigned* out) {
  unsigned sum = n;
  if (in[global()] % 7 == 3) {
    out[global()] = 2;
    return;
  }
#pragma unroll
  for (unsigned k = 0; k < 48; ++k) {
    if (sum == 12345 + k) {
      out[global()] = sum;
      return;
    }
    sum = sum * 3 + n;
  }
  out[global()] = sum + in[global()];
}

// Most vectors are within bounds, and those at the edges are not: first and last, in each direction, for numbers with a sign and without.
KERNEL edges(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned i = global();
  if (i >= n) return;
  if (i == 0 || i == n - 1 || threadIdx.y == 1) {
    out[i] = in[i];
    return;
  }
  out[i] = in[i] * 5 + (in[i - 1] ^ in[i + 1]);
}

KERNEL edges_signed(int n, const float* in, float* out) {
  const int i = static_cast<int>(global()), from = i - 21;
  if (from < 0 || !(n > i + 3)) {
    out[i] = 1;
  } else if (from != 40 && i <= 700) {
    out[i] = in[from] + in[i + 3] * in[i];
  } else {
    out[i] = in[from] - in[i];
  }
}

// Downwards.
KERNEL edges_back(int n, const unsigned* in, unsigned* out) {
  const int i = n - static_cast<int>(global());
  if (i > 2 && 601 >= i) {
    out[global()] = in[i] + in[i - 1] + in[i - 2];
  } else {
    out[global()] = 3;
  }
}

// The number wraps within a vector, and so would an index that is made of it.
KERNEL edges_wrap(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned i = global() - 40u;
  out[global()] = n;
  if (i < n) out[global()] = in[i] + in[i + 1] + in[global()];
}

// None is within: the vectors go another way than the one with most accesses.
KERNEL edges_only(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned i = global();
  if (i < n && n == 5) {
    out[i] = in[i] + in[i + 1] + in[i + 2] + in[i + 3];
  } else {
    out[i] = in[i];
  }
}

// What is stored by either way, as numbers of either kind; and what is not, because another place lies between, or one of them reads what is stored.
KERNEL either(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned i = global(), k = i + 1536;
  if (i >= 1536) return;
  const unsigned value = in[i];
  if (value & 1) {
    out[i] = __float_as_uint(static_cast<float>(value) * 0.5f);
  } else if (value & 2) {
    out[i] = value;
  } else {
    out[i] = value * 7 + 1;
  }
  if (value & 4) {
    out[k] = out[i];
    out[i] = 6;
  } else {
    out[i] += 1;
    out[k] = value;
  }
  if (value & 8) {
    out[i] = 9;
  } else if (value & 16) {
    out[k] = 9;
  }
  unsigned seen = 0;
  if (value & 32) {
    out[i] = 11;
    seen = out[value & 64 ? i : k];
  } else {
    out[i] = 12;
  }
  out[k] += seen;
}

// All that are within are misaligned alike.
KERNEL edges_misaligned(unsigned n, const unsigned* in, unsigned* out) {
  const unsigned i = global();
  if (i == 0 || i > 250) return;
  unsigned* const to = reinterpret_cast<unsigned*>(reinterpret_cast<char*>(out) + (in[130] == n ? 2 : 0));
  to[i] = in[i - 1] + in[i] + in[i + 1];
}
