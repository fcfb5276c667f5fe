// A hundred thousand tiny launches without waiting, on one stream (order shows in the result) and spread over several; small
// copies, records and fills in between.
#include "check.h"

__global__ void step(unsigned* value, unsigned term) { *value = *value * 5 + term; }
__global__ void count(int* counter) { atomicAdd(counter, 1); }

int main() {
  unsigned* value = check::deviceArray<unsigned>(1);
  CHECK(cudaMemset(value, 0, sizeof(unsigned)));
  unsigned wanted = 0;
  for (unsigned i = 0; i < 60000; ++i) {
    step<<<1, 1>>>(value, i);
    wanted = wanted * 5 + i;
  }
  CHECK(cudaGetLastError());
  EXPECT(check::toHost(value, 1)[0] == wanted);

  cudaStream_t streams[4];
  for (auto& s : streams) CHECK(cudaStreamCreate(&s));
  int* counter = check::deviceArray<int>(4);
  CHECK(cudaMemset(counter, 0, 4 * sizeof(int)));
  for (int i = 0; i < 40000; ++i) count<<<1, 1, 0, streams[i & 3]>>>(counter + (i & 1));
  CHECK(cudaGetLastError());
  check::equal("counters", check::toHost(counter, 2), std::vector<int>{20000, 20000});

  // Mixed with everything that also travels in order.
  cudaEvent_t event;
  CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  unsigned *pinned, *scratch = check::deviceArray<unsigned>(2000);
  CHECK(cudaMallocHost(&pinned, 2000 * sizeof(unsigned)));
  for (unsigned i = 0; i < 2000; ++i) {
    unsigned start = i * 3;
    CHECK(cudaMemcpyAsync(scratch + i, &start, sizeof start, cudaMemcpyHostToDevice, streams[0]));  // start is read before this returns
    step<<<1, 1, 0, streams[0]>>>(scratch + i, 7);
    if (i % 10 == 0) CHECK(cudaMemsetAsync(scratch + i, 0, sizeof(unsigned), streams[0]));
    if (i % 50 == 0) CHECK(cudaEventRecord(event, streams[0]));
    CHECK(cudaMemcpyAsync(pinned + i, scratch + i, sizeof(unsigned), cudaMemcpyDeviceToHost, streams[0]));
  }
  CHECK(cudaStreamSynchronize(streams[0]));
  std::vector<unsigned> expected(2000);
  for (unsigned i = 0; i < 2000; ++i) expected[i] = i % 10 == 0 ? 0 : i * 15 + 7;
  check::equal("mixed", pinned, expected.data(), 2000);
  CHECK(cudaFreeHost(pinned));
  return check::done();
}
