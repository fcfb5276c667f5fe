// Compiled with per-thread default streams: each host thread's <<<>>> goes to a stream of its own, none waits for another's.
// nvcc: --default-stream per-thread
#include <atomic>
#include <thread>

#include "check.h"

__global__ void waitFor(const volatile int* flag) {
  while (*flag == 0) {
  }
}
__global__ void set(volatile int* flag, int value) { *flag = value; }
__global__ void fill(int* data, int n, int value) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] * 2 + value;
}

int main() {
  int* flag = check::deviceArray<int>(2);
  CHECK(cudaMemset(flag, 0, 2 * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  // This thread's default stream is held; another thread's default stream sets it free. What frees has run before, on that stream: a kernel is
  // loaded by its first launch, which may wait for all that runs (CUDA Programming Guide, "Lazy Loading", "Concurrent Execution").
  std::atomic<int> stage{0};
  std::thread other([&] {
    set<<<1, 1>>>(flag + 1, 1);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(0));
    stage = 1;
    while (stage != 2) std::this_thread::yield();
    set<<<1, 1>>>(flag, 1);
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(0));
  });
  while (stage != 1) std::this_thread::yield();
  waitFor<<<1, 1>>>(flag);
  CHECK(cudaGetLastError());
  EXPECT_ERROR(cudaErrorNotReady, cudaStreamQuery(0));
  cudaGetLastError();
  stage = 2;
  other.join();
  CHECK(cudaStreamSynchronize(cudaStreamPerThread));

  const int n = 4000, threads = 6;
  int* data = check::deviceArray<int>(n * threads);
  CHECK(cudaMemset(data, 0, n * threads * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  std::atomic<int> wrong{0};
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t)
    workers.emplace_back([&, t] {
      unsigned wanted = 0;
      for (int step = 0; step < 12; ++step) {
        fill<<<(n + 127) / 128, 128>>>(data + t * n, n, step + t);
        wanted = wanted * 2 + step + t;
      }
      std::vector<int> mine(n);
      CHECK(cudaMemcpyAsync(mine.data(), data + t * n, n * sizeof(int), cudaMemcpyDeviceToHost, 0));
      CHECK(cudaStreamSynchronize(0));
      for (int v : mine) wrong += v != int(wanted);
    });
  for (auto& w : workers) w.join();
  EXPECT(wrong == 0);
  return check::done();
}
