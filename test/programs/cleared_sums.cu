// Sums split among blocks, as quantised products split them (ExLlama): the first block of each column of blocks clears what all of them add to, with nothing between. CUDA leaves open which of them is first; a GPU
// begins them in order, and the first has cleared it long before another has its sum. Here other threads keep the processor from them meanwhile.
#include <atomic>
#include <thread>
#include <vector>

#include "check.h"

namespace {

constexpr int kThreads = 64, kColumns = 8, kParts = 8, kRowsOfPart = 16, kLaunches = 100;
constexpr int kWidth = kThreads * kColumns, kRows = kParts * kRowsOfPart;

enum class Along { x, y, z };

template <Along along>
__global__ void sumUp(const int* values, int* sums) {
  const int part = along == Along::x ? blockIdx.x : along == Along::y ? blockIdx.y : blockIdx.z;
  const int column = (along == Along::x ? blockIdx.y : blockIdx.x) * kThreads + threadIdx.x;
  __shared__ int own[kThreads];
  own[threadIdx.x] = column;
  if (part == 0) sums[column] = 0;
  __syncthreads();
  int sum = own[kThreads - 1 - threadIdx.x] - own[kThreads - 1 - threadIdx.x];
  for (int row = part * kRowsOfPart; row < (part + 1) * kRowsOfPart; ++row) sum += values[row * kWidth + column];
  atomicAdd(&sums[column], sum);
}

template <Along along>
void launch(const int* values, int* sums) {
  const dim3 grid = along == Along::x ? dim3(kParts, kColumns) : along == Along::y ? dim3(kColumns, kParts) : dim3(kColumns, 1, kParts);
  sumUp<along><<<grid, kThreads>>>(values, sums);
}

bool wrong(const std::vector<int>& expected, const int* sums) {
  std::vector<int> found(kWidth);
  CHECK(cudaMemcpy(found.data(), sums, kWidth * sizeof(int), cudaMemcpyDeviceToHost));
  return found != expected;
}

}  // namespace

int main() {
  if (!check::onCpuDevice()) {
    std::printf("skipped: CUDA leaves open which block is first, and a GPU's are in order\n");
    return check::done();
  }
  std::vector<int> values(kRows * kWidth), expected(kWidth);
  for (int i = 0; i < kRows * kWidth; ++i) {
    values[i] = i % 1009;
    expected[i % kWidth] += values[i];
  }
  int *device = nullptr, *sums = nullptr;
  CHECK(cudaMalloc(&device, values.size() * sizeof(int)));
  CHECK(cudaMalloc(&sums, kWidth * sizeof(int)));
  CHECK(cudaMemcpy(device, values.data(), values.size() * sizeof(int), cudaMemcpyHostToDevice));
  std::atomic<bool> done{false};
  std::vector<std::thread> others;
  for (unsigned i = 0; i < 2 * std::thread::hardware_concurrency(); ++i) {
    others.emplace_back([&] {
      while (!done) {
      }
    });
  }
  int wrongOnes = 0;
  for (int i = 0; i < kLaunches; ++i) {
    launch<Along::x>(device, sums);
    wrongOnes += wrong(expected, sums);
    launch<Along::y>(device, sums);
    wrongOnes += wrong(expected, sums);
    launch<Along::z>(device, sums);
    wrongOnes += wrong(expected, sums);
  }
  done = true;
  for (std::thread& other : others) other.join();
  EXPECT(wrongOnes == 0);
  return check::done();
}
