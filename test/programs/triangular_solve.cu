// Sparse triangular systems without levels: a warp for each row, whose lanes each wait for the rows that theirs need, add up what they have in volatile shared memory, and hand the row on. On the
// CPU device they add up in step as well, as programs from before independent thread scheduling have it: lanes that leave a loop one by one need not be in step behind it on a GPU. Most lanes poll most of the time, each a flag of its own (Liu et al., "A Synchronization-Free Algorithm for Parallel Sparse Triangular
// Solves", Euro-Par 2016).
#include <algorithm>

#include "check.h"

constexpr int kThreads = 256;

__device__ bool isDone(const int* flag) {
  const int found = *const_cast<const volatile int*>(flag);
  __threadfence();
  return found == 1;
}

template <bool kInStep>
__global__ void solve(const int* begins, const int* columns, const double* values, int* done, int rows, const double* b, double* x) {
  __shared__ volatile double parts[kThreads];
  const int t = threadIdx.x, row = (blockIdx.x * kThreads + t) / 32, lane = t % 32;
  if (row >= rows) return;
  double sum = 0;
  for (int k = begins[row] + lane; k < begins[row + 1] - 1;) {
    const int column = columns[k];
    if (isDone(&done[column])) {
      sum = fma(x[column], values[k], sum);
      k += 32;
    }
  }
  parts[t] = sum;
  if constexpr (kInStep) {
    for (int distance = 16; distance > 0; distance /= 2)
      if (lane < distance) parts[t] = parts[t] + parts[t + distance];
  } else {
    __syncwarp();
    for (int distance = 16; distance > 0; distance /= 2) {
      if (lane < distance) parts[t] = parts[t] + parts[t + distance];
      __syncwarp();
    }
  }
  if (lane == 0) {
    x[row] = (b[row] - parts[t]) / values[begins[row + 1] - 1];
    __threadfence();
    *const_cast<volatile int*>(&done[row]) = 1;
  }
}

// A lock for each of a few counters, taken by threads of their own by whatever is free.
__global__ void locked(int* locks, int* counters, int count, int rounds) {
  for (int r = 0; r < rounds; ++r) {
    const int which = (threadIdx.x + blockIdx.x * 7 + r) % count;
    bool isTaken = false;
    while (!isTaken) {
      if (atomicCAS(&locks[which], 0, 1) == 0) {
        __threadfence();
        *const_cast<volatile int*>(&counters[which]) += 1;
        __threadfence();
        atomicExch(&locks[which], 0);
        isTaken = true;
      }
    }
  }
}

int main() {
  const int rows = 800, needed = 40;
  std::vector<int> begins{0}, columns;
  std::vector<double> values, b(rows), x(rows), wanted(rows);
  for (int row = 0; row < rows; ++row) {
    for (int k = 0; k < needed && row >= 200; ++k) {
      columns.push_back(row - 1 - 5 * k);
      values.push_back((k % 7) * 0.125);
    }
    columns.push_back(row);
    values.push_back(16);
    begins.push_back(int(columns.size()));
    b[row] = row % 9;
  }
  for (int row = 0; row < rows; ++row) {  // in the order in which a warp adds up
    double parts[64] = {};
    for (int k = begins[row]; k < begins[row + 1] - 1; ++k) {
      double& part = parts[(k - begins[row]) % 32];
      part = std::fma(wanted[columns[k]], values[k], part);
    }
    for (int distance = 16; distance > 0; distance /= 2)
      for (int lane = 0; lane < distance; ++lane) parts[lane] += parts[lane + distance];
    wanted[row] = (b[row] - parts[0]) / values[begins[row + 1] - 1];
  }
  int *dBegins, *dColumns, *done;
  double *dValues, *dB, *dX;
  CHECK(cudaMalloc(&dBegins, begins.size() * sizeof(int)));
  CHECK(cudaMalloc(&dColumns, columns.size() * sizeof(int)));
  CHECK(cudaMalloc(&dValues, values.size() * sizeof(double)));
  CHECK(cudaMalloc(&done, rows * sizeof(int)));
  CHECK(cudaMalloc(&dB, rows * sizeof(double)));
  CHECK(cudaMalloc(&dX, rows * sizeof(double)));
  CHECK(cudaMemcpy(dBegins, begins.data(), begins.size() * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dColumns, columns.data(), columns.size() * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dValues, values.data(), values.size() * sizeof(double), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dB, b.data(), rows * sizeof(double), cudaMemcpyHostToDevice));
  for (int round = 0; round < 4; ++round) {
    const bool inStep = round % 2 == 1;
    if (inStep && !check::onCpuDevice()) continue;
    CHECK(cudaMemset(done, 0, rows * sizeof(int)));
    CHECK(cudaMemset(dX, 0, rows * sizeof(double)));
    const auto kernel = inStep ? solve<true> : solve<false>;
    kernel<<<(rows * 32 + kThreads - 1) / kThreads, kThreads>>>(dBegins, dColumns, dValues, done, rows, dB, dX);
    CHECK(cudaMemcpy(x.data(), dX, rows * sizeof(double), cudaMemcpyDeviceToHost));
    check::equal("x", x.data(), wanted.data(), rows);
  }

  const int counters = 5, rounds = 12;
  int* words;
  CHECK(cudaMalloc(&words, 2 * counters * sizeof(int)));
  CHECK(cudaMemset(words, 0, 2 * counters * sizeof(int)));
  locked<<<4, 96>>>(words, words + counters, counters, rounds);
  std::vector<int> counts(counters);
  CHECK(cudaMemcpy(counts.data(), words + counters, counters * sizeof(int), cudaMemcpyDeviceToHost));
  int total = 0;
  for (int count : counts) total += count;
  EXPECT(total == 4 * 96 * rounds);
  return check::done();
}
