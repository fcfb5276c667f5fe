// What a program can ask: properties and attributes that agree, versions, memory info that moves with allocations, pointer attributes of every
// kind of pointer, limits, stream and event flags, UUIDs, PCI identifiers.
// alone
#include "settled_memory.h"

__device__ int variable;

int main() {
  int driver = 0, runtime = 0, count = 0;
  CHECK(cudaDriverGetVersion(&driver));
  CHECK(cudaRuntimeGetVersion(&runtime));
  EXPECT(runtime / 1000 == CUDART_VERSION / 1000);
  EXPECT(driver >= runtime);
  CHECK(cudaGetDeviceCount(&count));
  EXPECT(count >= 1);

  cudaDeviceProp p;
  CHECK(cudaGetDeviceProperties(&p, 0));
  auto attribute = [](cudaDeviceAttr a) {
    int value = -1;
    CHECK(cudaDeviceGetAttribute(&value, a, 0));
    return value;
  };
  EXPECT(attribute(cudaDevAttrWarpSize) == 32 && p.warpSize == 32);
  EXPECT(attribute(cudaDevAttrMaxThreadsPerBlock) == p.maxThreadsPerBlock && p.maxThreadsPerBlock == 1024);
  EXPECT(attribute(cudaDevAttrMaxBlockDimX) == p.maxThreadsDim[0] && attribute(cudaDevAttrMaxBlockDimZ) == p.maxThreadsDim[2]);
  EXPECT(attribute(cudaDevAttrMaxGridDimX) == p.maxGridSize[0] && p.maxGridSize[0] == 2147483647 && p.maxGridSize[1] == 65535);
  EXPECT(attribute(cudaDevAttrMaxSharedMemoryPerBlock) == int(p.sharedMemPerBlock));
  EXPECT(attribute(cudaDevAttrMultiProcessorCount) == p.multiProcessorCount && p.multiProcessorCount > 0);
  EXPECT(attribute(cudaDevAttrComputeCapabilityMajor) == p.major && attribute(cudaDevAttrComputeCapabilityMinor) == p.minor);
  EXPECT(p.major * 10 + p.minor >= 75);
  EXPECT(attribute(cudaDevAttrUnifiedAddressing) == 1 && p.unifiedAddressing == 1);
  EXPECT(attribute(cudaDevAttrMaxRegistersPerBlock) == p.regsPerBlock);
  EXPECT(attribute(cudaDevAttrTotalConstantMemory) == int(p.totalConstMem) && p.totalConstMem == 65536);
  EXPECT(attribute(cudaDevAttrCanMapHostMemory) == 1);
  EXPECT(p.totalGlobalMem > 0 && std::strlen(p.name) > 0 && std::strlen(p.name) < sizeof p.name);
  char bus[32] = {};
  CHECK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
  int device = -1;
  CHECK(cudaDeviceGetByPCIBusId(&device, bus));
  EXPECT(device == 0);
  bool nonzero = false;
  for (char c : p.uuid.bytes) nonzero |= c != 0;
  EXPECT(nonzero);

  size_t before = 0, total = 0, after = 0;
  CHECK(cudaMemGetInfo(&before, &total));
  before = check::settledFreeBytes();
  EXPECT(before <= total && total <= p.totalGlobalMem);
  char* block;
  CHECK(cudaMalloc(&block, 40 << 20));
  CHECK(cudaMemGetInfo(&after, &total));
  EXPECT(after + (40 << 20) <= before + (2 << 20));
  char *pinned, *managed, *pageable = static_cast<char*>(std::malloc(100));
  CHECK(cudaMallocHost(&pinned, 100000));
  CHECK(cudaMallocManaged(&managed, 100000));
  cudaPointerAttributes a;
  CHECK(cudaPointerGetAttributes(&a, block + 12345));
  EXPECT(a.type == cudaMemoryTypeDevice && a.device == 0 && a.devicePointer == block + 12345 && a.hostPointer == nullptr);
  CHECK(cudaPointerGetAttributes(&a, pinned + 5));
  EXPECT(a.type == cudaMemoryTypeHost && a.hostPointer == pinned + 5 && a.devicePointer != nullptr);
  CHECK(cudaPointerGetAttributes(&a, managed + 5));
  EXPECT(a.type == cudaMemoryTypeManaged);
  CHECK(cudaPointerGetAttributes(&a, pageable));
  EXPECT(a.type == cudaMemoryTypeUnregistered && a.devicePointer == nullptr);
  void* symbol;
  CHECK(cudaGetSymbolAddress(&symbol, variable));
  CHECK(cudaPointerGetAttributes(&a, symbol));
  EXPECT(a.type == cudaMemoryTypeDevice);
  CHECK(cudaFree(block));
  CHECK(cudaMemGetInfo(&after, &total));
  if (check::throughRouse()) EXPECT(after + (8 << 20) >= before);  // pinned memory, managed memory and the module may have taken a little
  CHECK(cudaFreeHost(pinned));
  CHECK(cudaFree(managed));
  std::free(pageable);

  size_t limit = 0;
  CHECK(cudaDeviceGetLimit(&limit, cudaLimitPrintfFifoSize));
  EXPECT(limit >= 4096);
  CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 3000));
  CHECK(cudaDeviceGetLimit(&limit, cudaLimitStackSize));
  EXPECT(limit >= 3000);
  cudaStream_t stream;
  unsigned flags = 99;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamGetFlags(stream, &flags));
  EXPECT(flags == cudaStreamDefault);
  unsigned long long id = 0, other = 0;
  CHECK(cudaStreamGetId(stream, &id));
  CHECK(cudaStreamGetId(0, &other));
  EXPECT(id != other);
  cudaGetLastError();
  return check::done();
}
