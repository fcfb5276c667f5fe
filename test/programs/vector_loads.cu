// Vector types and caching loads: float4, double2, int2, short4, char4, uchar3, longlong2 in memory; __ldg, const __restrict__, __ldcg, __ldcs,
// __stcs, __stwt; reinterpretation of buffers; unaligned bytes.
#include "check.h"

template <class T>
__global__ void reverse(const T* __restrict__ in, T* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[n - 1 - i];
}

template <class T>
__global__ void cached(const T* in, T* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T v = i % 4 == 0 ? __ldg(in + i) : i % 4 == 1 ? __ldcg(in + i) : i % 4 == 2 ? __ldcs(in + i) : __ldca(in + i);
  if (i % 2)
    __stcs(out + i, v);
  else
    __stwt(out + i, v);
}

__global__ void blend(const float4* a, const uchar4* b, float4* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 v = a[i];
  uchar4 w = b[i];
  v.x += w.x;
  v.y -= w.y;
  v.z += w.z * 0.5f;
  v.w = w.w;
  out[i] = v;
}

// Little-endian numbers at any byte.
__global__ void parse(const unsigned char* bytes, int n, unsigned* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned char* p = bytes + 7 * i + 1;
  unsigned v;
  memcpy(&v, p, 4);
  out[i] = v ^ unsigned(p[4] << 8 | p[5]);
}

std::vector<unsigned char> noise(size_t bytes) {
  check::Random random(37);
  std::vector<unsigned char> v(bytes);
  for (auto& b : v) b = static_cast<unsigned char>(random.next());
  return v;
}

template <class T>
void run(const char* name) {
  const int n = 1025;
  std::vector<unsigned char> raw = noise(n * sizeof(T));
  std::vector<T> in(n), wanted(n);
  std::memcpy(static_cast<void*>(in.data()), raw.data(), raw.size());
  for (int i = 0; i < n; ++i) wanted[i] = in[n - 1 - i];
  T *din = check::toDevice(in), *out = check::deviceArray<T>(n);
  reverse<<<(n + 127) / 128, 128>>>(din, out, n);
  CHECK(cudaGetLastError());
  check::equal(name, check::toHost(out, n), wanted);
  CHECK(cudaFree(din));
  CHECK(cudaFree(out));
}

template <class T>
void runCached(const char* name) {
  const int n = 777;
  std::vector<unsigned char> raw = noise(n * sizeof(T));
  std::vector<T> in(n);
  std::memcpy(static_cast<void*>(in.data()), raw.data(), raw.size());
  T* out = check::deviceArray<T>(n);
  cached<<<(n + 63) / 64, 64>>>(check::toDevice(in), out, n);
  CHECK(cudaGetLastError());
  check::equal(name, check::toHost(out, n), in);
}

int main() {
  run<float4>("float4");
  run<double2>("double2");
  run<int2>("int2");
  run<short4>("short4");
  run<char4>("char4");
  run<uchar3>("uchar3");
  run<float3>("float3");
  run<ushort2>("ushort2");
  run<longlong2>("longlong2");
  run<unsigned char>("unsigned char");
  runCached<float4>("cached float4");
  runCached<double2>("cached double2");
  runCached<int>("cached int");
  runCached<unsigned short>("cached unsigned short");
  runCached<char4>("cached char4");

  const int n = 500;
  std::vector<float4> a(n), wanted(n);
  std::vector<uchar4> b(n);
  std::vector<unsigned char> raw = noise(7 * n + 16);
  for (int i = 0; i < n; ++i) {
    a[i] = make_float4(float(i), float(2 * i), float(3 * i), 0);
    b[i] = make_uchar4(raw[4 * i], raw[4 * i + 1], raw[4 * i + 2], raw[4 * i + 3]);
    wanted[i] = make_float4(a[i].x + b[i].x, a[i].y - b[i].y, a[i].z + b[i].z * 0.5f, b[i].w);
  }
  float4* out = check::deviceArray<float4>(n);
  blend<<<4, 128>>>(check::toDevice(a), check::toDevice(b), out, n);
  CHECK(cudaGetLastError());
  check::equal("blend", check::toHost(out, n), wanted);
  unsigned* parsed = check::deviceArray<unsigned>(n);
  parse<<<4, 128>>>(check::toDevice(raw), n, parsed);
  CHECK(cudaGetLastError());
  std::vector<unsigned> numbers(n);
  for (int i = 0; i < n; ++i) {
    const unsigned char* p = &raw[7 * i + 1];
    std::memcpy(&numbers[i], p, 4);
    numbers[i] ^= unsigned(p[4] << 8 | p[5]);
  }
  check::equal("parsed", check::toHost(parsed, n), numbers);
  return check::done();
}
