// Matrix products, naive and tiled through shared memory, float and double, sizes that do not divide the tile; against
// a reference in higher precision.
#include "check.h"

template <class T>
__global__ void naive(const T* a, const T* b, T* c, int m, int n, int k) {
  int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || column >= n) return;
  T sum = 0;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
  c[row * n + column] = sum;
}

template <class T, int kTile>
__global__ void tiled(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, int m, int n, int k) {
  __shared__ T left[kTile][kTile + 1], right[kTile][kTile + 1];
  int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * kTile + ty, column = blockIdx.x * kTile + tx;
  T sum = 0;
  for (int base = 0; base < k; base += kTile) {
    left[ty][tx] = row < m && base + tx < k ? a[row * k + base + tx] : T(0);
    right[ty][tx] = base + ty < k && column < n ? b[(base + ty) * n + column] : T(0);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTile; ++i) sum += left[ty][i] * right[i][tx];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

template <class T>
void run(const char* name, int m, int n, int k, double epsilon) {
  check::Random random(8);
  std::vector<T> a(m * k), b(k * n);
  for (T& v : a) v = T(random.uniform(-1, 1));
  for (T& v : b) v = T(random.uniform(-1, 1));
  std::vector<double> wanted(m * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      long double sum = 0;
      for (int x = 0; x < k; ++x) sum += static_cast<long double>(a[i * k + x]) * b[x * n + j];
      wanted[i * n + j] = double(sum);
    }
  // |error| <= k * epsilon * sum |a||b| <= k * epsilon * k
  double bound = double(k) * k * epsilon;
  T *da = check::toDevice(a), *db = check::toDevice(b), *dc = check::deviceArray<T>(m * n);
  dim3 block(16, 16), grid((n + 15) / 16, (m + 15) / 16);
  CHECK(cudaMemset(dc, 0xff, m * n * sizeof(T)));
  naive<T><<<grid, block>>>(da, db, dc, m, n, k);
  CHECK(cudaGetLastError());
  check::near(name, check::toHost(dc, m * n), wanted, 0, bound);
  CHECK(cudaMemset(dc, 0xff, m * n * sizeof(T)));
  tiled<T, 16><<<grid, block>>>(da, db, dc, m, n, k);
  CHECK(cudaGetLastError());
  check::near(name, check::toHost(dc, m * n), wanted, 0, bound);
  CHECK(cudaFree(da));
  CHECK(cudaFree(db));
  CHECK(cudaFree(dc));
}

int main() {
  run<float>("float 64", 64, 64, 64, 6e-8);
  run<float>("float odd", 45, 83, 70, 6e-8);
  run<double>("double odd", 50, 33, 61, 1.2e-16);
  return check::done();
}
