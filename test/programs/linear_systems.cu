// Dense linear systems: LU with partial pivoting (pivot search on the device), Cholesky, triangular solves, Gauss-Jordan over whole numbers
// modulo a prime.
#include "check.h"

__global__ void findPivot(const double* a, int n, int k, int* pivot) {
  __shared__ double best[64];
  __shared__ int where[64];
  int t = threadIdx.x;
  double value = -1;
  int row = k;
  for (int i = k + t; i < n; i += 64)
    if (fabs(a[i * n + k]) > value) {
      value = fabs(a[i * n + k]);
      row = i;
    }
  best[t] = value;
  where[t] = row;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (t < half && best[t + half] > best[t]) {
      best[t] = best[t + half];
      where[t] = where[t + half];
    }
    __syncthreads();
  }
  if (t == 0) pivot[k] = where[0];
}

__global__ void swapRows(double* a, int n, int k, const int* pivot) {
  int j = blockIdx.x * blockDim.x + threadIdx.x, p = pivot[k];
  if (j >= n || p == k) return;
  double t = a[k * n + j];
  a[k * n + j] = a[p * n + j];
  a[p * n + j] = t;
}

__global__ void scaleColumn(double* a, int n, int k) {
  int i = k + 1 + blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i * n + k] /= a[k * n + k];
}

__global__ void update(double* a, int n, int k) {
  int i = k + 1 + blockIdx.y * blockDim.y + threadIdx.y, j = k + 1 + blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && j < n) a[i * n + j] -= a[i * n + k] * a[k * n + j];
}

// One block: all rows of a right-hand side, column by column.
__global__ void solve(const double* lu, const int* pivot, double* x, int n) {
  int t = threadIdx.x;
  for (int k = 0; k < n; ++k) {
    if (t == 0 && pivot[k] != k) {
      double v = x[k];
      x[k] = x[pivot[k]];
      x[pivot[k]] = v;
    }
    __syncthreads();
  }
  for (int k = 0; k < n; ++k) {
    for (int i = k + 1 + t; i < n; i += blockDim.x) x[i] -= lu[i * n + k] * x[k];
    __syncthreads();
  }
  for (int k = n - 1; k >= 0; --k) {
    if (t == 0) x[k] /= lu[k * n + k];
    __syncthreads();
    for (int i = t; i < k; i += blockDim.x) x[i] -= lu[i * n + k] * x[k];
    __syncthreads();
  }
}

__global__ void cholesky(double* a, int n) {
  int t = threadIdx.x;
  for (int k = 0; k < n; ++k) {
    if (t == 0) a[k * n + k] = sqrt(a[k * n + k]);
    __syncthreads();
    for (int i = k + 1 + t; i < n; i += blockDim.x) a[i * n + k] /= a[k * n + k];
    __syncthreads();
    for (int e = t; e < (n - k - 1) * (n - k - 1); e += blockDim.x) {
      int i = k + 1 + e / (n - k - 1), j = k + 1 + e % (n - k - 1);
      if (j <= i) a[i * n + j] -= a[i * n + k] * a[j * n + k];
    }
    __syncthreads();
  }
}

constexpr unsigned kPrime = 1000003;

__device__ unsigned inverse(unsigned a) {
  unsigned long long r = 1, b = a;
  for (unsigned e = kPrime - 2; e; e >>= 1, b = b * b % kPrime)
    if (e & 1) r = r * b % kPrime;
  return unsigned(r);
}

