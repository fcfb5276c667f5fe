// Kernels from a fatbin: their descriptions, their variables, their work, their faults.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>

#include "test/cuda-double/tests/bench.h"

using namespace rouse;
using namespace rouse::cuda_double_test;

TEST_CASE("a kernel computes what it should") {
  Bench bench;
  const CUdeviceptr x = bench.allocate(2 * kMiB), y = bench.allocate(2 * kMiB);
  std::vector<float> values(1000), result(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  REQUIRE(driver().cuMemcpyHtoDAsync(x, values.data(), 4000, bench.stream) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemcpyHtoDAsync(y, values.data(), 4000, bench.stream) == CUDA_SUCCESS);
  float a = 2;
  unsigned n = 1000;
  CUdeviceptr px = x, py = y;
  REQUIRE(bench.launch(bench.kernel("saxpy"), 4, 256, {&a, &px, &py, &n}) == CUDA_SUCCESS);
  a = 100;  // parameters were read
  REQUIRE(driver().cuMemcpyDtoHAsync(result.data(), y, 4000, bench.stream) == CUDA_SUCCESS);
  CHECK(result[0] == 0);
  CHECK(result[999] == 2997);

  SECTION("also from a buffer of parameters, and as a function of a module") {
    CUfunction function = nullptr;
    REQUIRE(driver().cuKernelGetFunction(&function, bench.kernel("saxpy")) == CUDA_SUCCESS);
    struct {
      float a;
      CUdeviceptr x, y;
      unsigned n;
    } block{1, x, y, 1000};
    std::size_t size = offsetof(decltype(block), n) + sizeof block.n;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    REQUIRE(driver().cuLaunchKernel(function, 4, 1, 1, 256, 1, 1, 0, bench.stream, nullptr, extra) == CUDA_SUCCESS);
    REQUIRE(driver().cuMemcpyDtoHAsync(result.data(), y, 4000, bench.stream) == CUDA_SUCCESS);
    CHECK(result[999] == 3996);
  }
}

TEST_CASE("kernels are described") {
  Bench bench;
  unsigned count = 0;
  REQUIRE(driver().cuLibraryGetKernelCount(&count, bench.library()) == CUDA_SUCCESS);
  REQUIRE(count > 5);
  std::vector<CUkernel> kernels(count);
  REQUIRE(driver().cuLibraryEnumerateKernels(kernels.data(), count, bench.library()) == CUDA_SUCCESS);
  bool found = false;
  for (const CUkernel kernel : kernels) {
    const char* name = nullptr;
    REQUIRE(driver().cuKernelGetName(&name, kernel) == CUDA_SUCCESS);
    found |= std::string(name) == "saxpy" && kernel == bench.kernel("saxpy");
  }
  CHECK(found);
  std::size_t offset = 0, size = 0;
  REQUIRE(driver().cuKernelGetParamInfo(bench.kernel("saxpy"), 1, &offset, &size) == CUDA_SUCCESS);
  CHECK(offset == 8);
  CHECK(size == 8);
  CHECK(driver().cuKernelGetParamInfo(bench.kernel("saxpy"), 4, &offset, &size) == CUDA_ERROR_INVALID_VALUE);
  int value = 0;
  REQUIRE(driver().cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, bench.kernel("saxpy"), 0) ==
          CUDA_SUCCESS);
  CHECK(value == 1024);
  CUkernel none = nullptr;
  CHECK(driver().cuLibraryGetKernel(&none, bench.library(), "nothing") == CUDA_ERROR_NOT_FOUND);
}

TEST_CASE("shared memory beyond the default is to be asked for first") {
  Bench bench;
  const CUkernel kernel = bench.kernel("blockSum");
  const CUdeviceptr memory = bench.allocate(2 * kMiB);
  const auto launch = [&] {
    CUlaunchConfig config{1, 1, 1, 32, 1, 1, 60 << 10, bench.stream, nullptr, 0};
    CUdeviceptr in = memory, out = memory;
    void* parameters[] = {&in, &out};
    return driver().cuLaunchKernelEx(&config, reinterpret_cast<CUfunction>(kernel), parameters, nullptr);
  };
  CHECK(launch() == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(driver().cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60 << 10, kernel, 0) ==
          CUDA_SUCCESS);
  CHECK(launch() == CUDA_SUCCESS);
  bench.finish();
}

TEST_CASE("a cooperative grid is refused at the call unless all of it fits") {
  Bench bench;
  unsigned rounds = 1;
  CUdeviceptr counters = bench.allocate(2 * kMiB);
  REQUIRE(driver().cuMemsetD8Async(counters, 0, 64, bench.stream) == CUDA_SUCCESS);
  const auto launch = [&](unsigned blocks) {
    CUlaunchAttribute cooperative{};
    cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    cooperative.value.cooperative = 1;
    CUlaunchConfig config{blocks, 1, 1, 1024, 1, 1, 0, bench.stream, &cooperative, 1};
    void* parameters[] = {&counters, &rounds};
    return driver().cuLaunchKernelEx(&config, reinterpret_cast<CUfunction>(bench.kernel("gridSync")), parameters,
                                     nullptr);
  };
  int multiprocessors = 0;
  REQUIRE(driver().cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0) == CUDA_SUCCESS);
  const unsigned most = 2 * static_cast<unsigned>(multiprocessors);  // 2048 threads each
  CHECK(launch(most + 1) == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
  CHECK(launch(most) == CUDA_SUCCESS);
  bench.finish();
  unsigned met = 0;
  REQUIRE(driver().cuMemcpyDtoHAsync(&met, counters, 4, bench.stream) == CUDA_SUCCESS);
  CHECK(met == most);
}

