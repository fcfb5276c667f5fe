// nvcc: -cudart static
// NVIDIA's own runtime, linked into the program, finds the pool's libcuda.so.1 and looks functions up in it, but does not start on it: each call fails,
// nothing is pretended. On NVIDIA's driver the same program works.
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <cstdio>

__global__ void set(int* value) { *value = 7; }

// The pool's driver has no private tables and says so; NVIDIA's does not know this one.
bool throughRouse() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (driver == nullptr) return false;
  const auto tables = reinterpret_cast<decltype(&cuGetExportTable)>(dlsym(driver, "cuGetExportTable"));
  const CUuuid unknown = {};
  const void* table = nullptr;
  return tables != nullptr && tables(&table, &unknown) == CUDA_ERROR_NOT_SUPPORTED;
}

int main() {
  const bool rouse = throughRouse();
  int count = -1, value = 0, failures = 0;
  int* memory = nullptr;
  const auto expect = [&](bool condition, const char* what) {
    if (condition) return;
    std::printf("not so: %s\n", what);
    ++failures;
  };
  const cudaError_t counted = cudaGetDeviceCount(&count);
  const cudaError_t allocated = cudaMalloc(&memory, sizeof *memory);
  if (rouse) {
    expect(counted != cudaSuccess && count <= 0, "no devices");
    expect(allocated != cudaSuccess && memory == nullptr, "no memory");
    set<<<1, 1>>>(memory);
    expect(cudaGetLastError() != cudaSuccess, "no launches");
  } else {
    set<<<1, 1>>>(memory);
    expect(cudaMemcpy(&value, memory, sizeof value, cudaMemcpyDeviceToHost) == cudaSuccess && value == 7, "a kernel has run");
  }
  std::puts(failures == 0 ? "PASS" : "FAIL");
  return failures == 0 ? 0 : 1;
}
