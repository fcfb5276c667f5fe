// Loops by which threads divide work, a stride apart: elements of one, two, four and eight bytes, with ways that go apart, ends in the middle, inner loops, atomic operations,
// work behind the loop, negative and constant strides, and blocks of which some threads have nothing to do.
#include <cuda_fp16.h>

#include "check.h"

__device__ int total() { return blockDim.x * gridDim.x; }
__device__ int self() { return blockIdx.x * blockDim.x + threadIdx.x; }

template <class T>
__global__ void copy(const T* from, T* to, int n) {
  for (int i = self(); i < n; i += total()) to[i] = from[i];
}

__global__ void longCopy(const unsigned char* from, unsigned char* to, size_t n) {
  for (size_t i = self(); i < n; i += total()) to[i] = from[i] ^ 0x5a;
}

__global__ void apart(const short* from, short* to, int n) {
  for (int i = self(); i < n; i += total()) {
    const int v = from[i];
    if (v < 0) {
      to[i] = short(-v);
    } else if (v % 3 == 0) {
      to[i] = short(v / 3);
    }
  }
}

__global__ void leaves(const unsigned char* from, unsigned char* to, int n, int* where) {
  int i = self();
  for (; i < n; i += total()) {
    if (from[i] == 0) break;
    to[i] = from[i];
  }
  where[self()] = i;
}

__global__ void inner(const unsigned char* from, unsigned* to, int n) {
  for (int i = self(); i < n; i += total()) {
    unsigned sum = 0;
    for (int k = 0; k <= i % 7; ++k) sum = sum * 3 + from[(i + k) % n];
    to[i] = sum;
  }
}

__global__ void count(const unsigned char* from, unsigned* bins, int n) {
  for (int i = self(); i < n; i += total()) atomicAdd(&bins[from[i]], 1u);
}

__global__ void sums(const signed char* from, int* to, int n) {
  int sum = 0;
  for (int i = self(); i < n; i += total()) sum += from[i];
  to[self()] = sum;
}

__global__ void backwards(const unsigned char* from, unsigned char* to, int n) {
  for (int i = n - 1 - self(); i >= 0; i -= total()) to[n - 1 - i] = from[i];
}

__global__ void constant(const unsigned char* from, unsigned char* to, int n) {
  if (blockIdx.x != 0) return;
  for (int i = threadIdx.x; i < n; i += 1024) to[i] = from[i] + 1;
}

__global__ void halves(const __half* from, __half* to, int n, float by) {
  for (int i = self(); i < n; i += total()) to[i] = __float2half(__half2float(from[i]) * by);
}

// In place: what a round stores a later one of another thread's does not load.
__global__ void turn(unsigned char* data, int n) {
  for (int i = self(); i < n / 2; i += total()) {
    const unsigned char a = data[i], b = data[n - 1 - i];
    data[i] = b;
    data[n - 1 - i] = a;
  }
}

template <class T>
void copies(const char* name, int grid, int block, int n, check::Random& random) {
  std::vector<T> data(n);
  for (T& v : data) v = T(random.next());
  T *from = check::toDevice(data), *to = check::deviceArray<T>(n);
  CHECK(cudaMemset(to, 0, n * sizeof(T)));
  copy<<<grid, block>>>(from, to, n);
  CHECK(cudaGetLastError());
  check::equal(name, check::toHost(to, n), data);
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
}

