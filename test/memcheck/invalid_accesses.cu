// One invalid access, or none, by name: what `rouse run --check` is to find. Most go unnoticed without it.
// Ends with 0 if no call has returned an error, else with 1.
#include <cuda_pipeline.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>

namespace {

constexpr int kCount = 100;

int failures = 0;

void ok(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::printf("%s\n", cudaGetErrorName(error));
  failures = 1;
}

__global__ void put(int* to, int index) { to[index + int(threadIdx.x)] = 7; }  // put
__global__ void get(int* to, const int* from, int index) { *to = from[index]; }  // get
__global__ void add(int* to, int index) { atomicAdd(&to[index], 1); }  // add
__global__ void getVector(int4* to, const int4* from, int index) { *to = from[index]; }  // getVector
__global__ void getBytes(int* to, const char* from, int offset) { *to = *reinterpret_cast<const int*>(from + offset); }  // getBytes

__global__ void staticShared(int* to, int index) {
  __shared__ int values[32];
  values[threadIdx.x] = threadIdx.x;
  __syncthreads();
  to[threadIdx.x] = values[threadIdx.x + index];  // staticShared
}

__global__ void dynamicShared(int* to, int index) {
  extern __shared__ int values[];
  values[threadIdx.x + index] = threadIdx.x;  // dynamicShared
  __syncthreads();
  to[threadIdx.x] = values[threadIdx.x];
}

__global__ void local(int* to, int count, int index) {
  int values[8];
  for (int i = 0; i < count; ++i) values[i] = i * count;
  *to = values[index];  // local
}

__device__ __noinline__ int sum(const int* values, int count) {
  int total = 0;
  for (int i = 0; i < count; ++i) total += values[i];  // sum
  return total;
}

// Generic addresses of memory of all kinds.
__global__ void sums(int* to, const int* global, int globals, int locals, int shared) {
  __shared__ int inShared[16];
  int inLocal[8];
  for (int i = 0; i < 8; ++i) inLocal[i] = i;
  for (int i = threadIdx.x; i < 16; i += blockDim.x) inShared[i] = i;
  __syncthreads();
  to[threadIdx.x] = sum(global, globals) + sum(inLocal, locals) + sum(inShared, shared);
}

__device__ int table[16];
__constant__ int constants[4] = {1, 2, 3, 4};

__global__ void variables(int* to, int index, int constantIndex) { *to = table[index] + constants[constantIndex]; }  // variables

__global__ void heap(int* to, int index, bool freed) {
  int* const block = static_cast<int*>(malloc(6 * sizeof(int)));
  for (int i = 0; i < 6; ++i) block[i] = i;
  if (freed) free(block);
  *to = block[index];  // heap
  if (!freed) free(block);
}

__global__ void copyAsync(int* to, const int* from, int index) {
  __shared__ int values[32];
  __pipeline_memcpy_async(&values[threadIdx.x], &from[threadIdx.x + index], sizeof(int));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  to[threadIdx.x] = values[threadIdx.x];
}

__global__ void fetch(int* to, cudaTextureObject_t texture, int index) { *to = tex1Dfetch<int>(texture, index); }

using Function = int (*)(const int*, int);
__device__ __noinline__ int last(const int* values, int count) { return values[count - 1]; }  // last
__device__ Function functions[2] = {sum, last};
__global__ void callThrough(int* to, const int* from, int which, int count) { *to = functions[which](from, count); }

// Others go on, and one waits for all at a barrier, when a thread has ended.
__global__ void meet(int* to, const int* from, int count) {
  __shared__ int all;
  if (threadIdx.x == 0) all = 0;
  __syncthreads();
  atomicAdd(&all, from[threadIdx.x]);  // meet
  __syncthreads();
  if (threadIdx.x == 0) *to = all + count;
}

struct Buffers {
  int *a = nullptr, *b = nullptr;
  Buffers() {
    ok(cudaMalloc(&a, kCount * sizeof(int)));
    ok(cudaMalloc(&b, kCount * sizeof(int)));
    ok(cudaMemset(a, 0, kCount * sizeof(int)));
    ok(cudaMemset(b, 0, kCount * sizeof(int)));
  }
  void end() {
    ok(cudaDeviceSynchronize());
    if (failures != 0) return;
    ok(cudaFree(a));
    ok(cudaFree(b));
  }
};

void texture(bool freed) {
  Buffers m;
  int* memory = nullptr;
  ok(cudaMalloc(&memory, kCount * sizeof(int)));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = memory;
  resource.res.linear.desc = cudaCreateChannelDesc<int>();
  resource.res.linear.sizeInBytes = kCount * sizeof(int);
  cudaTextureDesc description{};
  cudaTextureObject_t object = 0;
  ok(cudaCreateTextureObject(&object, &resource, &description, nullptr));
  if (freed) ok(cudaFree(memory));
  fetch<<<1, 1>>>(m.a, object, kCount - 1);
  ok(cudaDeviceSynchronize());
  if (failures != 0) return;
  ok(cudaDestroyTextureObject(object));
  if (!freed) ok(cudaFree(memory));
  m.end();
}

void pool(bool freed) {
  Buffers m;
  int* memory = nullptr;
  ok(cudaMallocAsync(&memory, kCount * sizeof(int), nullptr));
  if (freed) ok(cudaFreeAsync(memory, nullptr));
  put<<<1, 1>>>(memory, kCount - 1);
  if (!freed) ok(cudaFreeAsync(memory, nullptr));
  m.end();
}

const std::map<std::string, std::function<void()>> cases = {
    {"beyond", [] { Buffers m; put<<<1, 1>>>(m.a, kCount); m.end(); }},
    {"before", [] { Buffers m; put<<<1, 1>>>(m.b, -1); m.end(); }},
    {"read", [] { Buffers m; get<<<1, 1>>>(m.a, m.b, kCount + 2); m.end(); }},
    {"freed", [] { Buffers m; int* c; ok(cudaMalloc(&c, 400)); ok(cudaFree(c)); get<<<1, 1>>>(m.a, c, 3); m.end(); }},
    {"reused", [] { Buffers m; int *c, *d; ok(cudaMalloc(&c, 400)); ok(cudaFree(c)); ok(cudaMalloc(&d, 400)); get<<<1, 1>>>(m.a, c, 3); m.end(); ok(cudaFree(d)); }},
    {"null", [] { Buffers m; get<<<1, 1>>>(m.a, nullptr, 0); m.end(); }},
    {"misaligned", [] { Buffers m; getBytes<<<1, 1>>>(m.a, reinterpret_cast<const char*>(m.b), 6); m.end(); }},
    {"atomic", [] { Buffers m; add<<<1, 1>>>(m.a, kCount); m.end(); }},
    {"vector", [] { Buffers m; int4* c; ok(cudaMalloc(&c, 392)); getVector<<<1, 1>>>(reinterpret_cast<int4*>(m.a), c, 24); m.end(); }},
    {"static-shared", [] { Buffers m; staticShared<<<1, 32>>>(m.a, 1); m.end(); }},
    {"dynamic-shared", [] { Buffers m; dynamicShared<<<2, 32, 32 * sizeof(int)>>>(m.a, 2); m.end(); }},
    {"local", [] { Buffers m; local<<<1, 1>>>(m.a, 8, 8); m.end(); }},
    {"generic-global", [] { Buffers m; sums<<<1, 1>>>(m.a, m.b, kCount + 1, 8, 16); m.end(); }},
    {"generic-local", [] { Buffers m; sums<<<1, 1>>>(m.a, m.b, kCount, 9, 16); m.end(); }},
    {"generic-shared", [] { Buffers m; sums<<<1, 1>>>(m.a, m.b, kCount, 8, 17); m.end(); }},
    {"variable", [] { Buffers m; variables<<<1, 1>>>(m.a, 16, 0); m.end(); }},
    {"constant", [] { Buffers m; variables<<<1, 1>>>(m.a, 0, 4); m.end(); }},
    {"heap", [] { Buffers m; heap<<<1, 1>>>(m.a, 6, false); m.end(); }},
    {"heap-freed", [] { Buffers m; heap<<<1, 1>>>(m.a, 0, true); m.end(); }},
    {"async", [] { Buffers m; copyAsync<<<1, 32>>>(m.a, m.b, kCount - 31); m.end(); }},
    {"pinned", [] { Buffers m; int* c; ok(cudaMallocHost(&c, 400)); put<<<1, 1>>>(c, kCount); m.end(); }},
    {"managed", [] { Buffers m; int* c; ok(cudaMallocManaged(&c, 400)); put<<<1, 1>>>(c, kCount); m.end(); }},
    {"pool", [] { pool(true); }},
    {"texture", [] { texture(true); }},
    {"pointer", [] { Buffers m; callThrough<<<1, 1>>>(m.a, m.b, 1, kCount + 1); m.end(); }},
    {"barrier", [] { Buffers m; int* c; ok(cudaMalloc(&c, 63 * sizeof(int))); meet<<<1, 64>>>(m.a, c, 0); m.end(); }},
    {"many", [] { Buffers m; put<<<8, 128>>>(m.a, kCount); m.end(); }},
    {"api", [] { Buffers m; (void)cudaMemcpy(m.a, m.b, 4 * kCount + 4096, cudaMemcpyDeviceToDevice); (void)cudaFree(m.a + 1); m.end(); }},
    {"leak", [] { int *c, *d; ok(cudaMalloc(&c, 1000)); ok(cudaMallocManaged(&d, 24)); Buffers m; m.end(); }},
    {"reset", [] { int* c; ok(cudaMalloc(&c, 1000)); ok(cudaDeviceReset()); Buffers m; put<<<1, 1>>>(m.a, kCount - 1); m.end(); }},
    // All of that as it should be, up to the last byte.
    {"correct", [] {
       Buffers m;
       put<<<1, kCount>>>(m.a, 0);
       get<<<1, 1>>>(m.a, m.b, kCount - 1);
       add<<<1, 1>>>(m.a, kCount - 1);
       int4* c;
       ok(cudaMalloc(&c, 400));
       getVector<<<1, 1>>>(reinterpret_cast<int4*>(m.a), c, 24);
       getBytes<<<1, 1>>>(m.a, reinterpret_cast<const char*>(m.b), 396);
       staticShared<<<2, 32>>>(m.a, 0);
       dynamicShared<<<2, 32, 32 * sizeof(int)>>>(m.a, 0);
       local<<<1, 1>>>(m.a, 8, 7);
       sums<<<2, 4>>>(m.a, m.b, kCount, 8, 16);
       variables<<<1, 1>>>(m.a, 15, 3);
       heap<<<4, 32>>>(m.a, 5, false);
       copyAsync<<<1, 32>>>(m.a, m.b, kCount - 32);
       callThrough<<<1, 1>>>(m.a, m.b, 0, kCount);
       callThrough<<<1, 1>>>(m.a, m.b, 1, kCount);
       meet<<<1, 64>>>(m.a, m.b, 0);
       int *host, *managed, *address;
       ok(cudaMallocHost(&host, 400));
       ok(cudaMallocManaged(&managed, 400));
       put<<<1, kCount>>>(host, 0);
       put<<<1, kCount>>>(managed, 0);
       ok(cudaGetSymbolAddress(reinterpret_cast<void**>(&address), table));
       put<<<1, 16>>>(address, 0);
       static int pages[4096];
       ok(cudaHostRegister(pages, sizeof pages, cudaHostRegisterMapped));
       ok(cudaHostGetDevicePointer(reinterpret_cast<void**>(&address), pages, 0));
       put<<<4, 1024>>>(address, 0);
       put<<<1, 1>>>(address, 4095);
       ok(cudaDeviceSynchronize());
       ok(cudaHostUnregister(pages));
       pool(false);
       texture(false);
       ok(cudaFreeHost(host));
       ok(cudaFree(managed));
       ok(cudaFree(c));
       m.end();
     }}};

}  // namespace

int main(int argc, char** argv) {
  const auto chosen = argc == 2 ? cases.find(argv[1]) : cases.end();
  if (chosen == cases.end()) {
    for (const auto& each : cases) std::printf("%s\n", each.first.c_str());
    return 2;
  }
  chosen->second();
  std::printf("%s\n", failures == 0 ? "PASS" : "FAILED");
  return failures;
}
