// Sparse matrix times vector: compressed rows with a thread a row and with a warp a row, ELLPACK, coordinate form with atomics;
// conjugate gradients built from it.
#include <algorithm>

#include "check.h"

__global__ void rowPerThread(int rows, const int* starts, const int* columns, const double* values, const double* x, double* y) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  double sum = 0;
  for (int k = starts[r]; k < starts[r + 1]; ++k) sum += values[k] * x[columns[k]];
  y[r] = sum;
}

__global__ void rowPerWarp(int rows, const int* starts, const int* columns, const double* values, const double* x, double* y) {
  int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (r >= rows) return;
  double sum = 0;
  for (int k = starts[r] + lane; k < starts[r + 1]; k += 32) sum += values[k] * x[columns[k]];
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
  if (lane == 0) y[r] = sum;
}

__global__ void ellpack(int rows, int width, const int* columns, const double* values, const double* x, double* y) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  double sum = 0;
  for (int k = 0; k < width; ++k) {
    int c = columns[k * rows + r];
    if (c >= 0) sum += values[k * rows + r] * x[c];
  }
  y[r] = sum;
}

__global__ void coordinate(int n, const int* rows, const int* columns, const double* values, const double* x, double* y) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < n) atomicAdd(&y[rows[k]], values[k] * x[columns[k]]);
}

__global__ void dot(int n, const double* a, const double* b, double* out) {
  __shared__ double s[256];
  double sum = 0;
  for (int i = threadIdx.x; i < n; i += 256) sum += a[i] * b[i];
  s[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) *out = s[0];
}

// r = r - alpha q, x = x + alpha p with alpha = rr / pq, all scalars on the device.
__global__ void advance(int n, const double* scalars, const double* p, const double* q, double* x, double* r) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double alpha = scalars[0] / scalars[1];
  x[i] += alpha * p[i];
  r[i] -= alpha * q[i];
}

__global__ void direction(int n, const double* scalars, const double* r, double* p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = r[i] + scalars[2] / scalars[0] * p[i];
}

int main() {
  const int rows = 900;
  check::Random random(39);
  // Symmetric, diagonally dominant; whole numbers, so that products and sums are exact in any order.
  std::vector<std::vector<std::pair<int, double>>> lists(rows);
  for (int e = 0; e < 3500; ++e) {
    int a = int(random.below(rows)), b = int(random.below(e % 5 ? rows : 10));
    double v = int(random.below(19)) - 9;
    if (a == b) continue;
    lists[a].push_back({b, v});
    lists[b].push_back({a, v});
  }
  for (int r = 0; r < rows; ++r) {
    double sum = 1;
    for (auto& e : lists[r]) sum += std::fabs(e.second);
    lists[r].push_back({r, sum});
    std::sort(lists[r].begin(), lists[r].end());
  }
  std::vector<int> starts = {0}, columns, rowOf;
  std::vector<double> values, x(rows), wanted(rows);
  size_t width = 0;
  for (int r = 0; r < rows; ++r) {
    x[r] = int(random.below(200)) - 100;
    for (auto& e : lists[r]) {
      columns.push_back(e.first);
      values.push_back(e.second);
      rowOf.push_back(r);
    }
    starts.push_back(int(columns.size()));
    width = std::max(width, lists[r].size());
  }
  for (int r = 0; r < rows; ++r)
    for (auto& e : lists[r]) wanted[r] += e.second * x[e.first];
  std::vector<int> padded(width * rows, -1);
  std::vector<double> paddedValues(width * rows);
  for (int r = 0; r < rows; ++r)
    for (size_t k = 0; k < lists[r].size(); ++k) {
      padded[k * rows + r] = lists[r][k].first;
      paddedValues[k * rows + r] = lists[r][k].second;
    }

  int *dstarts = check::toDevice(starts), *dcolumns = check::toDevice(columns);
  double *dvalues = check::toDevice(values), *dx = check::toDevice(x), *dy = check::deviceArray<double>(rows);
  const int blocks = (rows + 127) / 128, entries = int(columns.size());
  rowPerThread<<<blocks, 128>>>(rows, dstarts, dcolumns, dvalues, dx, dy);
  CHECK(cudaGetLastError());
  check::equal("row per thread", check::toHost(dy, rows), wanted);
  CHECK(cudaMemset(dy, 0xff, rows * sizeof(double)));
  rowPerWarp<<<(rows + 3) / 4, 128>>>(rows, dstarts, dcolumns, dvalues, dx, dy);
  CHECK(cudaGetLastError());
  check::equal("row per warp", check::toHost(dy, rows), wanted);
  CHECK(cudaMemset(dy, 0xff, rows * sizeof(double)));
  ellpack<<<blocks, 128>>>(rows, int(width), check::toDevice(padded), check::toDevice(paddedValues), dx, dy);
  CHECK(cudaGetLastError());
  check::equal("ellpack", check::toHost(dy, rows), wanted);
  CHECK(cudaMemset(dy, 0, rows * sizeof(double)));
  coordinate<<<(entries + 127) / 128, 128>>>(entries, check::toDevice(rowOf), dcolumns, dvalues, dx, dy);
  CHECK(cudaGetLastError());
  check::equal("coordinate", check::toHost(dy, rows), wanted);

  // Solve A z = y by conjugate gradients; the solution is x.
  double *z = check::deviceArray<double>(rows), *r = check::deviceArray<double>(rows), *p = check::deviceArray<double>(rows);
  double *q = check::deviceArray<double>(rows), *scalars = check::deviceArray<double>(3);  // rr, pq, new rr
  CHECK(cudaMemset(z, 0, rows * sizeof(double)));
  CHECK(cudaMemcpy(r, dy, rows * sizeof(double), cudaMemcpyDeviceToDevice));
  CHECK(cudaMemcpy(p, dy, rows * sizeof(double), cudaMemcpyDeviceToDevice));
  dot<<<1, 256>>>(rows, r, r, scalars);
  for (int step = 0; step < 300; ++step) {
    rowPerThread<<<blocks, 128>>>(rows, dstarts, dcolumns, dvalues, p, q);
    dot<<<1, 256>>>(rows, p, q, scalars + 1);
    advance<<<blocks, 128>>>(rows, scalars, p, q, z, r);
    dot<<<1, 256>>>(rows, r, r, scalars + 2);
    direction<<<blocks, 128>>>(rows, scalars, r, p);
    CHECK(cudaMemcpyAsync(scalars, scalars + 2, sizeof(double), cudaMemcpyDeviceToDevice));
    CHECK(cudaGetLastError());
    if (step % 10 == 9 && check::toHost(scalars, 1)[0] < 1e-16) break;
  }
  check::near("conjugate gradients", check::toHost(z, rows), x, 0, 1e-6);
  return check::done();
}
