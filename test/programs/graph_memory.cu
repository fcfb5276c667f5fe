// Memory that graphs allocate and free: by nodes and by captures, freed inside, after the launch, or before the next one.
#include "check.h"

__global__ void iota(int* out, int n, int from) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = from + i;
}
__global__ void square(const int* in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * in[i];
}

constexpr int n = 20000, kBlock = 256, kGrid = (n + kBlock - 1) / kBlock;

std::uint64_t attribute(cudaGraphMemAttributeType which) {
  std::uint64_t value = 0;
  CHECK(cudaDeviceGetGraphMemAttribute(0, which, &value));
  return value;
}

void captured() {
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  int* result = check::deviceArray<int>(n);
  int *a = nullptr, *b = nullptr;
  cudaGraph_t graph;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaMallocAsync(&a, n * 4, stream));
  CHECK(cudaMallocAsync(&b, n * 4, stream));
  iota<<<kGrid, kBlock, 0, stream>>>(a, n, 3);
  square<<<kGrid, kBlock, 0, stream>>>(a, b, n);
  CHECK(cudaMemcpyAsync(result, b, n * 4, cudaMemcpyDeviceToDevice, stream));
  CHECK(cudaFreeAsync(a, stream));
  CHECK(cudaFreeAsync(b, stream));
  CHECK(cudaStreamEndCapture(stream, &graph));
  EXPECT(a != b && a != nullptr);
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int launch = 0; launch < 3; ++launch) CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaStreamSynchronize(stream));
  const auto got = check::toHost(result, n);
  for (int i = 0; i < n; ++i) EXPECT(got[i] == (3 + i) * (3 + i));
  // How much is counted, and until when, is the device's affair: it reserves more than is asked for, and keeps it until it is told to trim.
  EXPECT(attribute(cudaGraphMemAttrUsedMemHigh) >= n * 8);
  if (check::throughRouse()) EXPECT(attribute(cudaGraphMemAttrUsedMemCurrent) == 0 && attribute(cudaGraphMemAttrUsedMemHigh) == n * 8);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  if (check::throughRouse()) EXPECT(attribute(cudaGraphMemAttrReservedMemCurrent) == 0);
  CHECK(cudaDeviceGraphMemTrim(0));
  EXPECT(attribute(cudaGraphMemAttrReservedMemCurrent) == 0);
  CHECK(cudaFree(result));
  CHECK(cudaStreamDestroy(stream));
}

// Allocated by one graph, used by another, freed by the program or by a third.
void across() {
  cudaMemAllocNodeParams alloc{};
  alloc.poolProps.allocType = cudaMemAllocationTypePinned;
  alloc.poolProps.location.type = cudaMemLocationTypeDevice;
  alloc.poolProps.location.id = 0;
  alloc.bytesize = n * 4;
  cudaGraph_t makes, uses, frees;
  for (cudaGraph_t* graph : {&makes, &uses, &frees}) CHECK(cudaGraphCreate(graph, 0));
  cudaGraphNode_t allocated, filled, copied, freed;
  CHECK(cudaGraphAddMemAllocNode(&allocated, makes, nullptr, 0, &alloc));
  int *memory = static_cast<int*>(alloc.dptr), size = n, from = 100;
  EXPECT(memory != nullptr);
  void* arguments[] = {&memory, &size, &from};
  cudaKernelNodeParams kernel{};
  kernel.func = (void*)iota;
  kernel.gridDim = kGrid;
  kernel.blockDim = kBlock;
  kernel.kernelParams = arguments;
  CHECK(cudaGraphAddKernelNode(&filled, makes, &allocated, 1, &kernel));
  std::vector<int> host(n);
  CHECK(cudaGraphAddMemcpyNode1D(&copied, uses, nullptr, 0, host.data(), memory, n * 4, cudaMemcpyDeviceToHost));
  CHECK(cudaGraphAddMemFreeNode(&freed, frees, nullptr, 0, memory));
  cudaGraphExec_t make, make2, use, release;
  CHECK(cudaGraphInstantiate(&make, makes, 0));
  // One instance at a time of a graph with such nodes.
  EXPECT_ERROR(cudaErrorNotSupported, cudaGraphInstantiate(&make2, makes, cudaGraphInstantiateFlagAutoFreeOnLaunch));
  cudaGetLastError();
  CHECK(cudaGraphInstantiate(&use, uses, 0));
  CHECK(cudaGraphInstantiate(&release, frees, 0));
  CHECK(cudaGraphLaunch(make, 0));
  CHECK(cudaDeviceSynchronize());
  EXPECT(attribute(cudaGraphMemAttrUsedMemCurrent) >= n * 4);
  if (check::throughRouse()) EXPECT(attribute(cudaGraphMemAttrUsedMemCurrent) == n * 4);
  EXPECT_ERROR(cudaErrorInvalidValue, cudaGraphLaunch(make, 0));  // not freed yet
  cudaGetLastError();
  CHECK(cudaGraphLaunch(use, 0));
  CHECK(cudaDeviceSynchronize());
  EXPECT(host[0] == 100 && host[n - 1] == 99 + n);
  CHECK(cudaGraphLaunch(release, 0));
  CHECK(cudaGraphLaunch(make, 0));
  CHECK(cudaFreeAsync(memory, 0));
  if (check::throughRouse()) EXPECT_ERROR(cudaErrorInvalidValue, cudaFree(memory));
  cudaGetLastError();
  CHECK(cudaGraphLaunch(make, 0));
  CHECK(cudaFree(memory));
  CHECK(cudaGraphExecDestroy(make));
  CHECK(cudaGraphInstantiate(&make2, makes, cudaGraphInstantiateFlagAutoFreeOnLaunch));
  CHECK(cudaGraphLaunch(make2, 0));
  CHECK(cudaGraphLaunch(make2, 0));
  CHECK(cudaDeviceSynchronize());
  for (cudaGraphExec_t exec : {make2, use, release}) CHECK(cudaGraphExecDestroy(exec));
  for (cudaGraph_t graph : {makes, uses, frees}) CHECK(cudaGraphDestroy(graph));
  // What is allocated outlives the graph.
  CHECK(cudaMemcpy(host.data(), memory, n * 4, cudaMemcpyDeviceToHost));
  EXPECT(host[7] == 107);
  CHECK(cudaFree(memory));
  CHECK(cudaDeviceGraphMemTrim(0));
  EXPECT(attribute(cudaGraphMemAttrUsedMemCurrent) == 0 && attribute(cudaGraphMemAttrReservedMemCurrent) == 0);
}

int main() {
  captured();
  across();
  return check::done();
}
