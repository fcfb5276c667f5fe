// Tiles of several warps (cooperative groups): reductions, scans, votes and waits by a barrier of their own in shared memory, round after round, each tile in its own time.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include <algorithm>

#include "check.h"

namespace cg = cooperative_groups;

constexpr int kThreads = 512, kRows = 96, kColumns = 1024;

__host__ __device__ int roundsOf(int row) { return row % 7 == 3 ? 0 : 1 + row % 4; }

// Each tile its rows, of which some take more rounds than others.
template <int size>
__global__ void sums(const int* in, int* out) {
  __shared__ cg::block_tile_memory<kThreads> memory;
  const auto block = cg::this_thread_block(memory);
  const auto tile = cg::tiled_partition<size>(block);
  const int tiles = static_cast<int>(gridDim.x) * kThreads / size;
  for (int row = (blockIdx.x * kThreads + threadIdx.x) / size; row < kRows; row += tiles) {
    int total = 0;
    for (int round = 0; round < roundsOf(row); ++round) {
      int sum = 0;
      for (int k = tile.thread_rank(); k < kColumns; k += size) sum += in[row * kColumns + k] >> round;
      total = total * 3 + cg::reduce(tile, sum, cg::plus<int>());
      total += cg::reduce(tile, sum ^ total, cg::greater<int>());
    }
    if (tile.thread_rank() == 0) out[row] = total;
  }
}

// The threads of a tile hand their values round in shared memory.
template <int size>
__global__ void handed(const int* in, int* out) {
  __shared__ cg::block_tile_memory<kThreads> memory;
  __shared__ int words[kThreads];
  const auto block = cg::this_thread_block(memory);
  const auto tile = cg::tiled_partition<size>(block);
  int* const own = words + tile.meta_group_rank() * size;
  const int rank = static_cast<int>(tile.thread_rank()), at = blockIdx.x * kThreads + threadIdx.x;
  int value = in[at];
  for (int round = 0; round < 5 + static_cast<int>(tile.meta_group_rank()) % 3; ++round) {
    own[rank] = static_cast<int>(static_cast<unsigned>(value) + round);
    tile.sync();
    value = static_cast<int>(static_cast<unsigned>(value) * 5 + own[(rank + 33) % size]);
    tile.sync();
  }
  const unsigned voted = (tile.any(in[at] % 1000 == 7) ? 1 : 0) + (tile.all(in[at] % 5000 != 11) ? 2 : 0);
  out[at] = static_cast<int>(static_cast<unsigned>(value) + voted);
}

template <int size>
__global__ void scanned(const int* in, int* out) {
  __shared__ cg::block_tile_memory<kThreads> memory;
  const auto block = cg::this_thread_block(memory);
  const auto tile = cg::tiled_partition<size>(block);
  const int at = blockIdx.x * kThreads + threadIdx.x;
  const int before = cg::exclusive_scan(tile, in[at]);
  out[at] = before * 7 + cg::inclusive_scan(tile, in[at] % 100, cg::greater<int>());
}

template <int size>
void tryTiles(const std::vector<int>& in, const int* from, int* to) {
  const auto read = [&](std::size_t count) {
    std::vector<int> words(count);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(words.data(), to, count * sizeof(int), cudaMemcpyDeviceToHost));
    return words;
  };
  constexpr int blocks = 3, count = blocks * kThreads;
  std::vector<int> wanted(kRows);
  for (int row = 0; row < kRows; ++row) {
    int total = 0;
    for (int round = 0; round < roundsOf(row); ++round) {
      std::vector<int> part(size);
      int sum = 0, most = INT32_MIN;
      for (int k = 0; k < kColumns; ++k) part[k % size] += in[row * kColumns + k] >> round;
      for (const int each : part) sum += each;
      total = total * 3 + sum;
      for (const int each : part) most = std::max(most, each ^ total);
      total += most;
    }
    wanted[row] = total;
  }
  sums<size><<<blocks, kThreads>>>(from, to);
  check::equal("sums", read(kRows), wanted);

  wanted.assign(count, 0);
  for (int first = 0; first < count; first += size) {
    std::vector<int> values(in.begin() + first, in.begin() + first + size), words(size);
    bool any = false, all = true;
    for (const int value : values) any |= value % 1000 == 7, all &= value % 5000 != 11;
    for (int round = 0; round < 5 + first % kThreads / size % 3; ++round) {
      for (int k = 0; k < size; ++k) words[k] = static_cast<int>(static_cast<unsigned>(values[k]) + round);
      for (int k = 0; k < size; ++k) values[k] = static_cast<int>(static_cast<unsigned>(values[k]) * 5 + words[(k + 33) % size]);
    }
    for (int k = 0; k < size; ++k) wanted[first + k] = static_cast<int>(static_cast<unsigned>(values[k]) + (any ? 1 : 0) + (all ? 2 : 0));
  }
  handed<size><<<blocks, kThreads>>>(from, to);
  check::equal("handed", read(count), wanted);

  for (int first = 0; first < count; first += size) {
    int sum = 0, most = INT32_MIN;
    for (int k = first; k < first + size; ++k) {
      most = std::max(most, in[k] % 100);
      wanted[k] = sum * 7 + most;
      sum += in[k];
    }
  }
  scanned<size><<<blocks, kThreads>>>(from, to);
  check::equal("scanned", read(count), wanted);
}

int main() {
  std::vector<int> in(kRows * kColumns);
  unsigned state = 5;
  for (int& each : in) each = static_cast<int>((state = state * 1664525 + 1013904223) >> 12) % 10000;
  int *from = nullptr, *to = nullptr;
  CHECK(cudaMalloc(&from, in.size() * sizeof(int)));
  CHECK(cudaMalloc(&to, in.size() * sizeof(int)));
  CHECK(cudaMemcpy(from, in.data(), in.size() * sizeof(int), cudaMemcpyHostToDevice));
  tryTiles<64>(in, from, to);
  tryTiles<128>(in, from, to);
  tryTiles<512>(in, from, to);
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
  return check::done();
}
