// Pinned host memory used by kernels in place: mapped allocations, cudaHostGetDevicePointer, flags, host and device talking
// through it while a kernel runs, cudaHostRegister of ordinary memory, pointers inside pinned structures.
#include <sys/mman.h>

#include "check.h"

struct Node {
  int value;
  Node* next;
};

__global__ void square(const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * in[i];
}

__global__ void sumList(const Node* head, int* sum) {
  int s = 0;
  for (; head; head = head->next) s += head->value;
  *sum = s;
}

// The host answers each number with its double.
__global__ void converse(volatile int* question, volatile int* answer, int rounds, int* finished) {
  for (int r = 1; r <= rounds; ++r) {
    *question = r;
    __threadfence_system();
    while (*answer != 2 * r) {
    }
  }
  *finished = rounds;
}

int main() {
  const int n = 10000;
  int *in, *out, *deviceIn, *deviceOut;
  CHECK(cudaHostAlloc(&in, n * sizeof(int), cudaHostAllocMapped));
  CHECK(cudaHostAlloc(&out, n * sizeof(int), cudaHostAllocMapped | cudaHostAllocPortable));
  CHECK(cudaHostGetDevicePointer(&deviceIn, in, 0));
  CHECK(cudaHostGetDevicePointer(&deviceOut, out, 0));
  unsigned flags;
  CHECK(cudaHostGetFlags(&flags, out));
  EXPECT(flags & cudaHostAllocMapped);
  std::vector<int> wanted(n);
  for (int i = 0; i < n; ++i) wanted[i] = (in[i] = i - 5000) * (i - 5000);
  square<<<(n + 255) / 256, 256>>>(deviceIn, deviceOut, n);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  check::equal("mapped", out, wanted.data(), n);
  // an inner pointer, and unified addressing: the host pointer itself
  CHECK(cudaHostGetDevicePointer(&deviceIn, in + 100, 0));
  std::memset(out, 0, n * sizeof(int));
  square<<<1, 50>>>(deviceIn, out + 100, 50);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  check::equal("inner", out + 100, wanted.data() + 100, 50);

  Node* nodes;
  CHECK(cudaMallocHost(&nodes, 100 * sizeof(Node)));
  int expected = 0;
  for (int i = 0; i < 100; ++i) {
    nodes[i] = {i * 3, i < 99 ? &nodes[i + 1] : nullptr};
    expected += i * 3;
  }
  sumList<<<1, 1>>>(nodes, out);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  EXPECT(out[0] == expected);

  volatile int *question = in, *answer = in + 64;
  *question = *answer = 0;
  out[0] = 0;
  converse<<<1, 1>>>(in, in + 64, 50, out);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamQuery(0) == cudaErrorNotReady ? cudaSuccess : cudaErrorUnknown);  // also sends the kernel off where launches are batched
  for (int r = 1; r <= 50; ++r) {
    while (*question != r) {
    }
    *answer = 2 * r;
  }
  CHECK(cudaDeviceSynchronize());
  cudaGetLastError();
  EXPECT(out[0] == 50);

  // Ordinary memory, registered: used by asynchronous copies and by kernels.
  const size_t bytes = n * sizeof(int);
  int* own = static_cast<int*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (int i = 0; i < n; ++i) own[i] = i - 5000;
  CHECK(cudaHostRegister(own, bytes, cudaHostRegisterMapped));
  EXPECT_ERROR(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(own, bytes, 0));
  cudaGetLastError();
  int* registered;
  CHECK(cudaHostGetDevicePointer(&registered, own, 0));
  square<<<(n + 255) / 256, 256>>>(registered, out, n);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  check::equal("registered", out, wanted.data(), n);
  square<<<(n + 255) / 256, 256>>>(in, registered, n);  // in[0] and in[64] hold the end of the conversation
  CHECK(cudaDeviceSynchronize());
  int* device = check::deviceArray<int>(n);
  CHECK(cudaMemcpyAsync(device, own, bytes, cudaMemcpyHostToDevice));
  CHECK(cudaDeviceSynchronize());
  check::equal("written by the kernel", check::toHost(device, n - 200).data() + 150, wanted.data() + 150, n - 350);
  CHECK(cudaHostUnregister(own));
  EXPECT_ERROR(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(own));
  cudaGetLastError();
  EXPECT(own[300] == wanted[300]);  // still there, still the program's
  munmap(own, bytes);
  CHECK(cudaFreeHost(in));
  CHECK(cudaFreeHost(out));
  CHECK(cudaFreeHost(nodes));
  return check::done();
}
