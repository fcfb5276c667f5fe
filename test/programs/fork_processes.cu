// fork: children made before the first CUDA call use the device on their own; a child made afterwards gets
// cudaErrorInitializationError and leaves the parent's work alone; a child that only execs is harmless.
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

__global__ void fill(int* out, int n, int value) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = value * i;
}

bool works(int value) {
  const int n = 3000;
  int* device = check::deviceArray<int>(n);
  fill<<<(n + 127) / 128, 128>>>(device, n, value);
  CHECK(cudaGetLastError());
  std::vector<int> got = check::toHost(device, n);
  for (int i = 0; i < n; ++i)
    if (got[i] != value * i) return false;
  return true;
}

int wait(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main() {
  pid_t early[3];
  for (int i = 0; i < 3; ++i)
    if ((early[i] = fork()) == 0) _exit(works(i + 1) ? 0 : 2);
  EXPECT(works(10));
  for (pid_t pid : early) EXPECT(wait(pid) == 0);

  int* device = check::deviceArray<int>(64);
  CHECK(cudaMemset(device, 0x22, 64 * sizeof(int)));
  pid_t late = fork();
  if (late == 0) {
    int *more = nullptr, host[64];
    bool right = cudaMalloc(&more, 64) == cudaErrorInitializationError;
    right &= cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost) == cudaErrorInitializationError;
    right &= cudaDeviceSynchronize() == cudaErrorInitializationError;
    fill<<<1, 64>>>(device, 64, 5);
    right &= cudaGetLastError() == cudaErrorInitializationError;
    _exit(right ? 0 : 3);
  }
  EXPECT(wait(late) == 0);
  pid_t other = fork();
  if (other == 0) {
    execl("/bin/true", "true", static_cast<char*>(nullptr));
    _exit(4);
  }
  EXPECT(wait(other) == 0);
  check::equal("untouched", check::toHost(device, 64), std::vector<int>(64, 0x22222222));
  EXPECT(works(11));
  return check::done();
}