void all(int grid, int block, int n) {
  check::Random random(n + block);
  copies<unsigned char>("bytes", grid, block, n, random);
  copies<unsigned short>("halfwords", grid, block, n, random);
  copies<unsigned>("words", grid, block, n, random);
  copies<unsigned long long>("double words", grid, block, n, random);
  const int threads = grid * block;
  std::vector<unsigned char> bytes(n), wanted(n);
  for (unsigned char& v : bytes) v = random.below(50) == 0 ? 0 : random.below(256);
  unsigned char *from = check::toDevice(bytes), *to = check::deviceArray<unsigned char>(n);
  const auto clear = [&] { CHECK(cudaMemset(to, 0, n)); };

  clear();
  longCopy<<<grid, block>>>(from, to, n);
  for (int i = 0; i < n; ++i) wanted[i] = bytes[i] ^ 0x5a;
  check::equal("long", check::toHost(to, n), wanted);

  std::vector<short> shorts(n), other(n, 77);
  for (short& v : shorts) v = short(random.next());
  short *shortsFrom = check::toDevice(shorts), *shortsTo = check::toDevice(other);
  apart<<<grid, block>>>(shortsFrom, shortsTo, n);
  for (int i = 0; i < n; ++i) other[i] = shorts[i] < 0 ? short(-shorts[i]) : shorts[i] % 3 == 0 ? short(shorts[i] / 3) : short(77);
  check::equal("apart", check::toHost(shortsTo, n), other);

  clear();
  int* where = check::deviceArray<int>(threads);
  leaves<<<grid, block>>>(from, to, n, where);
  std::vector<int> left(threads);
  wanted.assign(n, 0);
  for (int t = 0; t < threads; ++t) {
    int i = t;
    for (; i < n && bytes[i] != 0; i += threads) wanted[i] = bytes[i];
    left[t] = i;
  }
  check::equal("leaves", check::toHost(to, n), wanted);
  check::equal("where", check::toHost(where, threads), left);

  unsigned* words = check::deviceArray<unsigned>(std::max(n, 256));
  inner<<<grid, block>>>(from, words, n);
  std::vector<unsigned> sum(n);
  for (int i = 0; i < n; ++i)
    for (int k = 0; k <= i % 7; ++k) sum[i] = sum[i] * 3 + bytes[(i + k) % n];
  check::equal("inner", check::toHost(words, n), sum);

  CHECK(cudaMemset(words, 0, 256 * sizeof(unsigned)));
  count<<<grid, block>>>(from, words, n);
  std::vector<unsigned> bins(256);
  for (unsigned char v : bytes) ++bins[v];
  check::equal("count", check::toHost(words, 256), bins);

  sums<<<grid, block>>>(reinterpret_cast<signed char*>(from), where, n);
  left.assign(threads, 0);
  for (int i = 0; i < n; ++i) left[i % threads] += static_cast<signed char>(bytes[i]);
  check::equal("sums", check::toHost(where, threads), left);

  clear();
  backwards<<<grid, block>>>(from, to, n);
  for (int i = 0; i < n; ++i) wanted[n - 1 - i] = bytes[i];
  check::equal("backwards", check::toHost(to, n), wanted);

  clear();
  constant<<<2, 1024>>>(from, to, n);
  for (int i = 0; i < n; ++i) wanted[i] = bytes[i] + 1;
  check::equal("constant", check::toHost(to, n), wanted);

  std::vector<__half> h(n), doubled(n);
  for (int i = 0; i < n; ++i) {
    h[i] = __float2half(float(i % 100));
    doubled[i] = __float2half(2.0f * (i % 100));
  }
  __half *hFrom = check::toDevice(h), *hTo = check::deviceArray<__half>(n);
  halves<<<grid, block>>>(hFrom, hTo, n, 2.0f);
  const std::vector<__half> got = check::toHost(hTo, n);
  int wrong = 0;
  for (int i = 0; i < n; ++i) wrong += __half2float(got[i]) != __half2float(doubled[i]);
  EXPECT(wrong == 0);

  turn<<<grid, block>>>(from, n);
  wanted.assign(bytes.rbegin(), bytes.rend());
  check::equal("turn", check::toHost(from, n), wanted);
  for (void* p : {(void*)from, (void*)to, (void*)shortsFrom, (void*)shortsTo, (void*)where, (void*)words, (void*)hFrom, (void*)hTo}) CHECK(cudaFree(p));
}

int main() {
  all(4, 256, 100'000);
  all(3, 100, 10'001);
  all(64, 32, 70'000);
  all(8, 1024, 5'000);
  all(1, 7, 1'000);
  all(2, 64, 1);
  return check::done();
}
