// Dynamic shared memory: above 48 KiB only after opting in, up to the device's limit, every byte distinct per block; several arrays
// carved from one; static and dynamic together; the last elements, beside which others would be outside.
#include "check.h"

__global__ void rotate(const unsigned* in, unsigned* out, int words) {
  extern __shared__ unsigned s[];
  const unsigned* source = in + size_t(blockIdx.x) * words;
  for (int i = threadIdx.x; i < words; i += blockDim.x) s[i] = source[i];
  __syncthreads();
  for (int i = threadIdx.x; i < words; i += blockDim.x) out[size_t(blockIdx.x) * words + i] = s[(i + words / 3) % words] + blockIdx.x;
}

__global__ void carve(double* out, int n) {
  extern __shared__ __align__(16) unsigned char raw[];
  __shared__ int scale[2];
  auto* doubles = reinterpret_cast<double*>(raw);
  auto* ints = reinterpret_cast<int*>(doubles + n);
  auto* bytes = reinterpret_cast<unsigned char*>(ints + n);
  int t = threadIdx.x;
  if (t < 2) scale[t] = t + 2;
  doubles[t] = t * 0.5;
  ints[t] = t * 10;
  bytes[t] = static_cast<unsigned char>(t);
  __syncthreads();
  int other = n - 1 - t;
  out[t] = doubles[other] * scale[0] + ints[other] * scale[1] + bytes[other];
}

// Of n elements, which are all there is: each takes its neighbours to the right, as far as there are some, and gives to them.
template <class T>
__global__ void atTheEnd(const T* in, T* taken, T* given, int n) {
  extern __shared__ __align__(16) unsigned char raw[];
  T* s = reinterpret_cast<T*>(raw);
  const int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  T sum = 0;
  for (int k = 1; k < n; k *= 3)
    if (t + k < n) sum += s[t + k];
  if (t % 3 == 1 && t + 5 < n) sum += s[t + 5];
  taken[t] = sum;
  for (int k = 1; k < n; k *= 5) {
    __syncthreads();
    const T mine = s[t];
    __syncthreads();
    if (t + k < n) s[t + k] = mine + T(k);
  }
  __syncthreads();
  given[t] = s[t];
}

template <class T>
void testEnd(int n) {
  std::vector<T> in(n), taken(n), given(n);
  for (int i = 0; i < n; ++i) in[i] = T(i * 7 + 3);
  for (int t = 0; t < n; ++t) {
    for (int k = 1; k < n; k *= 3)
      if (t + k < n) taken[t] += in[t + k];
    if (t % 3 == 1 && t + 5 < n) taken[t] += in[t + 5];
  }
  given = in;
  for (int k = 1; k < n; k *= 5) {
    const std::vector<T> before = given;
    for (int t = 0; t + k < n; ++t) given[t + k] = T(before[t] + T(k));
  }
  T *from = check::toDevice(in), *out = check::deviceArray<T>(n), *left = check::deviceArray<T>(n);
  atTheEnd<<<1, n, n * sizeof(T)>>>(from, out, left, n);
  CHECK(cudaGetLastError());
  check::equal("taken", check::toHost(out, n), taken);
  check::equal("given", check::toHost(left, n), given);
}

int main() {
  for (int n : {32, 64, 128, 96, 250, 256, 1024}) {
    testEnd<unsigned char>(n);
    testEnd<unsigned short>(n);
    testEnd<unsigned>(n);
    testEnd<unsigned long long>(n);
    testEnd<double>(n);
  }
  int most = 0, normal = 0;
  CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  CHECK(cudaDeviceGetAttribute(&normal, cudaDevAttrMaxSharedMemoryPerBlock, 0));
  EXPECT(normal == 48 * 1024 && most >= normal);
  const int blocks = 3;
  for (int bytes : {1024, normal, 60 * 1024, most}) {
    int words = bytes / 4;
    std::vector<unsigned> data(blocks * words), wanted(data.size());
    check::Random random(32);
    for (unsigned& v : data) v = unsigned(random.next());
    for (int b = 0; b < blocks; ++b)
      for (int i = 0; i < words; ++i) wanted[b * words + i] = data[b * words + (i + words / 3) % words] + b;
    unsigned *in = check::toDevice(data), *out = check::deviceArray<unsigned>(data.size());
    if (bytes > most) continue;
    if (bytes == 60 * 1024) {
      rotate<<<blocks, 128, bytes>>>(in, out, words);
      EXPECT_ERROR(cudaErrorInvalidValue, cudaGetLastError());
    }
    if (bytes > normal) CHECK(cudaFuncSetAttribute(rotate, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    rotate<<<blocks, 128, bytes>>>(in, out, words);
    CHECK(cudaGetLastError());
    check::equal("rotated", check::toHost(out, data.size()), wanted);
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
  }
  EXPECT_ERROR(cudaErrorInvalidValue, cudaFuncSetAttribute(rotate, cudaFuncAttributeMaxDynamicSharedMemorySize, most + 1));
  cudaGetLastError();

  const int n = 96;
  double* out = check::deviceArray<double>(n);
  carve<<<1, n, n * (8 + 4 + 1)>>>(out, n);
  CHECK(cudaGetLastError());
  std::vector<double> wanted(n);
  for (int t = 0; t < n; ++t) {
    int o = n - 1 - t;
    wanted[t] = o * 0.5 * 2 + o * 10 * 3 + o;
  }
  check::equal("carved", check::toHost(out, n), wanted);
  return check::done();
}
