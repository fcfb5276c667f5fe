// cudaLaunchHostFunc and cudaStreamAddCallback: order with kernels and copies, user data, status, from several streams at once, host
// work feeding device work.
#include <atomic>
#include <mutex>

#include "check.h"

__global__ void addOne(int* data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += 1;
}

struct Log {
  std::mutex mutex;
  std::vector<int> entries;
  void add(int v) {
    std::lock_guard<std::mutex> lock(mutex);
    entries.push_back(v);
  }
} journal;

struct Step {
  int* pinned;
  int n, number;
  bool right;
};

// Runs between a copy to the host and a copy back: sees the device's values and changes them.
void CUDART_CB onHost(void* argument) {
  auto* step = static_cast<Step*>(argument);
  step->right = true;
  for (int i = 0; i < step->n; ++i) {
    if (step->pinned[i] != step->number * 11 + 1 + i) step->right = false;
    step->pinned[i] += 10;
  }
  journal.add(step->number);
}

void CUDART_CB callback(cudaStream_t, cudaError_t status, void* argument) {
  auto* counter = static_cast<std::atomic<int>*>(argument);
  *counter += status == cudaSuccess ? 1 : 1000;
}

int main() {
  const int n = 512, steps = 10;
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  int *device = check::deviceArray<int>(n), *pinned;
  CHECK(cudaMallocHost(&pinned, n * sizeof(int)));
  for (int i = 0; i < n; ++i) pinned[i] = i;
  CHECK(cudaMemcpyAsync(device, pinned, n * sizeof(int), cudaMemcpyHostToDevice, stream));
  std::vector<Step> all(steps);
  for (int s = 0; s < steps; ++s) {
    all[s] = {pinned, n, s, false};
    addOne<<<4, 128, 0, stream>>>(device, n);
    CHECK(cudaMemcpyAsync(pinned, device, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaLaunchHostFunc(stream, onHost, &all[s]));
    CHECK(cudaMemcpyAsync(device, pinned, n * sizeof(int), cudaMemcpyHostToDevice, stream));
  }
  CHECK(cudaStreamSynchronize(stream));
  for (const Step& s : all) EXPECT(s.right);
  std::vector<int> wanted(steps), last(n);
  for (int s = 0; s < steps; ++s) wanted[s] = s;
  check::equal("order", journal.entries, wanted);
  for (int i = 0; i < n; ++i) last[i] = i + 11 * steps;
  check::equal("result", check::toHost(device, n), last);

  std::atomic<int> calls{0};
  cudaStream_t many[8];
  for (auto& s : many) CHECK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  for (int round = 0; round < 5; ++round)
    for (auto& s : many) {
      addOne<<<1, 32, 0, s>>>(device, 0);
      CHECK(cudaStreamAddCallback(s, callback, &calls, 0));
    }
  CHECK(cudaLaunchHostFunc(0, [](void* p) { ++*static_cast<std::atomic<int>*>(p); }, &calls));
  CHECK(cudaDeviceSynchronize());
  EXPECT(calls == 41);

  // Work behind a host function waits for it.
  std::atomic<int> gate{0};
  CHECK(cudaLaunchHostFunc(many[0], [](void* p) {
    while (*static_cast<std::atomic<int>*>(p) == 0) {
    }
  }, &gate));
  addOne<<<4, 128, 0, many[0]>>>(device, n);
  EXPECT_ERROR(cudaErrorNotReady, cudaStreamQuery(many[0]));
  cudaGetLastError();
  gate = 1;
  CHECK(cudaStreamSynchronize(many[0]));
  for (int& v : last) ++v;
  check::equal("behind the gate", check::toHost(device, n), last);
  return check::done();
}
