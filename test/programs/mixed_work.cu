// A little of everything for as long as it is told: allocations of random sizes, copies, kernels, streams, events, pinned memory and host
// functions, all checked. Arguments: seed (default 1), rounds (default 6). Other tests run many of these at once and kill some.
#include <algorithm>

#include "check.h"

__global__ void scramble(unsigned* data, int n, unsigned key) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) data[i] = (data[i] ^ key) * 2654435761u + i;
}

__global__ void sum(const unsigned* data, int n, unsigned long long* out) {
  __shared__ unsigned long long s[64];
  unsigned long long mine = 0;
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) mine += data[i];
  s[threadIdx.x] = mine;
  __syncthreads();
  for (int half = 32; half > 0; half /= 2) {
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(out, s[0]);
}

struct Job {
  std::vector<unsigned> data, got;
  unsigned *device = nullptr, *pinned = nullptr;
  unsigned long long* total = nullptr;
  int called = 0;
};

int main(int argc, char** argv) {
  const int seed = argc > 1 ? std::atoi(argv[1]) : 1, rounds = argc > 2 ? std::atoi(argv[2]) : 6;
  check::Random random(seed);
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  cudaStream_t streams[3];
  cudaEvent_t event;
  CHECK(cudaSetDevice(seed % devices));
  for (auto& s : streams) CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  std::printf("started\n");
  std::fflush(stdout);
  for (int round = 0; round < rounds; ++round) {
    std::vector<Job> jobs(1 + random.below(4));
    for (auto& job : jobs) {
      cudaStream_t stream = streams[random.below(3)], other = streams[random.below(3)];
      // Mostly small; now and then megabytes.
      int n = 1 + int(random.below(random.below(8) == 0 ? 400000 : 6000));
      job.data.resize(n);
      for (unsigned& v : job.data) v = unsigned(random.next());
      job.got.resize(n);
      CHECK(cudaMalloc(&job.device, n * sizeof(unsigned)));
      CHECK(cudaMalloc(&job.total, sizeof *job.total));
      CHECK(cudaMallocHost(&job.pinned, n * sizeof(unsigned)));
      std::copy(job.data.begin(), job.data.end(), job.pinned);
      CHECK(cudaMemcpyAsync(job.device, job.pinned, n * sizeof(unsigned), cudaMemcpyHostToDevice, stream));
      CHECK(cudaMemsetAsync(job.total, 0, sizeof *job.total, stream));
      for (int k = 0; k < 3; ++k) {
        unsigned key = unsigned(random.next());
        scramble<<<4, 64, 0, stream>>>(job.device, n, key);
        for (int i = 0; i < n; ++i) job.data[i] = (job.data[i] ^ key) * 2654435761u + i;
      }
      CHECK(cudaGetLastError());
      CHECK(cudaEventRecord(event, stream));
      CHECK(cudaStreamWaitEvent(other, event, 0));
      sum<<<4, 64, 0, other>>>(job.device, n, job.total);
      CHECK(cudaLaunchHostFunc(other, [](void* p) { *static_cast<int*>(p) = 1; }, &job.called));
      CHECK(cudaMemcpyAsync(job.got.data(), job.device, n * sizeof(unsigned), cudaMemcpyDeviceToHost, other));
    }
    CHECK(cudaDeviceSynchronize());
    for (auto& job : jobs) {
      unsigned long long wanted = 0, got = 0;
      for (unsigned v : job.data) wanted += v;
      CHECK(cudaMemcpy(&got, job.total, sizeof got, cudaMemcpyDeviceToHost));
      EXPECT(got == wanted);
      EXPECT(job.called == 1);
      check::equal("data", job.got, job.data);
      CHECK(cudaFree(job.device));
      CHECK(cudaFree(job.total));
      CHECK(cudaFreeHost(job.pinned));
    }
    if (check::failures) break;
  }
  return check::done();
}
