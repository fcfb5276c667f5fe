// Eight host threads on one device: each with its own stream, memory and modules' kernels, errors that belong to one thread
// alone, allocation and freeing at the same time, one thread using what another made.
#include <atomic>
#include <thread>

#include "check.h"

__global__ void mix(unsigned* data, int n, unsigned key) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = (data[i] ^ key) * 2654435761u + i;
}

std::atomic<int> wrong{0}, otherError{0}, leftOver{0};
cudaError_t tooManyThreads;

void work(int id, unsigned* shared) {
  check::Random random(100 + id);
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (int round = 0; round < 12; ++round) {
    int n = 100 + int(random.below(3000));
    std::vector<unsigned> data(n), got(n);
    for (unsigned& v : data) v = unsigned(random.next());
    unsigned* device;
    CHECK(cudaMalloc(&device, n * sizeof(unsigned)));
    CHECK(cudaMemcpyAsync(device, data.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice, stream));
    for (int k = 0; k < 4; ++k) {
      mix<<<(n + 95) / 96, 96, 0, stream>>>(device, n, k * 77 + id);
      for (int i = 0; i < n; ++i) data[i] = (data[i] ^ (k * 77 + id)) * 2654435761u + i;
    }
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(got.data(), device, n * sizeof(unsigned), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    if (got != data) ++wrong;
    CHECK(cudaFree(device));
    if (id % 2) {
      // An error is latched for the calling thread only.
      mix<<<1, 5000, 0, stream>>>(shared, 0, 0);
      if (cudaPeekAtLastError() != tooManyThreads) ++otherError;
      if (cudaGetLastError() != tooManyThreads) ++otherError;
    }
    if (cudaGetLastError() != cudaSuccess) ++leftOver;
  }
  mix<<<1, 64, 0, stream>>>(shared + 64 * id, 64, id);
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaStreamDestroy(stream));
}

int main() {
  const int threads = 8;
  unsigned* shared = check::deviceArray<unsigned>(64 * threads);
  CHECK(cudaMemset(shared, 0, 64 * threads * sizeof(unsigned)));
  CHECK(cudaDeviceSynchronize());
  mix<<<1, 64>>>(shared, 0, 0);
  CHECK(cudaGetLastError());
  mix<<<1, 5000>>>(shared, 0, 0);
  tooManyThreads = cudaGetLastError();
  EXPECT(tooManyThreads != cudaSuccess);
  CHECK(cudaGetLastError());
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) all.emplace_back(work, t, shared);
  for (auto& t : all) t.join();
  EXPECT(wrong == 0);
  EXPECT(otherError == 0);
  EXPECT(leftOver == 0);
  std::vector<unsigned> wanted(64 * threads);
  for (int i = 0; i < 64 * threads; ++i) wanted[i] = unsigned(i / 64) * 2654435761u + i % 64;
  check::equal("shared", check::toHost(shared, wanted.size()), wanted);
  return check::done();
}