TEST_CASE("variables lie where the driver put them, with their values") {
  Bench bench;
  CUdeviceptr counter = 0, table = 0;
  std::size_t bytes = 0;
  REQUIRE(driver().cuLibraryGetGlobal(&counter, &bytes, bench.library(), "counter") == CUDA_SUCCESS);
  CHECK(bytes == 4);
  REQUIRE(driver().cuLibraryGetGlobal(&table, nullptr, bench.library(), "table") == CUDA_SUCCESS);
  CHECK(table != counter);
  CHECK(driver().cuLibraryGetGlobal(&table, nullptr, bench.library(), "nothing") == CUDA_ERROR_NOT_FOUND);
  int value = 0;
  REQUIRE(driver().cuMemcpyDtoHAsync(&value, counter, 4, bench.stream) == CUDA_SUCCESS);
  CHECK(value == 41);
  value = 70;
  REQUIRE(driver().cuMemcpyHtoDAsync(counter, &value, 4, bench.stream) == CUDA_SUCCESS);
  CUdeviceptr out = bench.allocate(2 * kMiB);
  REQUIRE(bench.launch(bench.kernel("variables"), 1, 1, {&out}) == CUDA_SUCCESS);
  float seen[7] = {};
  REQUIRE(driver().cuMemcpyDtoHAsync(seen, out, sizeof seen, bench.stream) == CUDA_SUCCESS);
  CHECK(seen[0] == 70);
  CHECK(seen[4] == 1000);
  CHECK(seen[5] == 5);
  CHECK(seen[6] == 0);
  REQUIRE(driver().cuMemcpyDtoHAsync(&value, counter, 4, bench.stream) == CUDA_SUCCESS);
  CHECK(value == 71);
}

TEST_CASE("a module belongs to its context and can be loaded twice") {
  Bench bench;
  std::string ptx =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .global .align 4 .u32 here = 3;\n"
      ".visible .entry nothing()\n{\nret;\n}\n";
  CUmodule first = nullptr, second = nullptr;
  REQUIRE(driver().cuModuleLoadDataEx(&first, ptx.c_str(), 0, nullptr, nullptr) == CUDA_SUCCESS);
  REQUIRE(driver().cuModuleLoadDataEx(&second, ptx.c_str(), 0, nullptr, nullptr) == CUDA_SUCCESS);
  CUdeviceptr one = 0, two = 0;
  REQUIRE(driver().cuModuleGetGlobal(&one, nullptr, first, "here") == CUDA_SUCCESS);
  REQUIRE(driver().cuModuleGetGlobal(&two, nullptr, second, "here") == CUDA_SUCCESS);
  CHECK(one != two);
  unsigned count = 0;
  REQUIRE(driver().cuModuleGetFunctionCount(&count, first) == CUDA_SUCCESS);
  REQUIRE(count == 1);
  CUfunction function = nullptr, same = nullptr;
  REQUIRE(driver().cuModuleGetFunction(&function, first, "nothing") == CUDA_SUCCESS);
  REQUIRE(driver().cuModuleEnumerateFunctions(&same, 1, first) == CUDA_SUCCESS);
  CHECK(function == same);
  CHECK(driver().cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, bench.stream, nullptr, nullptr) == CUDA_SUCCESS);
  bench.finish();
  CHECK(driver().cuModuleUnload(first) == CUDA_SUCCESS);
  CHECK(driver().cuModuleUnload(second) == CUDA_SUCCESS);
}

TEST_CASE("what is no module is a library without kernels, as driver 580 has it, and refused as a module") {
  Bench bench;
  CUlibrary library = nullptr;
  REQUIRE(driver().cuLibraryLoadData(&library, "no code at all", nullptr, nullptr, 0, nullptr, nullptr, 0) == CUDA_SUCCESS);
  unsigned kernels = 7;
  CHECK(driver().cuLibraryGetKernelCount(&kernels, library) == CUDA_SUCCESS);
  CHECK(kernels == 0);
  CUkernel kernel = nullptr;
  CHECK(driver().cuLibraryGetKernel(&kernel, library, "k") != CUDA_SUCCESS);
  CUmodule module = nullptr;
  CHECK(driver().cuLibraryGetModule(&module, library) == CUDA_ERROR_INVALID_IMAGE);
  CHECK(driver().cuLibraryUnload(library) == CUDA_SUCCESS);
}

