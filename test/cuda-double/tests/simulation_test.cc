// What the double pretends when it is told to, and what it keeps of its caller.
#include <sys/mman.h>

#include <fstream>
#include <iterator>

#include "test/cuda-double/tests/bench.h"

using namespace rouse;
using namespace rouse::cuda_double_test;

TEST_CASE("a driver without a device") {
  driver();
  Variable none("ROUSE_DOUBLE_DEVICES", "0");
  CHECK(driver().cuInit(0) == CUDA_ERROR_NO_DEVICE);
}

TEST_CASE("a device says who it is") {
  driver();
  char name[64] = {}, bus[16] = {};
  CUuuid first{}, second{};
  std::size_t bytes = 0;
  int value = 0;
  CHECK(driver().cuDeviceGetName(name, sizeof name, 0) == CUDA_SUCCESS);
  CHECK(std::string(name) == "Rouse CUDA double");
  CHECK(driver().cuDeviceGetPCIBusId(bus, sizeof bus, 1) == CUDA_SUCCESS);
  CHECK(std::string(bus).size() == 12);
  CHECK(driver().cuDeviceGetUuid(&first, 0) == CUDA_SUCCESS);
  CHECK(driver().cuDeviceGetUuid(&second, 1) == CUDA_SUCCESS);
  CHECK(std::memcmp(&first, &second, sizeof first) != 0);
  CHECK(driver().cuDeviceTotalMem(&bytes, 0) == CUDA_SUCCESS);
  CHECK(bytes == 256 * kMiB);
  CHECK(driver().cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0) == CUDA_SUCCESS);
  CHECK(value == 32);
  CHECK(driver().cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0) ==
        CUDA_SUCCESS);
  CHECK(value == 1);
}

TEST_CASE("a device that another process has") {
  driver();
  Variable exclusive("ROUSE_DOUBLE_EXCLUSIVE", "1");
  CUcontext context = nullptr;
  CHECK(driver().cuDevicePrimaryCtxRetain(&context, 0) == CUDA_ERROR_DEVICE_UNAVAILABLE);
  int mode = 0;
  CHECK(driver().cuDeviceGetAttribute(&mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 0) == CUDA_SUCCESS);
  CHECK(mode == CU_COMPUTEMODE_EXCLUSIVE_PROCESS);
}

TEST_CASE("a device that nobody may have") {
  driver();
  Variable prohibited("ROUSE_DOUBLE_PROHIBITED", "1");
  CUcontext context = nullptr;
  CHECK(driver().cuDevicePrimaryCtxRetain(&context, 0) == CUDA_ERROR_UNKNOWN);
  int mode = 0;
  CHECK(driver().cuDeviceGetAttribute(&mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 0) == CUDA_SUCCESS);
  CHECK(mode == CU_COMPUTEMODE_PROHIBITED);
}

TEST_CASE("a device that others have filled") {
  Bench bench;
  Variable full("ROUSE_DOUBLE_FREE_BYTES", std::to_string(9 * kMiB));
  std::size_t free = 0, total = 0;
  REQUIRE(driver().cuMemGetInfo(&free, &total) == CUDA_SUCCESS);
  CHECK(free == 8 * kMiB);
  CHECK(total == 256 * kMiB);
  const auto properties = onDevice();
  CUmemGenericAllocationHandle first = 0, second = 0;
  CHECK(driver().cuMemCreate(&first, 6 * kMiB, &properties, 0) == CUDA_SUCCESS);
  CHECK(driver().cuMemCreate(&second, 4 * kMiB, &properties, 0) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(driver().cuMemCreate(&second, 2 * kMiB, &properties, 0) == CUDA_SUCCESS);
  CHECK(driver().cuMemRelease(first) == CUDA_SUCCESS);
  CHECK(driver().cuMemRelease(second) == CUDA_SUCCESS);
}

TEST_CASE("less pinned memory than asked for") {
  Bench bench;
  Variable limit("ROUSE_DOUBLE_PINNED_BYTES", "8192");
  void* memory = mmap(nullptr, 16384, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(driver().cuMemHostRegister(memory, 16384, 0) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(driver().cuMemHostRegister(memory, 8192, 0) == CUDA_SUCCESS);
  CHECK(driver().cuMemHostUnregister(memory) == CUDA_SUCCESS);
  munmap(memory, 16384);
}

TEST_CASE("the n-th launch faults") {
  Bench bench;
  Variable fault("ROUSE_DOUBLE_FAULT_LAUNCH", "2");
  CUdeviceptr memory = bench.allocate(2 * kMiB);
  const auto store = [&] { return bench.launch(bench.kernel("store"), 1, 1, {&memory}); };
  CHECK(store() == CUDA_SUCCESS);
  CHECK(driver().cuStreamSynchronize(bench.stream) == CUDA_SUCCESS);
  CHECK(store() == CUDA_SUCCESS);  // asynchronous, as faults are
  CHECK(driver().cuStreamSynchronize(bench.stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(store() == CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_CASE("every call is recorded") {
  Bench bench;
  const auto before = calls("cuStreamQuery");
  CHECK(driver().cuStreamQuery(bench.stream) == CUDA_SUCCESS);
  CHECK(driver().cuStreamQuery(bench.stream) == CUDA_SUCCESS);
  CHECK(calls("cuStreamQuery") == before + 2);

  const char* path = std::getenv("ROUSE_DOUBLE_LOG");
  REQUIRE(path != nullptr);
  CUevent event = nullptr;
  REQUIRE(driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS);
  REQUIRE(driver().cuEventDestroy(event) == CUDA_SUCCESS);
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  CHECK(text.find("\ncuMemHostRegister_v2(p=0x") != text.npos);
  char line[96];
  std::snprintf(line, sizeof line, "\ncuEventDestroy_v2(hEvent=0x%llx) = CUDA_SUCCESS\n", (unsigned long long)event);
  CHECK(text.find(line) != text.npos);
  CHECK(text.find("\nviolation: ") != text.npos);
}
