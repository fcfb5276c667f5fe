// Several devices (any number from one): current device a thread, memory and kernels on each, peer copies and what they wait for, events waited for
// across devices, properties, wrong ordinals, kernels of one module on all devices with variables of their own.
// gpus: 3
#include <thread>

#include "check.h"

__device__ int perDevice = 1000;

__global__ void step(int* data, int n, int factor) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] * factor + perDevice;
}

__global__ void number(unsigned* words, size_t n, unsigned first) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) words[i] = first + unsigned(i);
}

// On the null stream a copy between devices begins when all that either of them has is done, on whatever stream, and what comes later begins behind it.
void nullStream() {
  const size_t n = 512 << 10;
  unsigned *from = nullptr, *to = nullptr;
  cudaStream_t other;
  CHECK(cudaSetDevice(0));
  CHECK(cudaMalloc(&from, n * sizeof *from));
  CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  CHECK(cudaSetDevice(1));
  CHECK(cudaMalloc(&to, n * sizeof *to));
  std::vector<unsigned> got(n), wanted(n);
  for (unsigned round = 0; round < 24; ++round) {
    CHECK(cudaSetDevice(0));
    number<<<16, 128, 0, round % 2 == 0 ? nullptr : other>>>(from, n, round);
    CHECK(cudaSetDevice(1));
    if (round % 3 == 0) {
      CHECK(cudaMemcpyPeer(to, 1, from, 0, n * sizeof *to));
    } else {
      CHECK(cudaMemcpy(to, from, n * sizeof *to, cudaMemcpyDefault));
    }
    CHECK(cudaSetDevice(0));
    number<<<16, 128, 0, other>>>(from, n, 1000);  // too late for the copy
    CHECK(cudaMemcpy(got.data(), to, n * sizeof *to, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < n; ++i) wanted[i] = round + unsigned(i);
    check::equal("copied on the null stream", got, wanted);
    CHECK(cudaStreamSynchronize(other));  // nothing else orders its kernel before the null stream's next one
  }
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
  CHECK(cudaStreamDestroy(other));
}

// Two threads copy large pieces of memory to each other's device.
void bothWays() {
  const size_t bytes = 48 << 20;
  char* memory[2][2];  // by device: what is sent, what comes
  for (int d = 0; d < 2; ++d) {
    CHECK(cudaSetDevice(d));
    for (char*& each : memory[d]) CHECK(cudaMalloc(&each, bytes));
    CHECK(cudaMemset(memory[d][0], 40 + d, bytes));
    CHECK(cudaDeviceSynchronize());
  }
  std::thread threads[2];
  for (int d = 0; d < 2; ++d) {
    threads[d] = std::thread([&, d] {
      CHECK(cudaSetDevice(d));
      for (int round = 0; round < 3; ++round) CHECK(cudaMemcpyPeer(memory[1 - d][1], 1 - d, memory[d][0], d, bytes));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int d = 0; d < 2; ++d) {
    CHECK(cudaSetDevice(d));
    std::vector<char> got(bytes);
    CHECK(cudaMemcpy(got.data(), memory[d][1], bytes, cudaMemcpyDeviceToHost));
    EXPECT(got == std::vector<char>(bytes, char(41 - d)));
    for (char* each : memory[d]) CHECK(cudaFree(each));
  }
}

int main() {
  int count = 0;
  CHECK(cudaGetDeviceCount(&count));
  EXPECT(count >= 1);
  const int n = 4096;
  std::vector<int*> data(count), landing(count);
  std::vector<cudaStream_t> streams(count);
  std::vector<cudaEvent_t> events(count);
  for (int d = 0; d < count; ++d) {
    CHECK(cudaSetDevice(d));
    int current = -1;
    CHECK(cudaGetDevice(&current));
    EXPECT(current == d);
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, d));
    EXPECT(properties.totalGlobalMem > 0 && properties.warpSize == 32 && properties.name[0] != 0);
    size_t free = 0, total = 0;
    CHECK(cudaMemGetInfo(&free, &total));
    EXPECT(free > 0 && free <= total);
    int value = 100 * (d + 1);
    CHECK(cudaMemcpyToSymbol(perDevice, &value, sizeof value));
    CHECK(cudaMalloc(&data[d], n * sizeof(int)));
    CHECK(cudaMalloc(&landing[d], n * sizeof(int)));
    CHECK(cudaStreamCreate(&streams[d]));
    CHECK(cudaEventCreateWithFlags(&events[d], cudaEventDisableTiming));
    CHECK(cudaMemset(data[d], 0, n * sizeof(int)));
    cudaPointerAttributes attributes;
    CHECK(cudaPointerGetAttributes(&attributes, data[d]));
    EXPECT(attributes.device == d && attributes.type == cudaMemoryTypeDevice);
  }
  EXPECT_ERROR(cudaErrorInvalidDevice, cudaSetDevice(count));
  EXPECT_ERROR(cudaErrorInvalidDevice, cudaSetDevice(-1));
  cudaGetLastError();

  // A value travels round the devices: each adds its own, the next waits for its event and copies from it.
  std::vector<int> wanted(n, 0);
  for (int hop = 0; hop < 4 * count; ++hop) {
    int d = hop % count, previous = (d + count - 1) % count;
    CHECK(cudaSetDevice(d));
    if (hop > 0) {
      CHECK(cudaStreamWaitEvent(streams[d], events[previous], 0));
      CHECK(cudaMemcpyPeerAsync(data[d], d, landing[previous], previous, n * sizeof(int), streams[d]));
    }
    step<<<n / 128, 128, 0, streams[d]>>>(data[d], n, 3);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(landing[d], data[d], n * sizeof(int), cudaMemcpyDeviceToDevice, streams[d]));
    CHECK(cudaEventRecord(events[d], streams[d]));
    for (int& v : wanted) v = v * 3 + 100 * (d + 1);
  }
  CHECK(cudaEventSynchronize(events[count - 1]));
  CHECK(cudaSetDevice(0));
  check::equal("round trip", check::toHost(landing[count - 1], n), wanted);

  // Synchronous peer copy and cudaMemcpy between devices by address alone.
  std::vector<int> numbers(n);
  for (int i = 0; i < n; ++i) numbers[i] = i * i;
  CHECK(cudaMemcpy(data[0], numbers.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  for (int d = 1; d < count; ++d) CHECK(cudaMemcpyPeer(data[d], d, data[d - 1], d - 1, n * sizeof(int)));
  CHECK(cudaMemcpy(landing[0], data[count - 1], n * sizeof(int), cudaMemcpyDefault));
  check::equal("peer", check::toHost(landing[0], n), numbers);
  for (int d = 0; d < count; ++d) {
    int can = -1;
    CHECK(cudaDeviceCanAccessPeer(&can, d, (d + 1) % count));
    EXPECT(can == 0 || can == 1);
    if (count == 1) EXPECT(can == 0);
  }

  if (count > 1) {
    nullStream();
    bothWays();
  }

  // The current device belongs to the thread.
  CHECK(cudaSetDevice(count - 1));
  std::thread([&] {
    int current = -1;
    CHECK(cudaGetDevice(&current));
    EXPECT(current == 0);
    for (int d = 0; d < count; ++d) {
      CHECK(cudaSetDevice(d));
      int own = 0;
      CHECK(cudaMemcpyFromSymbol(&own, perDevice, sizeof own));
      EXPECT(own == 100 * (d + 1));
    }
  }).join();
  int current = -1;
  CHECK(cudaGetDevice(&current));
  EXPECT(current == count - 1);
  // Launching on another device's stream is an error; its event can still be waited for.
  if (count > 1) {
    CHECK(cudaSetDevice(0));
    step<<<1, 1, 0, streams[1]>>>(data[0], 0, 1);
    EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaGetLastError());
  }
  for (int d = 0; d < count; ++d) {
    CHECK(cudaSetDevice(d));
    CHECK(cudaFree(data[d]));
    CHECK(cudaStreamDestroy(streams[d]));
  }
  return check::done();
}