TEST_CASE("a stray access kills the context, and every call says so") {
  Bench bench;
  CUdeviceptr nowhere = freeAddresses(2 * kMiB);
  REQUIRE(bench.launch(bench.kernel("store"), 1, 1, {&nowhere}) == CUDA_SUCCESS);
  CHECK(driver().cuStreamSynchronize(bench.stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(driver().cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS);
  CUstream stream = nullptr;
  CHECK(driver().cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0) == CUDA_ERROR_ILLEGAL_ADDRESS);
  bench.end();
  Bench fresh;
  fresh.finish();
}

TEST_CASE("reserved and mapped memory is out of a kernel's reach until access is given") {
  Bench bench;
  const auto properties = onDevice();
  CUdeviceptr window = 0;
  CUmemGenericAllocationHandle handle = 0;
  REQUIRE(driver().cuMemAddressReserve(&window, 2 * kMiB, 0, 0, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemCreate(&handle, 2 * kMiB, &properties, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemMap(window, 2 * kMiB, 0, handle, 0) == CUDA_SUCCESS);
  REQUIRE(bench.launch(bench.kernel("store"), 1, 1, {&window}) == CUDA_SUCCESS);
  CHECK(driver().cuStreamSynchronize(bench.stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(driver().cuMemUnmap(window, 2 * kMiB) == CUDA_SUCCESS);
  CHECK(driver().cuMemRelease(handle) == CUDA_SUCCESS);
  CHECK(driver().cuMemAddressFree(window, 2 * kMiB) == CUDA_SUCCESS);
}

TEST_CASE("a context that ends stops kernels and waits that would never end") {
  Bench bench;
  CUstream other = nullptr;
  REQUIRE(driver().cuStreamCreateWithPriority(&other, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS);
  CUdeviceptr out = bench.allocate(2 * kMiB);
  REQUIRE(bench.launch(bench.kernel("forever"), 1, 1, {&out}, other) == CUDA_SUCCESS);
  REQUIRE(driver().cuStreamWaitValue64(bench.stream, out, 1, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuDevicePrimaryCtxRelease(0) == CUDA_SUCCESS);
  violated();  // memory, streams, library: all are still there
  CHECK(driver().cuStreamQuery(bench.stream) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CHECK(violated() == "destroyed-handle");
  REQUIRE(driver().cuDevicePrimaryCtxRetain(&bench.context, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuCtxSetCurrent(bench.context) == CUDA_SUCCESS);
  REQUIRE(driver().cuStreamCreateWithPriority(&bench.stream, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS);
}

namespace {

// What is written to standard output meanwhile.
class Captured {
 public:
  Captured() : file_(memfd_create("stdout", MFD_CLOEXEC)) {
    std::fflush(stdout);
    output_ = dup(STDOUT_FILENO);
    dup2(file_, STDOUT_FILENO);
  }
  ~Captured() {
    dup2(output_, STDOUT_FILENO);
    close(output_);
    close(file_);
  }
  std::string text() const {
    char buffer[1024];
    const ssize_t got = pread(file_, buffer, sizeof buffer, 0);
    return {buffer, static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
  }

 private:
  int file_, output_ = -1;
};

}  // namespace

TEST_CASE("what kernels print appears at the calls that the driver names, and not before") {
  Bench bench;
  bench.library();
  int value = 5;
  std::string before, after;
  const int point = GENERATE(range(0, 6));
  CAPTURE(point);
  {
    const Captured captured;
    REQUIRE(bench.launch(bench.kernel("print"), 1, 1, {&value}) == CUDA_SUCCESS);
    CUevent event = nullptr;
    REQUIRE(driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
    REQUIRE(driver().cuEventRecord(event, bench.stream) == CUDA_SUCCESS);
    while (driver().cuStreamQuery(bench.stream) == CUDA_ERROR_NOT_READY) usleep(100);
    before = captured.text();
    CUlibrary other = nullptr;
    switch (point) {
      case 0:
        driver().cuStreamSynchronize(bench.stream);
        break;
      case 1:
        driver().cuCtxSynchronize();
        break;
      case 2:
        driver().cuEventSynchronize(event);
        break;
      case 3:
        bench.launch(bench.kernel("trap"), 0, 0, {});
        break;  // refused before it begins: nothing
      case 4:
        driver().cuLibraryLoadData(&other, ".version 8.0\n.target sm_80\n.address_size 64\n", nullptr, nullptr, 0,
                                   nullptr, nullptr, 0);
        break;
      default:
        driver().cuLaunchHostFunc(
            bench.stream, [](void*) {}, nullptr);
        while (driver().cuStreamQuery(bench.stream) == CUDA_ERROR_NOT_READY) usleep(100);
    }
    after = captured.text();
    if (other != nullptr) driver().cuLibraryUnload(other);
    driver().cuEventDestroy(event);
    driver().cuStreamSynchronize(bench.stream);
  }
  CHECK(before.empty());
  CHECK(after == (point == 3 ? "" : "block 0 of 1: 5 text\n"));
}
