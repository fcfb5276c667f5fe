// Fourier transforms: radix-2 in shared memory with float2, many transforms in a batch, a long one in steps of global memory with double2,
// convolution through the transform; and a number-theoretic transform, exact.
#include <complex>

#include "check.h"

template <class T2, class T>
__device__ T2 times(T2 a, T2 b) { return {T(a.x * b.x - a.y * b.y), T(a.x * b.y + a.y * b.x)}; }

__global__ void batch(float2* data, int logN, float sign) {
  extern __shared__ float2 s[];
  int n = 1 << logN;
  float2* mine = data + blockIdx.x * n;
  for (int i = threadIdx.x; i < n; i += blockDim.x) s[__brev(i) >> (32 - logN)] = mine[i];
  for (int half = 1; half < n; half *= 2) {
    __syncthreads();
    for (int t = threadIdx.x; t < n / 2; t += blockDim.x) {
      int k = t & (half - 1), i = (t - k) * 2 + k;
      float2 w;
      sincospif(sign * float(k) / float(half), &w.y, &w.x);
      float2 a = s[i], b = times<float2, float>(s[i + half], w);
      s[i] = make_float2(a.x + b.x, a.y + b.y);
      s[i + half] = make_float2(a.x - b.x, a.y - b.y);
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) mine[i] = s[i];
}

__global__ void reorder(const double2* in, double2* out, int logN) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[__brev(i) >> (32 - logN)] = in[i];
}

__global__ void step(double2* data, int half, double sign) {
  int t = blockIdx.x * blockDim.x + threadIdx.x, k = t & (half - 1), i = (t - k) * 2 + k;
  double2 w;
  sincospi(sign * k / half, &w.y, &w.x);
  double2 a = data[i], b = times<double2, double>(data[i + half], w);
  data[i] = make_double2(a.x + b.x, a.y + b.y);
  data[i + half] = make_double2(a.x - b.x, a.y - b.y);
}

__global__ void multiply(double2* a, const double2* b, double scale) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double2 p = times<double2, double>(a[i], b[i]);
  a[i] = make_double2(p.x * scale, p.y * scale);
}

void transform(double2*& data, double2*& scratch, int logN, double sign) {
  int n = 1 << logN;
  reorder<<<n / 128, 128>>>(data, scratch, logN);
  for (int half = 1; half < n; half *= 2) step<<<n / 256, 128>>>(scratch, half, sign);
  CHECK(cudaGetLastError());
  std::swap(data, scratch);
}

constexpr unsigned kPrime = 998244353;  // 119 * 2^23 + 1, 3 is a generator

__host__ __device__ inline unsigned power(unsigned base, unsigned exponent) {
  unsigned long long r = 1, b = base;
  for (; exponent; exponent >>= 1, b = b * b % kPrime)
    if (exponent & 1) r = r * b % kPrime;
  return unsigned(r);
}

__global__ void numberTheoretic(unsigned* data, int logN) {
  extern __shared__ unsigned words[];
  int n = 1 << logN;
  for (int i = threadIdx.x; i < n; i += blockDim.x) words[__brev(i) >> (32 - logN)] = data[i];
  for (int half = 1; half < n; half *= 2) {
    __syncthreads();
    for (int t = threadIdx.x; t < n / 2; t += blockDim.x) {
      int k = t & (half - 1), i = (t - k) * 2 + k;
      unsigned w = power(power(3, (kPrime - 1) / (2 * half)), k);
      unsigned a = words[i], b = unsigned((unsigned long long)words[i + half] * w % kPrime);
      words[i] = (a + b) % kPrime;
      words[i + half] = (a + kPrime - b) % kPrime;
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = words[i];
}

int main() {
  check::Random random(42);
  {
    const int logN = 8, n = 1 << logN, count = 6;
    std::vector<float2> in(n * count);
    for (auto& v : in) v = make_float2(float(random.uniform(-1, 1)), float(random.uniform(-1, 1)));
    float2* device = check::toDevice(in);
    batch<<<count, 64, n * sizeof(float2)>>>(device, logN, -1);
    CHECK(cudaGetLastError());
    std::vector<float2> got = check::toHost(device, in.size());
    for (int b = 0; b < count; ++b)
      for (int k = 0; k < n; ++k) {
        std::complex<double> sum = 0;
        for (int i = 0; i < n; ++i) sum += std::complex<double>(in[b * n + i].x, in[b * n + i].y) * std::polar(1.0, -2 * M_PI * (i * k % n) / n);
        // Error grows with log n; the largest values are of order sqrt(n).
        if (!check::near("batch re", b * n + k, got[b * n + k].x, sum.real(), 0, 1e-4) ||
            !check::near("batch im", b * n + k, got[b * n + k].y, sum.imag(), 0, 1e-4))
          return check::done();
      }
    batch<<<count, 64, n * sizeof(float2)>>>(device, logN, 1);
    got = check::toHost(device, in.size());
    for (size_t i = 0; i < in.size(); ++i)
      if (!check::near("inverse", i, got[i].x / n, in[i].x, 0, 1e-5)) break;
  }
  {
    const int logN = 12, n = 1 << logN, taps = 50;
    std::vector<double2> a(n), b(n);
    for (int i = 0; i < n / 2; ++i) a[i] = make_double2(int(random.below(200)) - 100, 0);
    for (int i = 0; i < taps; ++i) b[i] = make_double2(int(random.below(20)) - 10, 0);
    double2 *da = check::toDevice(a), *db = check::toDevice(b), *scratch = check::deviceArray<double2>(n);
    transform(da, scratch, logN, -1);
    transform(db, scratch, logN, -1);
    multiply<<<n / 128, 128>>>(da, db, 1.0 / n);
    transform(da, scratch, logN, 1);
    std::vector<double2> got = check::toHost(da, n);
    for (int i = 0; i < n; ++i) {
      double sum = 0;
      for (int k = 0; k < taps; ++k) sum += a[(i - k + n) % n].x * b[k].x;
      if (!check::near("convolution", i, got[i].x, sum, 0, 1e-8) || !check::near("imaginary", i, got[i].y, 0, 0, 1e-8)) break;
    }
  }
  {
    const int logN = 9, n = 1 << logN;
    std::vector<unsigned> in(n), wanted(n);
    for (unsigned& v : in) v = random.below(kPrime);
    unsigned root = power(3, (kPrime - 1) / n);
    for (int k = 0; k < n; ++k) {
      unsigned long long sum = 0, w = 1, by = power(root, k);
      for (int i = 0; i < n; ++i) {
        sum = (sum + in[i] * w) % kPrime;
        w = w * by % kPrime;
      }
      wanted[k] = unsigned(sum);
    }
    unsigned* device = check::toDevice(in);
    numberTheoretic<<<1, 128, n * sizeof(unsigned)>>>(device, logN);
    CHECK(cudaGetLastError());
    check::equal("number-theoretic", check::toHost(device, n), wanted);
  }
  return check::done();
}
