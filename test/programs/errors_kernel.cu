// Kernels that fault: null pointer, wild address, misaligned access, trap. Each in a
// process of its own, forked before any use of CUDA: the code is CUDA's, it is sticky, and the other processes are not affected.
// faults
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

__global__ void store(int* where) { *where = 1; }
__global__ void load(const int* where, int* out) { *out = *where; }
__global__ void loadWide(const char* base, double2* out) { *out = *reinterpret_cast<const double2*>(base + 4); }
__global__ void misaligned(char* base) { *reinterpret_cast<volatile int*>(base + 2) = 1; }
__global__ void trap() { asm volatile("trap;"); }
__global__ void good(int* out) { out[threadIdx.x] = threadIdx.x; }

cudaError_t fault(int which, int* device) {
  switch (which) {
    case 0: store<<<1, 1>>>(nullptr); return cudaErrorIllegalAddress;
    case 1: store<<<1, 64>>>(reinterpret_cast<int*>(0x7000'0000'0000'0000ull)); return cudaErrorIllegalAddress;
    case 2: load<<<1, 1>>>(reinterpret_cast<int*>(16), device); return cudaErrorIllegalAddress;
    case 3: misaligned<<<1, 1>>>(reinterpret_cast<char*>(device)); return cudaErrorMisalignedAddress;
    case 4: loadWide<<<1, 1>>>(reinterpret_cast<char*>(device), reinterpret_cast<double2*>(device + 16)); return cudaErrorMisalignedAddress;
    default: trap<<<1, 1>>>(); return cudaErrorLaunchFailure;
  }
}

int child(int which) {
  int* device = check::deviceArray<int>(256);
  good<<<1, 256>>>(device);
  CHECK(cudaDeviceSynchronize());
  cudaError_t wanted = fault(which, device);
  EXPECT_ERROR(wanted, cudaDeviceSynchronize());
  // Sticky: everything that touches the device reports it, also when it has been read.
  EXPECT_ERROR(wanted, cudaGetLastError());
  EXPECT_ERROR(cudaSuccess, cudaGetLastError());
  EXPECT_ERROR(wanted, cudaDeviceSynchronize());
  int *more, host;
  EXPECT_ERROR(wanted, cudaMalloc(&more, 64));
  EXPECT_ERROR(wanted, cudaMemcpy(&host, device, 4, cudaMemcpyDeviceToHost));
  EXPECT_ERROR(wanted, cudaFree(device));
  good<<<1, 1>>>(device);
  EXPECT_ERROR(wanted, cudaGetLastError());
  cudaStream_t stream;
  EXPECT_ERROR(wanted, cudaStreamCreate(&stream));
  // CUDA promises nothing after a reset; what works must work right.
  cudaDeviceReset();
  if (cudaMalloc(&more, 256 * sizeof(int)) == cudaSuccess) {
    good<<<1, 256>>>(more);
    int all[256];
    CHECK(cudaMemcpy(all, more, sizeof all, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 256; ++i) EXPECT(all[i] == i);
  }
  std::fflush(stdout);
  return check::failures ? 1 : 0;
}

int main() {
  for (int which = 0; which < 6; ++which) {
    pid_t pid = fork();
    if (pid == 0) _exit(child(which));
    int status = 0;
    waitpid(pid, &status, 0);
    if (!(WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
      std::printf("fault %d: the child ended with status %#x\n", which, status);
      ++check::failures;
    }
  }
  // This process uses the device for the first time now and sees none of it.
  int* device = check::deviceArray<int>(64);
  good<<<1, 64>>>(device);
  CHECK(cudaGetLastError());
  std::vector<int> wanted(64);
  for (int i = 0; i < 64; ++i) wanted[i] = i;
  check::equal("after", check::toHost(device, 64), wanted);
  return check::done();
}
