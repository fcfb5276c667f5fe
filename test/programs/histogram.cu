// Histograms with global atomics, with shared-memory atomics merged at the end, and weighted with float atomics.
#include "check.h"

constexpr int kBins = 64;

__global__ void globalAtomics(const unsigned char* data, int n, unsigned* bins) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[data[i] % kBins], 1u);
}

__global__ void sharedAtomics(const unsigned char* data, int n, unsigned* bins) {
  __shared__ unsigned local[kBins];
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) local[b] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[data[i] % kBins], 1u);
  __syncthreads();
  for (int b = threadIdx.x; b < kBins; b += blockDim.x) atomicAdd(&bins[b], local[b]);
}

__global__ void weighted(const unsigned char* data, int n, float* bins) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[data[i] % kBins], 0.25f * (i % 8));
}

int main() {
  const int n = 60000;
  check::Random random(7);
  std::vector<unsigned char> data(n);
  std::vector<unsigned> wanted(kBins);
  std::vector<float> wantedWeights(kBins);
  for (int i = 0; i < n; ++i) {
    data[i] = static_cast<unsigned char>(random.below(256) & random.below(256));
    ++wanted[data[i] % kBins];
    wantedWeights[data[i] % kBins] += 0.25f * (i % 8);  // multiples of 1/4 below 2^22: exact in any order
  }
  unsigned char* device = check::toDevice(data);
  unsigned* bins = check::deviceArray<unsigned>(kBins);
  float* weights = check::deviceArray<float>(kBins);
  CHECK(cudaMemset(bins, 0, kBins * sizeof(unsigned)));
  globalAtomics<<<30, 128>>>(device, n, bins);
  CHECK(cudaGetLastError());
  check::equal("global", check::toHost(bins, kBins), wanted);
  CHECK(cudaMemset(bins, 0, kBins * sizeof(unsigned)));
  sharedAtomics<<<30, 128>>>(device, n, bins);
  CHECK(cudaGetLastError());
  check::equal("shared", check::toHost(bins, kBins), wanted);
  CHECK(cudaMemset(weights, 0, kBins * sizeof(float)));
  weighted<<<(n + 255) / 256, 256>>>(device, n, weights);
  CHECK(cudaGetLastError());
  check::equal("weighted", check::toHost(weights, kBins), wantedWeights);
  return check::done();
}
