// Blocks that talk through volatile flags in global memory while all of them run: a ring of messages, a ticket lock, producer and
// consumer with fences. Launched cooperatively, so that all blocks are there.
#include <algorithm>

#include "check.h"

// Block b waits for b's turn, adds to the message and passes it on, several times round.
__global__ void ring(volatile unsigned* turn, unsigned* message, int rounds) {
  if (threadIdx.x == 0) {
    for (int r = 0; r < rounds; ++r) {
      unsigned mine = r * gridDim.x + blockIdx.x;
      while (*turn != mine) {
      }
      __threadfence();
      *reinterpret_cast<volatile unsigned*>(message) = *reinterpret_cast<volatile unsigned*>(message) * 3 + blockIdx.x;
      __threadfence();
      *turn = mine + 1;
    }
  }
}

struct Lock {
  unsigned next, serving;
};

__global__ void locked(Lock* lock, volatile int* counter, int times) {
  if (threadIdx.x != 0) return;
  for (int i = 0; i < times; ++i) {
    unsigned ticket = atomicAdd(&lock->next, 1u);
    while (*reinterpret_cast<volatile unsigned*>(&lock->serving) != ticket) __nanosleep(20);
    __threadfence();
    *counter = *counter + 1;  // not atomic: the lock must exclude
    __threadfence();
    atomicAdd(&lock->serving, 1u);
  }
}

// Even blocks produce a buffer each, the next odd block consumes it, with one slot and back-pressure.
__global__ void pipe(volatile int* full, int* buffers, int words, int batches, unsigned long long* sums) {
  int pair = blockIdx.x / 2, t = threadIdx.x;
  int* buffer = buffers + pair * words;
  unsigned long long sum = 0;
  for (int batch = 0; batch < batches; ++batch) {
    bool producer = blockIdx.x % 2 == 0;
    if (t == 0) {
      while (full[pair] != (producer ? 0 : 1)) {
      }
      __threadfence();
    }
    __syncthreads();
    for (int i = t; i < words; i += blockDim.x) {
      if (producer)
        buffer[i] = batch * words + i + pair;
      else
        sum += *const_cast<volatile int*>(&buffer[i]);
    }
    __threadfence();
    __syncthreads();
    if (t == 0) full[pair] = producer ? 1 : 0;
  }
  if (blockIdx.x % 2) atomicAdd(&sums[pair], sum);
}

int main() {
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  int perSm = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&perSm, pipe, 32, 0));
  const int blocks = std::min(6, perSm * properties.multiProcessorCount) / 2 * 2;
  EXPECT(blocks >= 2);
  unsigned* words = check::deviceArray<unsigned>(64);
  CHECK(cudaMemset(words, 0, 64 * sizeof(unsigned)));
  unsigned *turn = words, *message = words + 1;
  int rounds = 20;
  void* ringArguments[] = {&turn, &message, &rounds};
  CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(ring), dim3(blocks), dim3(32), ringArguments, 0, 0));
  unsigned wanted = 0;
  for (int r = 0; r < rounds; ++r)
    for (int b = 0; b < blocks; ++b) wanted = wanted * 3 + b;
  EXPECT(check::toHost(message, 1)[0] == wanted);

  Lock* lock = reinterpret_cast<Lock*>(words + 8);
  int* counter = reinterpret_cast<int*>(words + 12);
  int times = 30;
  void* lockArguments[] = {&lock, &counter, &times};
  CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(locked), dim3(blocks), dim3(32), lockArguments, 0, 0));
  EXPECT(check::toHost(counter, 1)[0] == blocks * times);

  int perBatch = 100, batches = 12;
  int *full = check::deviceArray<int>(blocks), *buffers = check::deviceArray<int>(blocks / 2 * perBatch);
  auto* sums = check::deviceArray<unsigned long long>(blocks / 2);
  CHECK(cudaMemset(full, 0, blocks * sizeof(int)));
  CHECK(cudaMemset(sums, 0, blocks / 2 * sizeof *sums));
  void* pipeArguments[] = {&full, &buffers, &perBatch, &batches, &sums};
  CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(pipe), dim3(blocks), dim3(32), pipeArguments, 0, 0));
  std::vector<unsigned long long> expected(blocks / 2);
  for (int p = 0; p < blocks / 2; ++p)
    for (int i = 0; i < perBatch * batches; ++i) expected[p] += i + p;
  check::equal("sums", check::toHost(sums, blocks / 2), expected);
  return check::done();
}
