// Poisson distributions for programs' own kernels (curand_poisson.h, curand_discrete): tables in device memory, in the layout of curand_discrete.h.
#include <cuda_runtime_api.h>
#include <curand.h>
#include <curand_discrete.h>

#include <cmath>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <unordered_set>
#include <vector>

#include "client-shim/curand/generator.h"
#include "client-shim/curand/implementations.h"
#include "schemas/rand/numbers/poisson.h"

namespace rouse::curand {
namespace {

struct Distributions {
  std::mutex mutex;
  std::unordered_set<void*> all;
};
Distributions& distributions() {
  static Distributions* const the = new Distributions;
  return *the;
}

// Walker's alias method: columns of the same width, of which each has its own result below a bound and one other's above.
struct Columns {
  std::vector<double> bounds;  // of all columns together, from 0 to 1
  std::vector<std::uint32_t> others;
};

Columns columnsOf(const std::vector<double>& cumulative) {
  const std::size_t count = cumulative.size();
  std::vector<double> left(count);
  for (std::size_t i = 0; i < count; ++i) left[i] = ((i + 1 == count ? 1.0 : cumulative[i]) - (i == 0 ? 0.0 : cumulative[i - 1])) * static_cast<double>(count);
  // Who has less than a column, and who has more.
  std::vector<std::uint32_t> less, more;
  for (std::uint32_t i = 0; i < count; ++i) (left[i] < 1 ? less : more).push_back(i);
  // One more column, for the number 1 itself.
  Columns columns{std::vector<double>(count + 1, 2.0), std::vector<std::uint32_t>(count + 1)};
  for (std::uint32_t i = 0; i < count; ++i) columns.others[i] = i;
  while (!less.empty() && !more.empty()) {
    const std::uint32_t small = less.back(), large = more.back();
    less.pop_back();
    columns.bounds[small] = (small + left[small]) / static_cast<double>(count);
    columns.others[small] = large;
    left[large] -= 1 - left[small];
    if (left[large] < 1) {
      more.pop_back();
      less.push_back(large);
    }
  }
  columns.bounds[count] = 0;
  columns.others[count] = columns.others[count - 1];
  return columns;
}

// As it lies in device memory.
struct Block {
  curandDiscreteDistribution_st distribution;
  curandDistributionM2Shift_st columns;
  curandHistogramM2_st arrays;
};

}  // namespace

namespace impl {

curandStatus_t curandCreatePoissonDistribution(double lambda, curandDiscreteDistribution_t* discrete_distribution) {
  return guarded([&] {
    if (discrete_distribution == nullptr || !(lambda > 0 && lambda <= rand::kMostLambda)) return CURAND_STATUS_OUT_OF_RANGE;
    const rand::Poisson poisson(lambda);
    const Columns columns = columnsOf(poisson.cumulative());
    const std::size_t boundsBytes = columns.bounds.size() * sizeof(double), bytes = sizeof(Block) + boundsBytes + columns.others.size() * sizeof(std::uint32_t);
    void* memory = nullptr;
    const cudaError_t allocated = cudaMalloc(&memory, bytes);
    if (allocated != cudaSuccess) return allocated == cudaErrorMemoryAllocation ? CURAND_STATUS_ALLOCATION_FAILED : CURAND_STATUS_PREEXISTING_FAILURE;
    auto* const there = static_cast<std::byte*>(memory);
    const auto at = [&](std::size_t offset) { return static_cast<void*>(there + offset); };
    Block block{};
    block.distribution.M2 = static_cast<curandDistributionM2Shift_t>(at(offsetof(Block, columns)));
    block.distribution.mean = lambda;
    block.distribution.stddev = std::sqrt(lambda);
    block.distribution.method = CURAND_M2;
    block.columns.histogram = static_cast<curandHistogramM2_t>(at(offsetof(Block, arrays)));
    block.columns.shift = poisson.first();
    block.columns.length = static_cast<unsigned>(columns.bounds.size() - 1);
    block.arrays.V = static_cast<curandHistogramM2V_t>(at(sizeof block));
    block.arrays.K = static_cast<curandHistogramM2K_t>(at(sizeof block + boundsBytes));
    std::vector<std::byte> image(bytes);
    std::memcpy(image.data(), &block, sizeof block);
    std::memcpy(image.data() + sizeof block, columns.bounds.data(), boundsBytes);
    std::memcpy(image.data() + sizeof block + boundsBytes, columns.others.data(), columns.others.size() * sizeof(std::uint32_t));
    if (cudaMemcpy(memory, image.data(), bytes, cudaMemcpyHostToDevice) != cudaSuccess) {
      (void)cudaFree(memory);
      return CURAND_STATUS_PREEXISTING_FAILURE;
    }
    const std::lock_guard lock(distributions().mutex);
    distributions().all.insert(memory);
    *discrete_distribution = static_cast<curandDiscreteDistribution_t>(memory);
    return CURAND_STATUS_SUCCESS;
  });
}

curandStatus_t curandDestroyDistribution(curandDiscreteDistribution_t discrete_distribution) {
  return guarded([&] {
    {
      const std::lock_guard lock(distributions().mutex);
      if (distributions().all.erase(discrete_distribution) == 0) return CURAND_STATUS_NOT_INITIALIZED;
    }
    return cudaFree(discrete_distribution) == cudaSuccess ? CURAND_STATUS_SUCCESS : CURAND_STATUS_PREEXISTING_FAILURE;
  });
}

}  // namespace impl
}  // namespace rouse::curand
