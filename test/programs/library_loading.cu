// cudaLibraryLoadData of a PTX module written as text: kernels by name, their attributes, launches through cudaLaunchKernel and
// cudaLaunchKernelExC, globals; wrong names and broken modules give errors.
#include "check.h"

const char* const source = R"(
.version 7.0
.target sm_70
.address_size 64

.visible .global .align 4 .u32 bias = 1000;
.visible .const .align 4 .u32 factor = 3;

.visible .entry scale(.param .u64 data, .param .u32 n)
{
  .reg .pred %p<2>;
  .reg .b32 %r<10>;
  .reg .b64 %rd<5>;

  ld.param.u64 %rd1, [data];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra done;
  cvta.to.global.u64 %rd2, %rd1;
  mul.wide.u32 %rd3, %r5, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.u32 %r6, [%rd4];
  ld.const.u32 %r7, [factor];
  ld.global.u32 %r8, [bias];
  mad.lo.s32 %r9, %r6, %r7, %r8;
  st.global.u32 [%rd4], %r9;
done:
  ret;
}
)";

int main() {
  cudaLibrary_t library;
  CHECK(cudaLibraryLoadData(&library, source, nullptr, nullptr, 0, nullptr, nullptr, 0));
  unsigned kernels = 0;
  CHECK(cudaLibraryGetKernelCount(&kernels, library));
  EXPECT(kernels == 1);
  cudaKernel_t kernel;
  CHECK(cudaLibraryGetKernel(&kernel, library, "scale"));
  const int n = 1000;
  std::vector<unsigned> data(n), wanted(n);
  for (int i = 0; i < n; ++i) {
    data[i] = i * 17;
    wanted[i] = data[i] * 3 + 1000;
  }
  unsigned* device = check::toDevice(data);
  unsigned count = n;
  void* arguments[] = {&device, &count};
  CHECK(cudaLaunchKernel(reinterpret_cast<void*>(kernel), dim3(8), dim3(128), arguments, 0, 0));
  check::equal("launched", check::toHost(device, n), wanted);

  void* address;
  size_t bytes;
  CHECK(cudaLibraryGetGlobal(&address, &bytes, library, "bias"));
  EXPECT(bytes == 4);
  unsigned bias = 5;
  CHECK(cudaMemcpy(address, &bias, sizeof bias, cudaMemcpyHostToDevice));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(8);
  config.blockDim = dim3(128);
  config.stream = stream;
  CHECK(cudaLaunchKernelExC(&config, reinterpret_cast<void*>(kernel), arguments));
  CHECK(cudaStreamSynchronize(stream));
  for (unsigned& v : wanted) v = v * 3 + 5;
  check::equal("changed global", check::toHost(device, n), wanted);

  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, reinterpret_cast<void*>(kernel)));
  EXPECT(attributes.sharedSizeBytes == 0 && attributes.maxThreadsPerBlock >= 128);

  EXPECT_ERROR(cudaErrorSymbolNotFound, cudaLibraryGetKernel(&kernel, library, "scales"));
  EXPECT_ERROR(cudaErrorSymbolNotFound, cudaLibraryGetGlobal(&address, &bytes, library, "nothing"));
  cudaLibrary_t broken;
  const char* malformed = ".version 7.0\n.target sm_70\n.address_size 64\n.entry k()\n{\n  .reg .b32 %r1;\n  mov.u32 %r1,;\n}\n";
  cudaError_t error = cudaLibraryLoadData(&broken, malformed, nullptr, nullptr, 0, nullptr, nullptr, 0);
  // With lazy loading the text is looked at when the kernel is first needed.
  if (error == cudaSuccess) error = cudaLibraryGetKernel(&kernel, broken, "k");
  if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, reinterpret_cast<void*>(kernel));
  EXPECT_ERROR(cudaErrorInvalidPtx, error);
  cudaGetLastError();
  CHECK(cudaLibraryUnload(library));
  return check::done();
}
