// Local memory: arrays indexed by run-time values, recursion (Ackermann, quicksort, n queens), structures returned by value, deep calls
// that need a larger stack (cudaDeviceSetLimit), addresses of locals passed down.
#include <algorithm>

#include "check.h"

__host__ __device__ int ackermann(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }

__host__ __device__ void quicksort(int* data, int low, int high) {
  if (low >= high) return;
  int pivot = data[(low + high) / 2], i = low, j = high;
  while (i <= j) {
    while (data[i] < pivot) ++i;
    while (data[j] > pivot) --j;
    if (i <= j) {
      int t = data[i];
      data[i++] = data[j];
      data[j--] = t;
    }
  }
  quicksort(data, low, j);
  quicksort(data, i, high);
}

__host__ __device__ int queens(int n, int row, unsigned columns, unsigned left, unsigned right) {
  if (row == n) return 1;
  int count = 0;
  for (unsigned free = ~(columns | left | right) & ((1u << n) - 1); free; free &= free - 1) {
    unsigned bit = free & (0u - free);
    count += queens(n, row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1);
  }
  return count;
}

struct Matrix {
  long long v[3][3];
};

__host__ __device__ Matrix multiply(const Matrix& a, const Matrix& b) {
  Matrix r = {};
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 3; ++k) r.v[i][j] += a.v[i][k] * b.v[k][j];
  return r;
}

__host__ __device__ Matrix power(Matrix base, int exponent) {
  if (exponent == 0) return {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
  Matrix half = power(base, exponent / 2), square = multiply(half, half);
  return exponent % 2 ? multiply(square, base) : square;
}

__global__ void sortRows(int* data, int width) {
  int local[48];
  int* row = data + (blockIdx.x * blockDim.x + threadIdx.x) * width;
  for (int i = 0; i < width; ++i) local[i] = row[i];
  quicksort(local, 0, width - 1);
  for (int i = 0; i < width; ++i) row[i] = local[i];
}

__global__ void recurse(int* ackermanns, int* solutions, Matrix* powers) {
  int t = threadIdx.x;
  ackermanns[t] = ackermann(2, t % 10);
  solutions[t] = queens(4 + t % 4, 0, 0, 0, 0);
  Matrix fibonacci = {{{1, 1, 0}, {1, 0, 1}, {0, t, 1}}};
  powers[t] = power(fibonacci, t % 13);
}

int main() {
  CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 16384));
  size_t limit = 0;
  CHECK(cudaDeviceGetLimit(&limit, cudaLimitStackSize));
  EXPECT(limit >= 16384);
  const int rows = 256, width = 48, n = 64;
  check::Random random(36);
  std::vector<int> data(rows * width);
  for (int& v : data) v = int(random.below(1000));
  int* device = check::toDevice(data);
  sortRows<<<4, 64>>>(device, width);
  CHECK(cudaGetLastError());
  for (int r = 0; r < rows; ++r) std::sort(data.begin() + r * width, data.begin() + (r + 1) * width);
  check::equal("rows", check::toHost(device, data.size()), data);

  int *a = check::deviceArray<int>(n), *q = check::deviceArray<int>(n);
  Matrix* p = check::deviceArray<Matrix>(n);
  recurse<<<1, n>>>(a, q, p);
  CHECK(cudaGetLastError());
  std::vector<int> ackermanns(n), solutions(n);
  std::vector<Matrix> powers(n);
  for (int t = 0; t < n; ++t) {
    ackermanns[t] = 2 * (t % 10) + 3;
    solutions[t] = queens(4 + t % 4, 0, 0, 0, 0);
    powers[t] = power({{{1, 1, 0}, {1, 0, 1}, {0, t, 1}}}, t % 13);
  }
  EXPECT(solutions[0] == 2 && solutions[1] == 10 && solutions[2] == 4 && solutions[3] == 40);
  check::equal("ackermann", check::toHost(a, n), ackermanns);
  check::equal("queens", check::toHost(q, n), solutions);
  check::equal("powers", check::toHost(p, n), powers);
  return check::done();
}
