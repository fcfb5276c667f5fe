// Each warp goes by rows of its own, the block meets in each of them, and once more behind all: a layer norm's gradients, as GPT-2 in plain CUDA computes them. All warps have equally many rows.
#include "check.h"

constexpr int kRows = 256, kColumns = 384, kThreads = 256, kBlocks = 4, kWarps = kThreads / 32;

__device__ int sumOfWarp(int value) {
  for (int half = 16; half > 0; half /= 2) value += __shfl_xor_sync(0xffffffff, value, half);
  return value;
}

// What each row adds to each column is gathered by columns, one slice of 32 after the other, over the block's warps, of which a warp then adds up a part.
__global__ void gradients(const int* in, const int* scale, int* perRow, int* perColumn) {
  __shared__ int slice[kWarps][32];
  __shared__ int totals[kColumns];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, step = gridDim.x * kWarps;
  for (int k = threadIdx.x; k < kColumns; k += kThreads) totals[k] = 0;
  __syncthreads();
  for (int row = blockIdx.x * kWarps + warp; row < kRows; row += step) {
    int sum = 0;
    for (int k = lane; k < kColumns; k += 32) sum += in[row * kColumns + k] * scale[k];
    sum = sumOfWarp(sum);
    for (int first = 0; first < kColumns; first += 32) {
      slice[warp][lane] = in[row * kColumns + first + lane] * (sum & 15);
      __syncthreads();
      if (warp == first / 32 % kWarps) {
        int total = 0;
        for (int other = 0; other < kWarps; ++other) total += slice[other][lane];
        totals[first + lane] += total;
      }
      __syncthreads();
    }
    if (lane == 0) perRow[row] = sum;
  }
  __syncthreads();
  for (int k = threadIdx.x; k < kColumns; k += kThreads) atomicAdd(&perColumn[k], totals[k]);
}

// The same with one barrier in each round, and rows that are handed to the next warp.
__global__ void handedOn(const int* in, int* out) {
  __shared__ int sums[2][kWarps];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int total = 0, turn = 0;
  for (int row = blockIdx.x * kWarps + warp; row < kRows; row += gridDim.x * kWarps) {
    const int sum = sumOfWarp(in[row * kColumns + lane]);
    if (lane == 0) sums[turn][warp] = sum;
    __syncthreads();
    total = total * 3 + sums[turn][(warp + 1) % kWarps];
    turn ^= 1;
  }
  __syncthreads();
  if (lane == 0) sums[0][warp] = total;
  __syncthreads();
  out[blockIdx.x * kThreads + threadIdx.x] = total + sums[0][(warp + 2) % kWarps];
}

int main() {
  std::vector<int> in(kRows * kColumns), scale(kColumns);
  unsigned state = 9;
  const auto next = [&] { return static_cast<int>((state = state * 1664525 + 1013904223) >> 20) % 100 - 50; };
  for (int& each : in) each = next();
  for (int& each : scale) each = next();
  int *from = nullptr, *by = nullptr, *rows = nullptr, *columns = nullptr, *out = nullptr;
  CHECK(cudaMalloc(&from, in.size() * sizeof(int)));
  CHECK(cudaMalloc(&by, scale.size() * sizeof(int)));
  CHECK(cudaMalloc(&rows, kRows * sizeof(int)));
  CHECK(cudaMalloc(&columns, kColumns * sizeof(int)));
  CHECK(cudaMalloc(&out, kBlocks * kThreads * sizeof(int)));
  CHECK(cudaMemcpy(from, in.data(), in.size() * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(by, scale.data(), scale.size() * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemset(columns, 0, kColumns * sizeof(int)));
  gradients<<<kBlocks, kThreads>>>(from, by, rows, columns);
  handedOn<<<kBlocks, kThreads>>>(from, out);
  CHECK(cudaGetLastError());

  std::vector<int> ofRows(kRows), ofColumns(kColumns), handed(kBlocks * kThreads), gotRows(kRows), gotColumns(kColumns), gotHanded(kBlocks * kThreads);
  for (int row = 0; row < kRows; ++row) {
    for (int k = 0; k < kColumns; ++k) ofRows[row] += in[row * kColumns + k] * scale[k];
    for (int k = 0; k < kColumns; ++k) ofColumns[k] += in[row * kColumns + k] * (ofRows[row] & 15);
  }
  for (int block = 0; block < kBlocks; ++block) {
    std::vector<int> totals(kWarps);
    for (int first = block * kWarps; first < kRows; first += kBlocks * kWarps) {
      for (int warp = 0; warp < kWarps; ++warp) {
        int sum = 0;
        for (int lane = 0; lane < 32; ++lane) sum += in[(first + (warp + 1) % kWarps) * kColumns + lane];
        totals[warp] = totals[warp] * 3 + sum;
      }
    }
    for (int thread = 0; thread < kThreads; ++thread) handed[block * kThreads + thread] = totals[thread / 32] + totals[(thread / 32 + 2) % kWarps];
  }
  CHECK(cudaMemcpy(gotRows.data(), rows, kRows * sizeof(int), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(gotColumns.data(), columns, kColumns * sizeof(int), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(gotHanded.data(), out, gotHanded.size() * sizeof(int), cudaMemcpyDeviceToHost));
  check::equal("rows", gotRows, ofRows);
  check::equal("columns", gotColumns, ofColumns);
  check::equal("handed on", gotHanded, handed);
  for (int* memory : {from, by, rows, columns, out}) CHECK(cudaFree(memory));
  return check::done();
}
