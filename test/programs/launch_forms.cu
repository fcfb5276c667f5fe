// Every way to launch: <<<>>> with all four arguments, cudaLaunchKernel with an argument array, typed cudaLaunchKernel, cudaLaunchKernelEx with
// attributes, kernels chosen at run time through pointers, templates over kernels, function attributes, cache preferences, static kernels of
// the same name.
#include "check.h"

__global__ void fill(int* out, int n, int value) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = value + i;
}

__global__ void fillBackwards(int* out, int n, int value) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[n - 1 - i] = value + i;
}

namespace {
__global__ void hidden(int* out) { out[threadIdx.x] = 11; }
}  // namespace
namespace other {
static __global__ void hidden(int* out) { out[threadIdx.x] = 22; }
}  // namespace other

template <auto kKernel, class... T>
void launch(int blocks, int threads, T... arguments) {
  kKernel<<<blocks, threads>>>(arguments...);
  CHECK(cudaGetLastError());
}

template <int kStep, class T>
__global__ void strided(T* out, int n) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) * kStep;
  if (i < n) out[i] = T(i) / T(2);
}

__global__ void nothing() {}

int main() {
  int n = 1000, value = 5;
  int* out = check::deviceArray<int>(n);
  std::vector<int> wanted(n);
  auto expect = [&](const char* name, int start, bool backwards) {
    for (int i = 0; i < n; ++i) wanted[backwards ? n - 1 - i : i] = start + i;
    check::equal(name, check::toHost(out, n), wanted);
    CHECK(cudaMemset(out, 0xff, n * sizeof(int)));
  };
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  fill<<<dim3(8, 1, 1), dim3(128, 1, 1), 256, stream>>>(out, n, 1);
  expect("four arguments", 1, false);
  void* arguments[] = {&out, &n, &value};
  CHECK(cudaLaunchKernel(reinterpret_cast<const void*>(&fill), dim3(10), dim3(100), arguments, 0, stream));
  expect("array", 5, false);
  CHECK(cudaLaunchKernel(fill, dim3(10), dim3(100), arguments, 0, nullptr));
  expect("typed", 5, false);
  cudaLaunchConfig_t config = {};
  config.gridDim = 8;
  config.blockDim = 128;
  config.stream = stream;
  cudaLaunchAttribute attributes[1];
  attributes[0].id = cudaLaunchAttributeCooperative;
  attributes[0].val.cooperative = 1;
  config.attrs = attributes;
  config.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&config, fillBackwards, out, n, 70));
  expect("extended", 70, true);
  void (*chosen[])(int*, int, int) = {fill, fillBackwards};
  for (int k = 0; k < 4; ++k) {
    chosen[k % 2]<<<8, 128>>>(out, n, k);
    CHECK(cudaGetLastError());
    expect("pointer", k, k % 2);
  }
  launch<fill>(4, 256, out, n, 9);
  expect("template", 9, false);
  hidden<<<1, 4>>>(out);
  other::hidden<<<1, 4>>>(out + 4);
  CHECK(cudaGetLastError());
  check::equal("same name", check::toHost(out, 8), std::vector<int>{11, 11, 11, 11, 22, 22, 22, 22});

  float* floats = check::deviceArray<float>(n);
  double* doubles = check::deviceArray<double>(n);
  CHECK(cudaMemset(floats, 0, n * sizeof(float)));
  CHECK(cudaMemset(doubles, 0, n * sizeof(double)));
  strided<3><<<4, 100>>>(floats, n);
  strided<1><<<10, 100>>>(doubles, n);
  CHECK(cudaGetLastError());
  std::vector<float> f(n);
  std::vector<double> d(n);
  for (int i = 0; i < n; ++i) {
    if (i % 3 == 0) f[i] = float(i) / 2;
    d[i] = i / 2.0;
  }
  check::equal("float", check::toHost(floats, n), f);
  check::equal("double", check::toHost(doubles, n), d);

  cudaFuncAttributes a;
  CHECK(cudaFuncGetAttributes(&a, fill));
  EXPECT(a.maxThreadsPerBlock > 0 && a.ptxVersion >= 75 && a.binaryVersion >= 75);
  CHECK(cudaFuncSetCacheConfig(fill, cudaFuncCachePreferShared));
  CHECK(cudaFuncSetAttribute(fill, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
  // What is no kernel's address could be a handle (cudaKernel_t), and is none.
  EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaFuncGetAttributes(&a, reinterpret_cast<const void*>(&value)));
  EXPECT_ERROR(cudaErrorInvalidResourceHandle, cudaLaunchKernel(reinterpret_cast<const void*>(&value), dim3(1), dim3(1), arguments, 0, nullptr));
  cudaGetLastError();
  nothing<<<1000, 1>>>();
  nothing<<<dim3(3, 4, 5), dim3(2, 3, 4)>>>();
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  return check::done();
}
