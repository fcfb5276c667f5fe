#include "test/cudart/fixture.h"

#include <array>
#include <cstdlib>
#include <memory>
#include <vector>

#include "client-shim/cudart/code_image.h"

// crt/host_runtime.h declares these for code that nvcc compiles only.
extern "C" {
void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFatBinaryEnd(void**);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*, int*);
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int);
void __cudaRegisterManagedVar(void**, void**, char*, const char*, int, size_t, int, int);
}

namespace rouse::test {

// Each does something else, so that no two share an address.
namespace {
volatile int stubCalled = 0;
}
void fillWords() { stubCalled = 1; }
void addOne() { stubCalled = 2; }
void fault() { stubCalled = 3; }
void print() { stubCalled = 4; }
void sleepMicros() { stubCalled = 5; }

int deviceVariableShadow[16];
int constantVariableShadow[16];
int* managedVariable = nullptr;

FakeServer& server() { return poolOfThisProcess(); }

Fixture::Fixture() {
  server();
  // The first resets clear what an earlier test has left latched, and may report it.
  for (int round = 0; round < 2; ++round) {
    for (int device = 1; device >= 0; --device) {
      (void)cudaSetDevice(device);
      const cudaError_t error = cudaDeviceReset();
      if (round == 1) REQUIRE(error == cudaSuccess);
    }
  }
  (void)cudaGetLastError();
  REQUIRE(cudaGetLastError() == cudaSuccess);
}

Fixture::~Fixture() { CHECK(server().executor(0).rejection() + server().executor(1).rejection() == ""); }

void** registerModule(const char* text) {
  static std::vector<std::unique_ptr<cudart::FatbinWrapper>> wrappers;
  wrappers.push_back(std::make_unique<cudart::FatbinWrapper>());
  *wrappers.back() = {cudart::FatbinWrapper::kMagic, 1, text, nullptr};
  void** handle = __cudaRegisterFatBinary(wrappers.back().get());
  const auto function = [&](Stub stub, const char* name) {
    __cudaRegisterFunction(handle, reinterpret_cast<const char*>(stub), nullptr, name, -1, nullptr, nullptr, nullptr,
                           nullptr, nullptr);
  };
  function(fillWords, "fillWords");
  function(addOne, "addOne");
  function(fault, "fault");
  function(print, "print");
  function(sleepMicros, "sleepMicros");
  __cudaRegisterVar(handle, reinterpret_cast<char*>(deviceVariableShadow), nullptr, "deviceVariable", 0, 64, 0, 0);
  __cudaRegisterVar(handle, reinterpret_cast<char*>(constantVariableShadow), nullptr, "constantVariable", 0, 64, 1, 0);
  __cudaRegisterManagedVar(handle, reinterpret_cast<void**>(&managedVariable), nullptr, "managedVariable", 0, 64, 0, 0);
  __cudaRegisterFatBinaryEnd(handle);
  return handle;
}

cudaError_t launchAddOne(void* words, std::uint64_t count, cudaStream_t stream) {
  void* arguments[] = {&words, &count};
  return cudaLaunchKernel(kernelOf(addOne), dim3(1), dim3(32), arguments, 0, stream);
}

cudaError_t launchFault(cudaError_t error) {
  auto code = static_cast<std::uint32_t>(error);
  void* arguments[] = {&code};
  return cudaLaunchKernel(kernelOf(fault), dim3(1), dim3(1), arguments, 0, nullptr);
}

cudaError_t launchSleep(std::uint32_t microseconds, cudaStream_t stream) {
  void* arguments[] = {&microseconds};
  return cudaLaunchKernel(kernelOf(sleepMicros), dim3(1), dim3(1), arguments, 0, stream);
}

}  // namespace rouse::test
