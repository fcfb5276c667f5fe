// Streams and events: order within a stream, waits across streams, queries, elapsed time, priorities, a chain over many streams
// where a lost wait would show, destroying streams with work on them.
#include "check.h"

__global__ void spin(long long nanoseconds) {
  long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < nanoseconds);
}

__global__ void scaleAdd(int* data, int n, int factor, int term) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] * factor + term;
}

int main() {
  const int n = 2048, count = 6;
  cudaStream_t streams[count];
  int least, greatest;
  CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT(least >= greatest);
  for (int i = 0; i < count; ++i) CHECK(cudaStreamCreateWithPriority(&streams[i], cudaStreamNonBlocking, i % 2 ? least : greatest));
  unsigned flags;
  CHECK(cudaStreamGetFlags(streams[0], &flags));
  EXPECT(flags == cudaStreamNonBlocking);
  int priority;
  CHECK(cudaStreamGetPriority(streams[1], &priority));
  EXPECT(priority == least);

  int* data = check::deviceArray<int>(n);
  CHECK(cudaMemset(data, 0, n * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  // Non-commutative steps hop from stream to stream; each waits for the one before, which is slowed down.
  cudaEvent_t event;
  CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  unsigned wanted = 0;
  for (int step = 0; step < 60; ++step) {
    cudaStream_t stream = streams[step * 5 % count];
    if (step % 10 == 0) spin<<<1, 1, 0, stream>>>(2000000);
    scaleAdd<<<n / 128, 128, 0, stream>>>(data, n, 3, step);
    wanted = wanted * 3 + step;
    CHECK(cudaEventRecord(event, stream));
    CHECK(cudaStreamWaitEvent(streams[(step + 1) * 5 % count], event, 0));  // the wait refers to this record, not to later ones
  }
  CHECK(cudaEventSynchronize(event));
  check::equal("chain", check::toHost(data, n), std::vector<int>(n, int(wanted)));

  // An event that was never recorded is complete; one behind running work is not ready.
  cudaEvent_t first, second;
  CHECK(cudaEventCreate(&first));
  CHECK(cudaEventCreate(&second));
  CHECK(cudaEventQuery(first));
  CHECK(cudaStreamSynchronize(streams[0]));  // the last wait of the chain is on it
  CHECK(cudaStreamQuery(streams[0]));
  float milliseconds = -1;
  EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&milliseconds, first, second));
  cudaGetLastError();
  CHECK(cudaEventRecord(first, streams[0]));
  spin<<<1, 1, 0, streams[0]>>>(30000000);
  CHECK(cudaEventRecord(second, streams[0]));
  EXPECT_ERROR(cudaErrorNotReady, cudaEventQuery(second));
  EXPECT_ERROR(cudaErrorNotReady, cudaStreamQuery(streams[0]));
  EXPECT_ERROR(cudaErrorNotReady, cudaEventElapsedTime(&milliseconds, first, second));
  CHECK(cudaEventSynchronize(second));
  CHECK(cudaEventQuery(second));
  CHECK(cudaEventElapsedTime(&milliseconds, first, second));
  EXPECT(milliseconds >= 29 && milliseconds < 2000);
  CHECK(cudaStreamSynchronize(streams[0]));
  CHECK(cudaStreamQuery(streams[0]));
  cudaGetLastError();

  // Destroying a stream does not drop its work.
  CHECK(cudaMemset(data, 0, n * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < count; ++i) {
    spin<<<1, 1, 0, streams[i]>>>(1000000);
    scaleAdd<<<1, 128, 0, streams[i]>>>(data + 128 * i, 128, 1, i + 1);
    CHECK(cudaStreamDestroy(streams[i]));
  }
  CHECK(cudaDeviceSynchronize());
  std::vector<int> got = check::toHost(data, 128 * count);
  for (int i = 0; i < 128 * count; ++i)
    if (got[i] != i / 128 + 1) {
      EXPECT(got[i] == i / 128 + 1);
      break;
    }
  CHECK(cudaEventDestroy(event));
  CHECK(cudaEventDestroy(first));
  CHECK(cudaEventDestroy(second));
  return check::done();
}
