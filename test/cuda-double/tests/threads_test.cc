// Several threads at once, as the CUDA device has them.
#include <thread>

#include "test/cuda-double/tests/bench.h"

using namespace rouse;
using namespace rouse::cuda_double_test;

TEST_CASE("threads work side by side, each with its stream, memory and mappings") {
  Bench bench;
  constexpr unsigned kThreads = 4, kRounds = 30;
  const CUkernel saxpy = bench.kernel("saxpy");
  std::vector<int> wrong(kThreads, -1);
  std::vector<std::thread> threads;
  for (unsigned index = 0; index < kThreads; ++index) {
    threads.emplace_back([&, index] {
      const cuda::Driver& cuda = driver();
      const auto properties = onDevice();
      const CUmemAccessDesc access{properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
      CUstream stream = nullptr;
      CUdeviceptr window = 0;
      int failed = cuda.cuCtxSetCurrent(bench.context) != CUDA_SUCCESS;
      failed += cuda.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0) != CUDA_SUCCESS;
      failed += cuda.cuMemAddressReserve(&window, 8 * kMiB, 0, 0, 0) != CUDA_SUCCESS;
      for (unsigned round = 0; round < kRounds; ++round) {
        CUmemGenericAllocationHandle handle = 0;
        const CUdeviceptr at = window + round % 4 * 2 * kMiB;
        failed += cuda.cuMemCreate(&handle, 2 * kMiB, &properties, 0) != CUDA_SUCCESS;
        failed += cuda.cuMemMap(at, 2 * kMiB, 0, handle, 0) != CUDA_SUCCESS;
        failed += cuda.cuMemSetAccess(at, 2 * kMiB, &access, 1) != CUDA_SUCCESS;
        std::vector<float> values(256, static_cast<float>(index * 1000 + round));
        failed += cuda.cuMemcpyHtoDAsync(at, values.data(), 1024, stream) != CUDA_SUCCESS;
        failed += cuda.cuMemcpyDtoDAsync(at + kMiB, at, 1024, stream) != CUDA_SUCCESS;
        float a = 2;
        CUdeviceptr x = at, y = at + kMiB;
        unsigned n = 256;
        failed += bench.launch(saxpy, 2, 128, {&a, &x, &y, &n}, stream) != CUDA_SUCCESS;
        failed += cuda.cuMemcpyDtoHAsync(values.data(), y, 1024, stream) != CUDA_SUCCESS;
        failed += values[255] != 3 * static_cast<float>(index * 1000 + round);
        failed += cuda.cuMemUnmap(at, 2 * kMiB) != CUDA_SUCCESS;
        failed += cuda.cuMemRelease(handle) != CUDA_SUCCESS;
      }
      failed += cuda.cuMemAddressFree(window, 8 * kMiB) != CUDA_SUCCESS;
      failed += cuda.cuStreamDestroy(stream) != CUDA_SUCCESS;
      wrong[index] = failed;
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(kThreads, 0));
}
