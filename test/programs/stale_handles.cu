// Handles of destroyed objects: an error each time, never a crash, never another object's work. CUDA leaves this undefined, and its runtime may crash:
// it is Rouse alone that is asked for it. What comes after is anybody's.
#include "check.h"

__global__ void bump(int* counter) { atomicAdd(counter, 1); }

int main() {
  int* counter = check::deviceArray<int>(1);
  CHECK(cudaMemset(counter, 0, sizeof(int)));
  cudaStream_t old;
  cudaEvent_t oldEvent;
  CHECK(cudaStreamCreate(&old));
  CHECK(cudaEventCreate(&oldEvent));
  bump<<<1, 1, 0, old>>>(counter);
  CHECK(cudaStreamDestroy(old));
  CHECK(cudaEventDestroy(oldEvent));
  cudaStream_t streams[20];
  for (auto& s : streams) CHECK(cudaStreamCreate(&s));  // may use the old one's place again

  bool reused = false;  // a runtime may give the same handle out again; then it is live
  for (auto& s : streams) reused |= s == old;
  if (check::throughRouse() && !reused) {
    EXPECT(cudaStreamSynchronize(old) != cudaSuccess);
    EXPECT(cudaStreamQuery(old) != cudaSuccess);
    bump<<<1, 1, 0, old>>>(counter);
    EXPECT(cudaGetLastError() != cudaSuccess);
    EXPECT(cudaStreamDestroy(old) != cudaSuccess);
    EXPECT(cudaMemsetAsync(counter, 1, 4, old) != cudaSuccess);
    cudaGetLastError();
  }
  if (check::throughRouse()) {
    EXPECT(cudaEventRecord(oldEvent, streams[0]) != cudaSuccess);
    EXPECT(cudaStreamWaitEvent(streams[0], oldEvent, 0) != cudaSuccess);
    EXPECT(cudaEventDestroy(oldEvent) != cudaSuccess);
    cudaGetLastError();
  }
  for (auto& s : streams) {
    bump<<<1, 1, 0, s>>>(counter);
    CHECK(cudaGetLastError());
  }
  CHECK(cudaDeviceSynchronize());
  EXPECT(check::toHost(counter, 1)[0] == 21);
  for (auto& s : streams) CHECK(cudaStreamDestroy(s));
  return check::done();
}