// Inverts the left half of an n x 2n matrix in place, exactly.
__global__ void gaussJordan(unsigned* a, int n, int* singular) {
  __shared__ int pivot;
  __shared__ unsigned factor[64];
  int t = threadIdx.x, w = 2 * n;
  for (int k = 0; k < n; ++k) {
    if (t == 0) {
      pivot = -1;
      for (int i = k; i < n && pivot < 0; ++i)
        if (a[i * w + k]) pivot = i;
      if (pivot < 0) *singular = 1;
    }
    __syncthreads();
    if (pivot < 0) return;
    if (t < w && pivot != k) {
      unsigned v = a[k * w + t];
      a[k * w + t] = a[pivot * w + t];
      a[pivot * w + t] = v;
    }
    __syncthreads();
    if (t < n) factor[t] = a[t * w + k];
    __syncthreads();
    unsigned long long by = inverse(factor[k]);
    if (t < w) a[k * w + t] = unsigned(a[k * w + t] * by % kPrime);
    __syncthreads();
    for (int i = 0; i < n; ++i)
      if (i != k && t < w) a[i * w + t] = unsigned((a[i * w + t] + (unsigned long long)(kPrime - factor[i]) * a[k * w + t]) % kPrime);
    __syncthreads();
  }
}

int main() {
  check::Random random(43);
  {
    const int n = 70;
    std::vector<double> a(n * n), x(n), b(n);
    for (double& v : a) v = random.uniform(-1, 1);
    for (double& v : x) v = random.uniform(-10, 10);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) b[i] += a[i * n + j] * x[j];
    double *da = check::toDevice(a), *db = check::toDevice(b);
    int* pivot = check::deviceArray<int>(n);
    for (int k = 0; k < n; ++k) {
      findPivot<<<1, 64>>>(da, n, k, pivot);
      swapRows<<<(n + 63) / 64, 64>>>(da, n, k, pivot);
      scaleColumn<<<(n + 63) / 64, 64>>>(da, n, k);
      update<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(da, n, k);
    }
    CHECK(cudaGetLastError());
    solve<<<1, 64>>>(da, pivot, db, n);
    CHECK(cudaGetLastError());
    check::near("LU", check::toHost(db, n), x, 1e-9, 1e-9);
    std::vector<int> rows = check::toHost(pivot, n);
    for (int k = 0; k < n; ++k) EXPECT(rows[k] >= k && rows[k] < n);
  }
  {
    const int n = 60;
    std::vector<double> l(n * n), a(n * n);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j <= i; ++j) l[i * n + j] = i == j ? 4 + int(random.below(4)) : (int(random.below(9)) - 4) * 0.25;
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j)
        for (int k = 0; k < n; ++k) a[i * n + j] += l[i * n + k] * l[j * n + k];
    double* da = check::toDevice(a);
    cholesky<<<1, 128>>>(da, n);
    CHECK(cudaGetLastError());
    std::vector<double> got = check::toHost(da, n * n);
    for (int i = 0; i < n; ++i)
      for (int j = 0; j <= i; ++j)
        if (!check::near("Cholesky", i * n + j, got[i * n + j], l[i * n + j], 0, 1e-10)) return check::done();
  }
  {
    const int n = 40;
    std::vector<unsigned> a(n * 2 * n);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) a[i * 2 * n + j] = random.below(kPrime);
      a[i * 2 * n + n + i] = 1;
    }
    a[0] = 0;  // a row swap at the first step
    unsigned* da = check::toDevice(a);
    int* singular = check::deviceArray<int>(1);
    CHECK(cudaMemset(singular, 0, sizeof(int)));
    gaussJordan<<<1, 2 * n>>>(da, n, singular);
    CHECK(cudaGetLastError());
    EXPECT(check::toHost(singular, 1)[0] == 0);
    std::vector<unsigned> got = check::toHost(da, a.size());
    for (int i = 0; i < n && !check::failures; ++i)
      for (int j = 0; j < n; ++j) {
        unsigned long long sum = 0;
        for (int k = 0; k < n; ++k) sum = (sum + (unsigned long long)a[i * 2 * n + k] * got[k * 2 * n + n + j]) % kPrime;
        EXPECT(sum == (i == j));
        EXPECT(got[i * 2 * n + j] == (i == j));
      }
  }
  return check::done();
}
