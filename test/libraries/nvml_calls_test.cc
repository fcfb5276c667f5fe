// NVML as programs call it, before a daemon of the test: what is asked of that, and what not; what a process that is attached, or a child of one, is told; what a
// call with wrong arguments answers. In order: the process attaches in the last ones.
#include <cuda_runtime.h>
#include <nvml.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include "schemas/api/library_names.h"
#include "test/client/fake_server.h"

namespace rouse::test {
namespace {

using namespace std::chrono_literals;

FakeServer& server() { return poolOfThisProcess(); }

constexpr std::uint64_t kBytes = std::uint64_t{256} << 20;
constexpr char kUuid0[] = "GPU-12345678-9abc-def0-1234-567800000000", kUuid1[] = "GPU-12345678-9abc-def0-1234-567800000001";

struct Management {
  Management() {
    server();
    REQUIRE(nvmlInit_v2() == NVML_SUCCESS);
    REQUIRE(nvmlDeviceGetHandleByIndex_v2(0, &gpu) == NVML_SUCCESS);
    REQUIRE(nvmlDeviceGetHandleByIndex_v2(1, &other) == NVML_SUCCESS);
  }
  ~Management() { CHECK(nvmlShutdown() == NVML_SUCCESS); }
  nvmlDevice_t gpu = nullptr, other = nullptr;
};

// What `body` returns, in a child of this process.
int inChild(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::uint32_t idOf(std::string_view name) { return static_cast<std::uint32_t>(std::ranges::find(api::kAllNames, name) - api::kAllNames.begin()); }

}  // namespace

TEST_CASE("before nvmlInit only versions and texts are told", "[nvml]") {
  server();
  unsigned number = 7;
  nvmlDevice_t device = nullptr;
  char text[96];
  CHECK(nvmlShutdown() == NVML_ERROR_UNINITIALIZED);
  CHECK(nvmlDeviceGetCount_v2(&number) == NVML_ERROR_UNINITIALIZED);
  CHECK(nvmlDeviceGetHandleByIndex_v2(0, &device) == NVML_ERROR_UNINITIALIZED);
  CHECK(nvmlDeviceGetHandleByUUID(kUuid0, &device) == NVML_ERROR_UNINITIALIZED);
  CHECK(nvmlDeviceGetName(nullptr, nullptr, 0) == NVML_ERROR_UNINITIALIZED);
  CHECK(nvmlSystemGetDriverVersion(text, sizeof text) == NVML_ERROR_UNINITIALIZED);
  CHECK(nvmlDeviceGetTemperature(device, NVML_TEMPERATURE_GPU, &number) == NVML_ERROR_UNINITIALIZED);
  CHECK(nvmlDeviceSetPersistenceMode(device, NVML_FEATURE_ENABLED) == NVML_ERROR_UNINITIALIZED);
  CHECK(number == 7);

  int version = 0;
  CHECK(nvmlSystemGetCudaDriverVersion_v2(&version) == NVML_SUCCESS);
  CHECK(version == CUDART_VERSION);
  CHECK(nvmlSystemGetNVMLVersion(text, sizeof text) == NVML_SUCCESS);
  CHECK(std::string(text).starts_with("13."));
  CHECK(nvmlSystemGetNVMLVersion(text, 3) == NVML_ERROR_INSUFFICIENT_SIZE);
  CHECK(nvmlSystemGetNVMLVersion(nullptr, 90) == NVML_ERROR_INVALID_ARGUMENT);
  CHECK(std::string(nvmlErrorString(NVML_ERROR_NOT_SUPPORTED)) == "not supported");
  CHECK(std::string(nvmlErrorString(static_cast<nvmlReturn_t>(77))) == "unknown error");
}

TEST_CASE("nvmlInit is counted, attaches nothing, and asks the daemon once", "[nvml]") {
  server();
  const unsigned before = server().descriptions;
  CHECK(nvmlInitWithFlags(4) == NVML_ERROR_INVALID_ARGUMENT);
  REQUIRE(nvmlInitWithFlags(NVML_INIT_FLAG_NO_ATTACH) == NVML_SUCCESS);
  REQUIRE(nvmlInit_v2() == NVML_SUCCESS);
  CHECK(nvmlShutdown() == NVML_SUCCESS);
  unsigned count = 0;
  CHECK(nvmlDeviceGetCount_v2(&count) == NVML_SUCCESS);
  CHECK(count == 2);
  CHECK(nvmlShutdown() == NVML_SUCCESS);
  CHECK(nvmlDeviceGetCount_v2(&count) == NVML_ERROR_UNINITIALIZED);
  CHECK(nvmlShutdown() == NVML_ERROR_UNINITIALIZED);
  CHECK(server().descriptions == before + 1);
  CHECK(server().attachments == 0);
}

TEST_CASE_METHOD(Management, "GPUs are found by number, UUID and PCI address, and by nothing else", "[nvml]") {
  unsigned index = 9;
  CHECK(nvmlDeviceGetIndex(other, &index) == NVML_SUCCESS);
  CHECK(index == 1);
  nvmlDevice_t found = nullptr;
  CHECK(nvmlDeviceGetHandleByIndex_v2(2, &found) == NVML_ERROR_INVALID_ARGUMENT);
  CHECK(nvmlDeviceGetHandleByIndex_v2(0, nullptr) == NVML_ERROR_INVALID_ARGUMENT);

  CHECK(nvmlDeviceGetHandleByUUID(kUuid1, &found) == NVML_SUCCESS);
  CHECK(found == other);
  CHECK(nvmlDeviceGetHandleByUUID("GPU-12345678-9abc-def0-1234-567800000002", &found) == NVML_ERROR_NOT_FOUND);
  CHECK(nvmlDeviceGetHandleByUUID("GPU-1234", &found) == NVML_ERROR_NOT_FOUND);
  CHECK(nvmlDeviceGetHandleByUUID(nullptr, &found) == NVML_ERROR_INVALID_ARGUMENT);
  CHECK(nvmlDeviceGetHandleByUUID(kUuid1, nullptr) == NVML_ERROR_INVALID_ARGUMENT);

  nvmlUUID_t uuid{};
  CHECK(nvmlDeviceGetHandleByUUIDV(&uuid, &found) == NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  uuid.version = nvmlUUID_v1;
  CHECK(nvmlDeviceGetHandleByUUIDV(&uuid, &found) == NVML_ERROR_INVALID_ARGUMENT);
  uuid.type = NVML_UUID_TYPE_ASCII;
  std::strcpy(uuid.value.str, kUuid0);
  CHECK(nvmlDeviceGetHandleByUUIDV(&uuid, &found) == NVML_SUCCESS);
  CHECK(found == gpu);
  uuid.type = NVML_UUID_TYPE_BINARY;
  const unsigned char bytes[16] = {0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde, 0xf0, 0x12, 0x34, 0x56, 0x78, 0, 0, 0, 1};
  std::memcpy(uuid.value.bytes, bytes, sizeof bytes);
  CHECK(nvmlDeviceGetHandleByUUIDV(&uuid, &found) == NVML_SUCCESS);
  CHECK(found == other);

  for (const char* address : {"0001:3c:00.0", "00000001:3C:00.0", "1:3c:0"}) {
    found = nullptr;
    CHECK(nvmlDeviceGetHandleByPciBusId_v2(address, &found) == NVML_SUCCESS);
    CHECK(found == other);
  }
  CHECK(nvmlDeviceGetHandleByPciBusId_v2("3c:00.0", &found) == NVML_ERROR_NOT_FOUND);  // of domain 0
  CHECK(nvmlDeviceGetHandleByPciBusId_v2("GPU 1", &found) == NVML_ERROR_INVALID_ARGUMENT);
  CHECK(nvmlDeviceGetHandleBySerial("1", &found) == NVML_ERROR_NOT_FOUND);
  CHECK(nvmlDeviceGetHandleBySerial(nullptr, &found) == NVML_ERROR_INVALID_ARGUMENT);

  int madeUp = 0;
  for (auto* handle : {static_cast<void*>(nullptr), static_cast<void*>(&madeUp), static_cast<void*>(reinterpret_cast<char*>(gpu) + 2), static_cast<void*>(reinterpret_cast<char*>(gpu) - 1)})
    CHECK(nvmlDeviceGetIndex(static_cast<nvmlDevice_t>(handle), &index) == NVML_ERROR_INVALID_ARGUMENT);
}

TEST_CASE_METHOD(Management, "texts need room, structures their version, and old ones are not written beyond their end", "[nvml]") {
  char text[96];
  CHECK(nvmlDeviceGetName(gpu, text, sizeof text) == NVML_SUCCESS);
  CHECK(std::string(text) == "Test device");
  CHECK(nvmlDeviceGetName(gpu, text, 11) == NVML_ERROR_INSUFFICIENT_SIZE);
  CHECK(nvmlDeviceGetName(gpu, text, 12) == NVML_SUCCESS);
  CHECK(nvmlDeviceGetName(gpu, nullptr, 96) == NVML_ERROR_INVALID_ARGUMENT);
  CHECK(nvmlDeviceGetUUID(other, text, sizeof text) == NVML_SUCCESS);
  CHECK(std::string(text) == kUuid1);
  CHECK(nvmlSystemGetDriverVersion(text, sizeof text) == NVML_SUCCESS);
  CHECK(std::string(text).starts_with("580."));
  CHECK(nvmlSystemGetProcessName(static_cast<unsigned>(::getpid()), text, sizeof text) == NVML_SUCCESS);
  CHECK(std::string(text).find("test-library-nvml") != std::string::npos);
  CHECK(nvmlSystemGetProcessName(static_cast<unsigned>(::getpid()), text, 4) == NVML_SUCCESS);
  CHECK(std::strlen(text) == 3);
  CHECK(nvmlSystemGetProcessName(0x7fffffff, text, sizeof text) == NVML_ERROR_NOT_FOUND);

  nvmlPciInfo_t pci;
  CHECK(nvmlDeviceGetPciInfo_v3(gpu, &pci) == NVML_SUCCESS);
  CHECK(std::string(pci.busId) == "00000001:3B:00.0");
  CHECK(std::string(pci.busIdLegacy) == "0001:3B:00.0");
  CHECK(pci.domain == 1);
  CHECK(pci.bus == 0x3b);
  CHECK(nvmlDeviceGetPciInfo_v3(gpu, nullptr) == NVML_ERROR_INVALID_ARGUMENT);
  std::memset(&pci, 0x5a, sizeof pci);
  CHECK(nvmlDeviceGetPciInfo_v2(gpu, &pci) == NVML_SUCCESS);
  CHECK(pci.bus == 0x3b);
  CHECK(std::all_of(std::begin(pci.busId), std::end(pci.busId), [](char c) { return c == 0x5a; }));
  nvmlPciInfoExt_t ext{};
  CHECK(nvmlDeviceGetPciInfoExt(gpu, &ext) == NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  ext.version = nvmlPciInfoExt_v1;
  CHECK(nvmlDeviceGetPciInfoExt(gpu, &ext) == NVML_SUCCESS);
  CHECK(std::string(ext.busId) == "00000001:3B:00.0");

  unsigned number = 9;
  int same = 9;
  nvmlBrandType_t brand;
  CHECK(nvmlDeviceGetBrand(gpu, &brand) == NVML_SUCCESS);
  CHECK(brand == NVML_BRAND_UNKNOWN);
  CHECK(nvmlDeviceGetMinorNumber(other, &number) == NVML_SUCCESS);
  CHECK(number == 1);
  CHECK(nvmlDeviceGetMultiGpuBoard(gpu, &number) == NVML_SUCCESS);
  CHECK(number == 0);
  CHECK(nvmlDeviceOnSameBoard(gpu, other, &same) == NVML_SUCCESS);
  CHECK(same == 0);
  CHECK(nvmlDeviceOnSameBoard(gpu, nullptr, &same) == NVML_ERROR_INVALID_ARGUMENT);
  CHECK(nvmlDeviceOnSameBoard(gpu, other, nullptr) == NVML_ERROR_INVALID_ARGUMENT);
}

TEST_CASE_METHOD(Management, "memory is what the daemon says of it now", "[nvml]") {
  if (server().attachments != 0) return;
  server().freeBytes = kBytes - 5;
  nvmlMemory_t memory{};
  CHECK(nvmlDeviceGetMemoryInfo(gpu, &memory) == NVML_SUCCESS);
  CHECK(memory.total == kBytes);
  CHECK(memory.free == kBytes - 5);
  CHECK(memory.used == 5);
  server().freeBytes = 0;
  nvmlMemory_v2_t second{};
  CHECK(nvmlDeviceGetMemoryInfo_v2(gpu, &second) == NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  second.version = 2;
  CHECK(nvmlDeviceGetMemoryInfo_v2(gpu, &second) == NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  second.version = nvmlMemory_v2;
  CHECK(nvmlDeviceGetMemoryInfo_v2(gpu, &second) == NVML_SUCCESS);
  CHECK(second.used == kBytes);
  CHECK(second.reserved == 0);
  CHECK(nvmlDeviceGetMemoryInfo(gpu, nullptr) == NVML_ERROR_INVALID_ARGUMENT);
  CHECK(nvmlDeviceGetMemoryInfo_v2(gpu, nullptr) == NVML_ERROR_INVALID_ARGUMENT);
}

TEST_CASE_METHOD(Management, "utilization is the time that was busy between two looks, and none of them more often than six times a second", "[nvml]") {
  nvmlUtilization_t rates{77, 77};
  server().busyNs = 5'000'000'000;
  CHECK(nvmlDeviceGetUtilizationRates(gpu, &rates) == NVML_SUCCESS);
  CHECK(rates.gpu == 0);
  CHECK(rates.memory == 0);
  const unsigned asked = server().descriptions;
  server().busyNs += 60'000'000'000;
  CHECK(nvmlDeviceGetUtilizationRates(gpu, &rates) == NVML_SUCCESS);
  CHECK(rates.gpu == 0);
  CHECK(server().descriptions == asked);
  std::this_thread::sleep_for(200ms);
  CHECK(nvmlDeviceGetUtilizationRates(gpu, &rates) == NVML_SUCCESS);
  CHECK(rates.gpu == 100);
  CHECK(server().descriptions == asked + 1);
  // A process of the function has ended.
  server().busyNs = 0;
  std::this_thread::sleep_for(200ms);
  CHECK(nvmlDeviceGetUtilizationRates(gpu, &rates) == NVML_SUCCESS);
  CHECK(rates.gpu == 0);
  CHECK(nvmlDeviceGetUtilizationRates(gpu, nullptr) == NVML_ERROR_INVALID_ARGUMENT);
}

TEST_CASE_METHOD(Management, "properties are those of the runtime's attributes", "[nvml]") {
  int major = 0, minor = 9;
  CHECK(nvmlDeviceGetCudaComputeCapability(gpu, &major, &minor) == NVML_SUCCESS);
  CHECK(major == 7);
  CHECK(minor == 0);
  CHECK(nvmlDeviceGetCudaComputeCapability(gpu, &major, nullptr) == NVML_ERROR_INVALID_ARGUMENT);
  unsigned number = 0, pending = 9;
  CHECK(nvmlDeviceGetArchitecture(gpu, &number) == NVML_SUCCESS);
  CHECK(number == NVML_DEVICE_ARCH_VOLTA);
  CHECK(nvmlDeviceGetNumGpuCores(gpu, &number) == NVML_SUCCESS);
  CHECK(number == 4 * 64);
  CHECK(nvmlDeviceGetMemoryBusWidth(gpu, &number) == NVML_SUCCESS);
  CHECK(number == 256);
  CHECK(nvmlDeviceGetMaxClockInfo(gpu, NVML_CLOCK_SM, &number) == NVML_SUCCESS);
  CHECK(number == 1590);
  CHECK(nvmlDeviceGetMaxClockInfo(gpu, NVML_CLOCK_MEM, &number) == NVML_SUCCESS);
  CHECK(number == 5001);
  CHECK(nvmlDeviceGetMaxClockInfo(gpu, NVML_CLOCK_VIDEO, &number) == NVML_ERROR_NOT_SUPPORTED);
  CHECK(nvmlDeviceGetMaxClockInfo(gpu, static_cast<nvmlClockType_t>(9), &number) == NVML_ERROR_INVALID_ARGUMENT);
  nvmlEnableState_t current, later;
  CHECK(nvmlDeviceGetEccMode(gpu, &current, &later) == NVML_SUCCESS);
  CHECK(current == NVML_FEATURE_ENABLED);
  nvmlComputeMode_t mode;
  CHECK(nvmlDeviceGetComputeMode(gpu, &mode) == NVML_SUCCESS);
  CHECK(mode == NVML_COMPUTEMODE_DEFAULT);
  CHECK(nvmlDeviceGetMigMode(gpu, &number, &pending) == NVML_SUCCESS);
  CHECK(number == NVML_DEVICE_MIG_DISABLE);
  CHECK(nvmlDeviceGetMaxMigDeviceCount(gpu, &number) == NVML_SUCCESS);
  CHECK(number == 0);

  CHECK(nvmlDeviceGetCurrPcieLinkGeneration(gpu, &number) == NVML_SUCCESS);
  CHECK(number == 4);
  CHECK(nvmlDeviceGetMaxPcieLinkGeneration(gpu, &number) == NVML_SUCCESS);
  CHECK(number == 5);
  CHECK(nvmlDeviceGetCurrPcieLinkWidth(gpu, &number) == NVML_SUCCESS);
  CHECK(number == 8);
  CHECK(nvmlDeviceGetMaxPcieLinkWidth(gpu, &number) == NVML_SUCCESS);
  CHECK(number == 16);
  CHECK(nvmlDeviceGetCurrPcieLinkWidth(other, &number) == NVML_ERROR_NOT_SUPPORTED);
  CHECK(nvmlDeviceGetCurrPcieLinkWidth(gpu, nullptr) == NVML_ERROR_INVALID_ARGUMENT);

  nvmlGpuP2PStatus_t reach;
  CHECK(nvmlDeviceGetP2PStatus(gpu, other, NVML_P2P_CAPS_INDEX_NVLINK, &reach) == NVML_SUCCESS);
  CHECK(reach == NVML_P2P_STATUS_NOT_SUPPORTED);
  CHECK(nvmlDeviceGetP2PStatus(gpu, other, static_cast<nvmlGpuP2PCapsIndex_t>(12), &reach) == NVML_ERROR_INVALID_ARGUMENT);
  nvmlGpuTopologyLevel_t level;
  CHECK(nvmlDeviceGetTopologyCommonAncestor(gpu, other, &level) == NVML_SUCCESS);
  CHECK(level == NVML_TOPOLOGY_SYSTEM);
}

TEST_CASE_METHOD(Management, "what would change a GPU is not permitted, what is not known is not supported", "[nvml]") {
  unsigned number = 7;
  CHECK(nvmlDeviceSetPersistenceMode(gpu, NVML_FEATURE_ENABLED) == NVML_ERROR_NO_PERMISSION);
  CHECK(nvmlDeviceSetPowerManagementLimit(gpu, 100) == NVML_ERROR_NO_PERMISSION);
  CHECK(nvmlDeviceResetGpuLockedClocks(gpu) == NVML_ERROR_NO_PERMISSION);
  CHECK(nvmlDeviceGetTemperature(gpu, NVML_TEMPERATURE_GPU, &number) == NVML_ERROR_NOT_SUPPORTED);
  CHECK(nvmlDeviceGetPowerUsage(gpu, &number) == NVML_ERROR_NOT_SUPPORTED);
  nvmlEventSet_t set;
  CHECK(nvmlEventSetCreate(&set) == NVML_ERROR_NOT_SUPPORTED);
  CHECK(number == 7);
}

TEST_CASE_METHOD(Management, "a process that is not attached is none of a GPU's", "[nvml]") {
  if (server().attachments != 0) return;
  unsigned count = 0;
  CHECK(nvmlDeviceGetComputeRunningProcesses_v3(gpu, &count, nullptr) == NVML_SUCCESS);
  CHECK(count == 0);
  count = 8;
  nvmlProcessInfo_t infos[8];
  CHECK(nvmlDeviceGetGraphicsRunningProcesses_v3(gpu, &count, infos) == NVML_SUCCESS);
  CHECK(count == 0);
  CHECK(nvmlDeviceGetComputeRunningProcesses_v3(gpu, nullptr, infos) == NVML_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("without a daemon the driver is not loaded; one of another build is a mismatch", "[nvml]") {
  server();
  CHECK(inChild([] {
          ::setenv("ROUSE_SOCKET", "/nonexistent/rouse.sock", 1);
          return static_cast<int>(nvmlInit_v2());
        }) == NVML_ERROR_DRIVER_NOT_LOADED);
  const std::pair<CudaError, nvmlReturn_t> answers[] = {{CudaError::insufficientDriver, NVML_ERROR_LIB_RM_VERSION_MISMATCH},
                                                        {CudaError::notPermitted, NVML_ERROR_NO_PERMISSION},
                                                        {CudaError::systemNotReady, NVML_ERROR_NOT_READY}};
  for (const auto& [refusal, status] : answers) {
    ServerSetting setting;
    setting.refusal = refusal;
    const FakeServer refusing(setting);
    const std::string path = refusing.socketPath();
    CHECK(inChild([&] {
            ::setenv("ROUSE_SOCKET", path.c_str(), 1);
            return static_cast<int>(nvmlInit_v2());
          }) == status);
  }
}

TEST_CASE_METHOD(Management, "a child of a process that has only looked can look and compute", "[nvml][fork]") {
  if (server().attachments != 0) return;
  CHECK(inChild([&] {
          unsigned count = 0;
          nvmlMemory_t memory;
          if (nvmlDeviceGetCount_v2(&count) != NVML_SUCCESS || count != 2) return 1;
          if (nvmlDeviceGetMemoryInfo(other, &memory) != NVML_SUCCESS) return 2;
          void* bytes = nullptr;
          return cudaMalloc(&bytes, 4096) == cudaSuccess && cudaFree(bytes) == cudaSuccess ? 0 : 3;
        }) == 0);
  CHECK(server().attachments == 1);  // the child's
  server().attachments = 0;
}

TEST_CASE_METHOD(Management, "an attached process is told what the runtime tells it, and the daemon is not asked", "[nvml][attached]") {
  void* bytes = nullptr;
  REQUIRE(cudaMalloc(&bytes, 64 << 20) == cudaSuccess);
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  server().freeBytes = 1;
  const unsigned asked = server().descriptions;
  std::size_t free = 0, total = 0;
  REQUIRE(cudaMemGetInfo(&free, &total) == cudaSuccess);
  nvmlMemory_t memory{};
  CHECK(nvmlDeviceGetMemoryInfo(gpu, &memory) == NVML_SUCCESS);
  CHECK(memory.total == total);
  CHECK(memory.free == free);
  CHECK(memory.used >= 64u << 20);

  for (int device = 0; device < 2; ++device) {
    cudaDeviceProp properties;
    REQUIRE(cudaGetDeviceProperties(&properties, device) == cudaSuccess);
    nvmlUUID_t uuid{.version = nvmlUUID_v1, .type = NVML_UUID_TYPE_BINARY, .value = {}};
    std::memcpy(uuid.value.bytes, properties.uuid.bytes, sizeof properties.uuid.bytes);
    nvmlDevice_t found = nullptr;
    CHECK(nvmlDeviceGetHandleByUUIDV(&uuid, &found) == NVML_SUCCESS);
    CHECK(found == (device == 0 ? gpu : other));
    char address[32];
    REQUIRE(cudaDeviceGetPCIBusId(address, sizeof address, device) == cudaSuccess);
    CHECK(nvmlDeviceGetHandleByPciBusId_v2(address, &found) == NVML_SUCCESS);
    CHECK(found == (device == 0 ? gpu : other));
  }

  unsigned count = 0;
  CHECK(nvmlDeviceGetComputeRunningProcesses_v3(gpu, &count, nullptr) == NVML_ERROR_INSUFFICIENT_SIZE);
  CHECK(count == 1);
  CHECK(nvmlDeviceGetComputeRunningProcesses_v3(gpu, &count, nullptr) == NVML_ERROR_INVALID_ARGUMENT);
  nvmlProcessInfo_t info{};
  CHECK(nvmlDeviceGetComputeRunningProcesses_v3(gpu, &count, &info) == NVML_SUCCESS);
  CHECK(info.pid == static_cast<unsigned>(::getpid()));
  CHECK(info.usedGpuMemory >= 64u << 20);
  CHECK(info.gpuInstanceId == 0xffffffff);
  CHECK(nvmlDeviceGetComputeRunningProcesses_v3(other, &count, &info) == NVML_SUCCESS);
  CHECK(count == 0);  // of which it has no context
  CHECK(server().descriptions == asked);

  REQUIRE(cudaFree(bytes) == cudaSuccess);
  CHECK(server().unsupportedCalls(idOf("nvmlDeviceGetTemperature")) == 2);
  CHECK(server().unsupportedCalls(idOf("nvmlDeviceSetPersistenceMode")) == 2);
}

TEST_CASE_METHOD(Management, "a child of an attached process sees the same GPUs, with memory as the daemon says", "[nvml][fork]") {
  REQUIRE(cudaFree(nullptr) == cudaSuccess);
  server().freeBytes = 12345;
  CHECK(inChild([&] {
          char uuid[96];
          nvmlMemory_t memory;
          unsigned count = 4;
          nvmlProcessInfo_t infos[4];
          if (nvmlDeviceGetUUID(other, uuid, sizeof uuid) != NVML_SUCCESS || std::strcmp(uuid, kUuid1) != 0) return 1;
          if (nvmlDeviceGetMemoryInfo(other, &memory) != NVML_SUCCESS || memory.free != 12345) return 2;
          if (nvmlDeviceGetComputeRunningProcesses_v3(gpu, &count, infos) != NVML_SUCCESS || count != 0) return 3;
          if (nvmlInit_v2() != NVML_SUCCESS || nvmlShutdown() != NVML_SUCCESS) return 4;
          return 0;
        }) == 0);
}

// The last one: the process has lost its devices from then on.
TEST_CASE_METHOD(Management, "a GPU whose executor is gone is lost", "[nvml][attached]") {
  REQUIRE(cudaFree(nullptr) == cudaSuccess);
  server().cutOff("the test is over");
  nvmlMemory_t memory;
  CHECK(nvmlDeviceGetMemoryInfo(gpu, &memory) == NVML_ERROR_GPU_IS_LOST);
  char text[96];
  CHECK(nvmlDeviceGetName(gpu, text, sizeof text) == NVML_SUCCESS);
}

}  // namespace rouse::test
