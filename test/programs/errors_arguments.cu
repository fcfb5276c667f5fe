// Errors that leave the device usable: launch configurations, null and foreign pointers, sizes, directions, devices; each with
// CUDA's code, each reported once by cudaGetLastError, the program going on.
// alone
#include <climits>

#include "check.h"

__global__ void write(int* out, int value) { out[threadIdx.x] = value; }
__global__ void big(int* out) {
  extern __shared__ int s[];
  s[threadIdx.x] = 1;
  out[threadIdx.x] = s[threadIdx.x];
}

int main() {
  int* device = check::deviceArray<int>(256);
  auto launchFails = [&](cudaError_t wanted) {
    EXPECT_ERROR(wanted, cudaPeekAtLastError());
    EXPECT_ERROR(wanted, cudaGetLastError());
    EXPECT_ERROR(cudaSuccess, cudaGetLastError());
  };
  write<<<0, 32>>>(device, 1);
  launchFails(cudaErrorInvalidValue);
  write<<<1, 0>>>(device, 1);
  launchFails(cudaErrorInvalidValue);
  write<<<1, 1025>>>(device, 1);
  launchFails(cudaErrorInvalidValue);
  write<<<1, dim3(32, 32, 2)>>>(device, 1);
  launchFails(cudaErrorInvalidValue);
  write<<<1, dim3(1, 1, 65)>>>(device, 1);
  launchFails(cudaErrorInvalidValue);
  write<<<dim3(1, 65536), 32>>>(device, 1);
  launchFails(cudaErrorInvalidValue);
  big<<<1, 32, 1 << 20>>>(device);
  launchFails(cudaErrorInvalidValue);

  // Every failed call leaves its error for cudaGetLastError; a success in between does not take it away.
  int* p = nullptr;
  EXPECT_ERROR(cudaErrorInvalidValue, cudaMemcpy(nullptr, device, 4, cudaMemcpyDeviceToHost));
  CHECK(cudaMemset(device, 0, 4));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaGetLastError());
  EXPECT_ERROR(cudaErrorInvalidValue, cudaMalloc(static_cast<void**>(nullptr), 4));
  cudaGetLastError();

  // Out of memory: far beyond any device, and step by step until it is full; afterwards everything works again.
  EXPECT_ERROR(cudaErrorMemoryAllocation, cudaMalloc(&p, size_t(1) << 46));
  EXPECT_ERROR(cudaErrorMemoryAllocation, cudaGetLastError());
  size_t free = 0, total = 0;
  CHECK(cudaMemGetInfo(&free, &total));
  EXPECT_ERROR(cudaErrorMemoryAllocation, cudaMalloc(&p, total + (size_t(1) << 20)));
  EXPECT_ERROR(cudaErrorMemoryAllocation, cudaGetLastError());
  EXPECT(p == nullptr);
  size_t after = 0;
  CHECK(cudaMemGetInfo(&after, &total));
  if (check::throughRouse()) EXPECT(after == free);  // CUDA may have taken some for itself

  // Zero bytes are no error and give no pointer.
  p = device;
  CHECK(cudaMalloc(&p, 0));
  EXPECT(p == nullptr);
  CHECK(cudaFree(nullptr));

  // Frees: not an allocation's base, not an allocation, already freed.
  CHECK(cudaMalloc(&p, 4096));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaFree(reinterpret_cast<char*>(p) + 16));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaFree(reinterpret_cast<void*>(0x1234560)));
  CHECK(cudaFree(p));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaFree(p));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaGetLastError());
  int local = 0;
  EXPECT_ERROR(cudaErrorInvalidValue, cudaFreeHost(&local));
  cudaGetLastError();

  // Copies and fills beyond an allocation.
  CHECK(cudaMalloc(&p, 1000));
  std::vector<char> host(size_t(64) << 20);
  EXPECT_ERROR(cudaErrorInvalidValue, cudaMemcpy(p, host.data(), host.size(), cudaMemcpyHostToDevice));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaMemcpy(host.data(), p, host.size(), cudaMemcpyDeviceToHost));
  EXPECT_ERROR(cudaErrorInvalidValue, cudaMemset(p, 0, host.size()));
  EXPECT_ERROR(cudaErrorInvalidMemcpyDirection, cudaMemcpy(p, host.data(), 4, static_cast<cudaMemcpyKind>(17)));
  cudaGetLastError();

  EXPECT_ERROR(cudaErrorInvalidDevice, cudaSetDevice(1000));
  cudaDeviceProp properties;
  EXPECT_ERROR(cudaErrorInvalidDevice, cudaGetDeviceProperties(&properties, 1000));
  int value = 0;
  EXPECT_ERROR(cudaErrorInvalidDevice, cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, -1));
  cudaStream_t stream;
  EXPECT_ERROR(cudaErrorInvalidValue, cudaStreamCreateWithFlags(&stream, 0x80));
  cudaEvent_t event;
  EXPECT_ERROR(cudaErrorInvalidValue, cudaEventCreateWithFlags(&event, 0x800));
  cudaGetLastError();
  EXPECT(std::strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue") == 0);
  EXPECT(std::strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory") == 0);
  EXPECT(std::strcmp(cudaGetErrorString(static_cast<cudaError_t>(123456)), "unrecognized error code") == 0);

  // And the device still works.
  write<<<1, 256>>>(device, 77);
  CHECK(cudaGetLastError());
  check::equal("after", check::toHost(device, 256), std::vector<int>(256, 77));
  return check::done();
}
