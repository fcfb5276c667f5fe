#include "test/cuda-double/tests/bench.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "memory/address_plan.h"
#include "server/device/cuda/driver/load.h"
#include "test/cuda-double/double.h"

namespace rouse::cuda_double_test {
namespace {

// The double begins its log with the first call of it: driver() comes first.
template <class Function>
Function* exported(const char* name) {
  static void* library = dlopen(ROUSE_CUDA_DOUBLE, RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  auto* function = reinterpret_cast<Function*>(dlsym(library, name));
  REQUIRE(function != nullptr);
  return function;
}

std::string beforeInitText;

std::unique_ptr<cuda::Driver> open() {
  setenv("ROUSE_DOUBLE_DEVICES", "2", 1);
  setenv("ROUSE_DOUBLE_MEMORY_BYTES", std::to_string(256 * kMiB).c_str(), 1);
  setenv(cuda::kDriverVariable, ROUSE_CUDA_DOUBLE, 1);
  static char log[] = "/tmp/rouse-cuda-double-XXXXXX";
  const int file = mkstemp(log);
  REQUIRE(file >= 0);
  close(file);
  setenv("ROUSE_DOUBLE_LOG", log, 1);
  std::atexit([] { unlink(log); });
  auto loaded = cuda::loadDriver();
  if (!loaded) FAIL(loaded.error().message);
  auto driver = std::move(loaded).value();
  int count = 0;
  REQUIRE(driver->cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED);
  beforeInitText = violated();
  REQUIRE(driver->cuInit(0) == CUDA_SUCCESS);
  return driver;
}

}  // namespace

const cuda::Driver& driver() {
  static const auto instance = open();
  return *instance;
}

const std::string& beforeInit() {
  driver();
  return beforeInitText;
}

CUdeviceptr freeAddresses(std::uint64_t bytes) {
  static CUdeviceptr next = memory::AddressPlan::defaultRange().base;
  const CUdeviceptr at = next;
  next += roundUp(bytes, 2 * kMiB) + 2 * kMiB;
  return at;
}

std::string violated() {
  const auto violation = exported<decltype(rouse_double_violation)>("rouse_double_violation");
  std::string rules;
  for (unsigned i = 0; violation(i) != nullptr; ++i) {
    const std::string text = violation(i);
    rules += (i != 0 ? ", " : "") + text.substr(0, text.find(':'));
  }
  exported<decltype(rouse_double_forgive)>("rouse_double_forgive")();
  return rules;
}

std::string lastViolation() {
  const unsigned count = exported<decltype(rouse_double_violations)>("rouse_double_violations")();
  const char* text = exported<decltype(rouse_double_violation)>("rouse_double_violation")(count - 1);
  return text != nullptr ? text : "";
}

unsigned long long calls(const char* function) {
  return exported<decltype(rouse_double_calls)>("rouse_double_calls")(function);
}

Variable::Variable(const char* name, const std::string& value) : name_(name) {
  const char* before = std::getenv(name);
  had_ = before != nullptr;
  if (had_) before_ = before;
  setenv(name, value.c_str(), 1);
}

Variable::~Variable() {
  if (had_) {
    setenv(name_, before_.c_str(), 1);
  } else {
    unsetenv(name_);
  }
}

CUmemAllocationProp onDevice(int ordinal) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = ordinal;
  return properties;
}

Bench::Bench() {
  REQUIRE(driver().cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuCtxSetCurrent(context) == CUDA_SUCCESS);
  REQUIRE(driver().cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0) == CUDA_SUCCESS);
}

Bench::~Bench() { end(); }

void Bench::end() {
  if (context == nullptr) return;
  // After a fault these return its error, and do their work.
  driver().cuCtxSynchronize();
  driver().cuStreamDestroy(stream);
  if (library_ != nullptr) driver().cuLibraryUnload(library_);
  for (const auto& [address, bytes] : host_) driver().cuMemHostUnregister(address);
  for (const Memory& memory : memory_) {
    driver().cuMemUnmap(memory.address, memory.bytes);
    driver().cuMemRelease(memory.handle);
    driver().cuMemAddressFree(memory.address, memory.bytes);
  }
  driver().cuDevicePrimaryCtxRelease(0);
  driver().cuCtxSetCurrent(nullptr);
  context = nullptr;
  for (const auto& [address, bytes] : host_) munmap(address, bytes);
  CHECK(violated() == "");
}

CUdeviceptr Bench::allocate(std::uint64_t bytes, CUdeviceptr at) {
  Memory memory{};
  memory.bytes = bytes;
  const CUmemAllocationProp properties = onDevice();
  REQUIRE(driver().cuMemAddressReserve(&memory.address, bytes, 0, at, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemCreate(&memory.handle, bytes, &properties, 0) == CUDA_SUCCESS);
  REQUIRE(driver().cuMemMap(memory.address, bytes, 0, memory.handle, 0) == CUDA_SUCCESS);
  CUmemAccessDesc access{};
  access.location = properties.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  REQUIRE(driver().cuMemSetAccess(memory.address, bytes, &access, 1) == CUDA_SUCCESS);
  memory_.push_back(memory);
  return memory.address;
}

std::uint8_t* Bench::host(std::uint64_t bytes) {
  bytes = roundUp(bytes, 4096);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  REQUIRE(driver().cuMemHostRegister(memory, bytes, CU_MEMHOSTREGISTER_DEVICEMAP) == CUDA_SUCCESS);
  host_.emplace_back(memory, bytes);
  return static_cast<std::uint8_t*>(memory);
}

CUlibrary Bench::library() {
  if (library_ == nullptr) {
    std::ifstream file(KERNELS_FATBIN, std::ios::binary);
    const std::string code{std::istreambuf_iterator<char>(file), {}};
    REQUIRE_FALSE(code.empty());
    REQUIRE(driver().cuLibraryLoadData(&library_, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0) ==
            CUDA_SUCCESS);
  }
  return library_;
}

CUkernel Bench::kernel(const char* name) {
  CUkernel kernel = nullptr;
  REQUIRE(driver().cuLibraryGetKernel(&kernel, library(), name) == CUDA_SUCCESS);
  return kernel;
}

CUresult Bench::launch(CUkernel kernel, unsigned grid, unsigned block, std::vector<void*> parameters, CUstream on) {
  CUlaunchConfig config{};
  config.gridDimX = grid;
  config.blockDimX = block;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.hStream = on != nullptr ? on : stream;
  return driver().cuLaunchKernelEx(&config, reinterpret_cast<CUfunction>(kernel), parameters.data(), nullptr);
}

}  // namespace rouse::cuda_double_test
