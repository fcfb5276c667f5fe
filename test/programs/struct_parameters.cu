// Kernel parameters of all kinds: every alignment, empty and large structures, arrays in structures, bit fields, bool, pointers to
// pointers, references bound to values, 4000 bytes of parameters, __grid_constant__.
// nvcc: -arch=sm_80
#include "check.h"

struct Empty {};
struct __align__(16) Aligned {
  char c;
  double d;
};
struct Mixed {
  char a;
  short b;
  char c;
  int d;
  char e;
  double f;
  bool g;
};
struct Bits {
  unsigned low : 5, middle : 11, high : 16;
  int negative : 7;
};
struct Big {
  int v[900];
};
struct Triple {
  float x, y, z;
};
union Either {
  int i;
  float f;
};

__global__ void mixed(char a, double b, short c, Empty, float3 d, bool e, Aligned f, long long g, Mixed h, Bits bits, char4 j, Triple k, Either either,
                      uchar3 l, const int* const* m, double* out) {
  int t = threadIdx.x;
  const double all[] = {double(a), b, double(c), d.x, d.y, d.z, double(e), double(f.c), f.d, double(g), double(h.a), double(h.b), double(h.c), double(h.d),
                        double(h.e), h.f, double(h.g), double(bits.low), double(bits.middle), double(bits.high), double(bits.negative), double(j.x), double(j.w),
                        k.x, k.y, k.z, either.f, double(l.x), double(l.y), double(l.z), double(**m)};
  if (t < int(sizeof all / sizeof *all)) out[t] = all[t];
}

__global__ void large(Big big, int index, Big* copy, int* out) {
  int t = threadIdx.x;
  out[t] = big.v[(t * 7 + index) % 900];
  if (t == 0) {
    big.v[5] = -1;  // one's own copy
    *copy = big;
  }
}

__global__ void constant(const __grid_constant__ Big big, int* out) {
  const int* p = &big.v[threadIdx.x];
  out[threadIdx.x] = *p * 2;
}

template <class... T>
__global__ void sum(long long* out, T... values) { *out = (static_cast<long long>(values) + ...); }

int main() {
  int number = 321, *inner = check::deviceArray<int>(1), **outer = check::deviceArray<int*>(1);
  CHECK(cudaMemcpy(inner, &number, sizeof number, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(outer, &inner, sizeof inner, cudaMemcpyHostToDevice));
  double* out = check::deviceArray<double>(31);
  Mixed h = {'h', -300, 'x', 123456, 'y', 6.25, true};
  Bits bits = {17, 1029, 65535, -33};
  Either either;
  either.f = -0.75f;
  mixed<<<1, 32>>>('a', 2.5, -7, Empty{}, make_float3(1, 2, 3), true, Aligned{'q', 9.75}, -5000000000ll, h, bits, make_char4(1, 2, 3, -4), Triple{7, 8, 9}, either,
                   make_uchar3(250, 251, 252), outer, out);
  CHECK(cudaGetLastError());
  check::equal("mixed", check::toHost(out, 31),
               std::vector<double>{'a', 2.5, -7, 1, 2, 3, 1, 'q', 9.75, -5e9, 'h', -300, 'x', 123456, 'y', 6.25, 1, 17, 1029, 65535, -33, 1, -4, 7, 8, 9, -0.75, 250,
                                   251, 252, 321});
  Big big;
  for (int i = 0; i < 900; ++i) big.v[i] = i * i - 1000;
  Big *copy = check::deviceArray<Big>(1), back;
  int* ints = check::deviceArray<int>(256);
  large<<<1, 256>>>(big, 11, copy, ints);
  CHECK(cudaGetLastError());
  std::vector<int> wanted(256);
  for (int t = 0; t < 256; ++t) wanted[t] = big.v[(t * 7 + 11) % 900];
  check::equal("large", check::toHost(ints, 256), wanted);
  CHECK(cudaMemcpy(&back, copy, sizeof back, cudaMemcpyDeviceToHost));
  big.v[5] = -1;
  check::equal("copy", back.v, big.v, 900);
  constant<<<1, 256>>>(big, ints);
  CHECK(cudaGetLastError());
  for (int t = 0; t < 256; ++t) wanted[t] = big.v[t] * 2;
  check::equal("grid constant", check::toHost(ints, 256), wanted);
  long long* total = check::deviceArray<long long>(1);
  sum<<<1, 1>>>(total, char(1), 2, short(3), 4ll, 5u, (unsigned char)6, 7l, char(8), 9ull, short(-10));
  CHECK(cudaGetLastError());
  EXPECT(check::toHost(total, 1)[0] == 35);
  return check::done();
}
