// Registration, launches and what a kernel says of itself.
#include <string>
#include <vector>

#include "test/cudart/fixture.h"

using rouse::test::Fixture;
using rouse::test::kernelOf;
using rouse::test::launchAddOne;
using rouse::test::server;

extern "C" {
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, cudaStream_t);
cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, size_t*, void*);
cudaError_t __cudaGetKernel(cudaKernel_t*, const void*);
cudaError_t __cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t);
char __cudaInitModule(void**);
void __cudaUnregisterFatBinary(void**);
void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*, int*);
}

namespace {

void** registered() {
  static void** const handle = rouse::test::registerModule("good module of the launch tests\n");
  REQUIRE(handle != nullptr);
  return handle;
}

std::vector<std::uint32_t> wordsAt(void* device, std::size_t count) {
  std::vector<std::uint32_t> words(count);
  REQUIRE(cudaMemcpy(words.data(), device, count * 4, cudaMemcpyDeviceToHost) == cudaSuccess);
  return words;
}

}  // namespace

TEST_CASE_METHOD(Fixture, "a module is offered at the first launch, exactly as long as it is", "[cudart][launch]") {
  registered();
  void* words = nullptr;
  REQUIRE(cudaMalloc(&words, 4000) == cudaSuccess);
  REQUIRE(cudaMemset(words, 0, 4000) == cudaSuccess);
  const auto launches = server().executor(0).count(rouse::wire::Opcode::Launch);
  REQUIRE(launchAddOne(words, 1000) == cudaSuccess);
  REQUIRE(launchAddOne(words, 500) == cudaSuccess);
  CHECK(server().lastModule() == "good module of the launch tests\n");
  const auto got = wordsAt(words, 1000);
  CHECK(got[0] == 2);
  CHECK(got[499] == 2);
  CHECK(got[500] == 1);
  CHECK(got[999] == 1);
  CHECK(server().executor(0).count(rouse::wire::Opcode::Launch) == launches + 2);
}

TEST_CASE_METHOD(Fixture, "kernels run on the device that is current", "[cudart][launch]") {
  registered();
  void* words = nullptr;
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  REQUIRE(cudaMalloc(&words, 400) == cudaSuccess);
  REQUIRE(cudaMemset(words, 0, 400) == cudaSuccess);
  const auto launches = server().executor(1).count(rouse::wire::Opcode::Launch);
  REQUIRE(launchAddOne(words, 100) == cudaSuccess);
  CHECK(wordsAt(words, 100)[99] == 1);
  CHECK(server().executor(1).count(rouse::wire::Opcode::Launch) == launches + 1);
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  CHECK(launchAddOne(words, 100, stream) == cudaErrorInvalidResourceHandle);  // a stream of the other device
}

TEST_CASE_METHOD(Fixture, "a kernel has one handle, and is launched by it, too", "[cudart][launch]") {
  registered();
  cudaKernel_t kernel = nullptr, again = nullptr;
  REQUIRE(__cudaGetKernel(&kernel, kernelOf(rouse::test::addOne)) == cudaSuccess);
  REQUIRE(cudaGetKernel(&again, kernelOf(rouse::test::addOne)) == cudaSuccess);
  CHECK(kernel == again);
  CHECK(__cudaGetKernel(&again, &again) == cudaErrorInvalidDeviceFunction);

  void* words = nullptr;
  std::uint64_t count = 10;
  REQUIRE(cudaMalloc(&words, 40) == cudaSuccess);
  REQUIRE(cudaMemset(words, 0, 40) == cudaSuccess);
  void* arguments[] = {&words, &count};
  CHECK(__cudaLaunchKernel(kernel, dim3(1), dim3(1), arguments, 0, nullptr) == cudaSuccess);
  CHECK(cudaLaunchKernel(kernel, dim3(1), dim3(1), arguments, 0, nullptr) == cudaSuccess);
  CHECK(wordsAt(words, 10)[9] == 2);
  CHECK(__cudaLaunchKernel(nullptr, dim3(1), dim3(1), arguments, 0, nullptr) == cudaErrorInvalidDeviceFunction);
}

TEST_CASE_METHOD(Fixture, "what cannot be launched fails at the call", "[cudart][launch]") {
  registered();
  void* words = nullptr;
  std::uint64_t count = 10;
  REQUIRE(cudaMalloc(&words, 40) == cudaSuccess);
  void* arguments[] = {&words, &count};
  const auto launch = [&](const void* function, dim3 grid, dim3 block, void** with, std::size_t shared) {
    return cudaLaunchKernel(function, grid, block, with, shared, nullptr);
  };
  const void* kernel = kernelOf(rouse::test::addOne);
  CHECK(launch(kernel, dim3(0), dim3(1), arguments, 0) == cudaErrorInvalidValue);
  CHECK(launch(kernel, dim3(1), dim3(1025), arguments, 0) == cudaErrorInvalidValue);
  CHECK(launch(kernel, dim3(1), dim3(1, 1, 65), arguments, 0) == cudaErrorInvalidValue);
  CHECK(launch(kernel, dim3(1, 65536), dim3(1), arguments, 0) == cudaErrorInvalidValue);
  CHECK(launch(kernel, dim3(1), dim3(512), arguments, 0) != cudaSuccess);  // compiled for 256
  CHECK(launch(kernel, dim3(1), dim3(1), nullptr, 0) == cudaErrorInvalidValue);
  CHECK(launch(kernel, dim3(1), dim3(1), arguments, 1 << 20) == cudaErrorInvalidValue);
  CHECK(launch(kernel, dim3(1), dim3(1), arguments, std::size_t{1} << 40) == cudaErrorInvalidValue);
  CHECK(launch(nullptr, dim3(1), dim3(1), arguments, 0) == cudaErrorInvalidDeviceFunction);
  CHECK(launch(&count, dim3(1), dim3(1), arguments, 0) == cudaErrorInvalidResourceHandle);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidResourceHandle);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE_METHOD(Fixture, "a launch with attributes", "[cudart][launch]") {
  registered();
  void* words = nullptr;
  std::uint64_t count = 10;
  cudaEvent_t event = nullptr;
  REQUIRE(cudaMalloc(&words, 40) == cudaSuccess);
  REQUIRE(cudaMemset(words, 0, 40) == cudaSuccess);
  REQUIRE(cudaEventCreateWithFlags(&event, cudaEventDisableTiming) == cudaSuccess);
  void* arguments[] = {&words, &count};
  cudaLaunchAttribute attributes[3] = {};
  attributes[0].id = cudaLaunchAttributePriority;
  attributes[0].val.priority = -1;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim.x = attributes[1].val.clusterDim.y = attributes[1].val.clusterDim.z = 1;
  attributes[2].id = cudaLaunchAttributeProgrammaticEvent;
  attributes[2].val.programmaticEvent.event = event;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(2);
  config.blockDim = dim3(32);
  config.attrs = attributes;
  config.numAttrs = 3;
  const void* kernel = kernelOf(rouse::test::addOne);
  REQUIRE(cudaLaunchKernelExC(&config, kernel, arguments) == cudaSuccess);
  CHECK(cudaEventSynchronize(event) == cudaSuccess);
  CHECK(wordsAt(words, 10)[0] == 1);

  attributes[1].val.clusterDim.x = 2;
  REQUIRE(cudaLaunchKernelExC(&config, kernel, arguments) == cudaSuccess);
  CHECK(wordsAt(words, 10)[0] == 2);
  // No part of the grid, larger than every GPU has, not a cluster at all.
  attributes[1].val.clusterDim.x = 3;
  CHECK(cudaLaunchKernelExC(&config, kernel, arguments) == cudaErrorInvalidClusterSize);
  attributes[1].val.clusterDim.x = 16;
  config.gridDim = dim3(32);
  CHECK(cudaLaunchKernelExC(&config, kernel, arguments) == cudaErrorInvalidClusterSize);
  REQUIRE(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) == cudaSuccess);
  CHECK(cudaLaunchKernelExC(&config, kernel, arguments) == cudaSuccess);
  config.gridDim = dim3(34);
  attributes[1].val.clusterDim.x = 17;
  CHECK(cudaLaunchKernelExC(&config, kernel, arguments) == cudaErrorInvalidClusterSize);
  attributes[1].val.clusterDim.x = 2;
  attributes[1].val.clusterDim.y = 0;
  CHECK(cudaLaunchKernelExC(&config, kernel, arguments) == cudaErrorInvalidClusterSize);
  REQUIRE(cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 0) == cudaSuccess);

  // As the kernel is said to need it, where the launch does not say.
  config.gridDim = dim3(2);
  config.numAttrs = 0;
  REQUIRE(cudaFuncSetAttribute(kernel, cudaFuncAttributeRequiredClusterWidth, 2) == cudaSuccess);
  CHECK(cudaLaunchKernelExC(&config, kernel, arguments) == cudaErrorInvalidClusterSize);  // the others are 0
  REQUIRE(cudaFuncSetAttribute(kernel, cudaFuncAttributeRequiredClusterHeight, 1) == cudaSuccess);
  REQUIRE(cudaFuncSetAttribute(kernel, cudaFuncAttributeRequiredClusterDepth, 1) == cudaSuccess);
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeRequiredClusterDepth, 17) == cudaErrorInvalidValue);
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeRequiredClusterDepth, -1) == cudaErrorInvalidValue);
  CHECK(cudaLaunchKernelExC(&config, kernel, arguments) == cudaSuccess);
  cudaFuncAttributes needs{};
  REQUIRE(cudaFuncGetAttributes(&needs, kernel) == cudaSuccess);
  CHECK(needs.requiredClusterWidth == 2);
  CHECK(needs.requiredClusterDepth == 1);
  config.gridDim = dim3(3);
  CHECK(cudaLaunchKernelExC(&config, kernel, arguments) == cudaErrorInvalidClusterSize);
  for (const auto dimension : {cudaFuncAttributeRequiredClusterWidth, cudaFuncAttributeRequiredClusterHeight, cudaFuncAttributeRequiredClusterDepth})
    REQUIRE(cudaFuncSetAttribute(kernel, dimension, 0) == cudaSuccess);
  CHECK(cudaLaunchKernelExC(&config, kernel, arguments) == cudaSuccess);
  const std::uint32_t launched = wordsAt(words, 10)[0];
  config.numAttrs = 3;
  config.gridDim = dim3(2);
  attributes[1].val.clusterDim.y = 1;
  attributes[1].id = static_cast<cudaLaunchAttributeID>(1000);
  CHECK(cudaLaunchKernelExC(&config, kernel, arguments) == cudaErrorInvalidValue);
  CHECK(cudaLaunchKernelExC(nullptr, kernel, arguments) == cudaErrorInvalidValue);
  CHECK(wordsAt(words, 10)[0] == launched);
  CHECK(launched == 5);
}

TEST_CASE_METHOD(Fixture, "configurations nest as the arguments of launches do", "[cudart][launch]") {
  dim3 grid, block;
  std::size_t shared = 0;
  cudaStream_t stream = nullptr;
  CHECK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream) == cudaErrorMissingConfiguration);
  for (unsigned i = 1; i <= 5; ++i)
    CHECK(__cudaPushCallConfiguration(dim3(i), dim3(10 * i), i, cudaStreamPerThread) == 0);
  for (unsigned i = 5; i >= 1; --i) {
    REQUIRE(__cudaPopCallConfiguration(&grid, &block, &shared, &stream) == cudaSuccess);
    CHECK(grid.x == i);
    CHECK(block.x == 10 * i);
    CHECK(shared == i);
    CHECK(stream == cudaStreamPerThread);
  }
  CHECK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream) == cudaErrorMissingConfiguration);
  (void)cudaGetLastError();
}

TEST_CASE_METHOD(Fixture, "a kernel describes itself", "[cudart][launch]") {
  registered();
  const void* kernel = kernelOf(rouse::test::fillWords);
  cudaFuncAttributes attributes;
  REQUIRE(cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess);
  CHECK(attributes.sharedSizeBytes == 1024);
  CHECK(attributes.maxThreadsPerBlock == 1024);
  CHECK(attributes.preferredShmemCarveout == -1);
  const char* name = nullptr;
  REQUIRE(cudaFuncGetName(&name, kernel) == cudaSuccess);
  CHECK(std::string(name) == "fillWords");
  std::size_t offset = 0, size = 0;
  REQUIRE(cudaFuncGetParamInfo(kernel, 2, &offset, &size) == cudaSuccess);
  CHECK(offset == 16);
  CHECK(size == 4);
  CHECK(cudaFuncGetParamInfo(kernel, 3, &offset, &size) == cudaErrorInvalidValue);
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 50) == cudaSuccess);
  REQUIRE(cudaFuncGetAttributes(&attributes, kernel) == cudaSuccess);
  CHECK(attributes.preferredShmemCarveout == 50);
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 101) == cudaErrorInvalidValue);
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20) == cudaErrorInvalidValue);
  CHECK(cudaFuncGetAttributes(&attributes, &name) == cudaErrorInvalidResourceHandle);
}

TEST_CASE_METHOD(Fixture, "managed variables have their place before the host looks", "[cudart][launch]") {
  void** handle = registered();
  CHECK(__cudaInitModule(handle) != 0);
  REQUIRE(rouse::test::managedVariable != nullptr);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(static_cast<std::uint32_t>(*rouse::test::managedVariable) == rouse::test::kVariableWord);
  void* address = nullptr;
  CHECK(cudaGetSymbolAddress(&address, rouse::test::managedVariable) == cudaSuccess);
  CHECK(address == rouse::test::managedVariable);
  // The same place on the other device.
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  CHECK(cudaGetSymbolAddress(&address, rouse::test::managedVariable) == cudaSuccess);
  CHECK(address == rouse::test::managedVariable);
}

TEST_CASE_METHOD(Fixture, "a broken module fails with its own error, each time", "[cudart][launch]") {
  static rouse::test::Stub const stub = [] {};
  static void** const handle = [] {
    static struct {
      int magic = 0x466243b1, version = 1;
      const char* data = "not what the server takes\n";
      void* unused = nullptr;
    } wrapper;
    return __cudaRegisterFatBinary(&wrapper);
  }();
  __cudaRegisterFunction(handle, reinterpret_cast<const char*>(stub), nullptr, "addOne", -1, nullptr, nullptr, nullptr,
                         nullptr, nullptr);
  CHECK(cudaLaunchKernel(kernelOf(stub), dim3(1), dim3(1), nullptr, 0, nullptr) == cudaErrorInvalidPtx);
  CHECK(cudaLaunchKernel(kernelOf(stub), dim3(1), dim3(1), nullptr, 0, nullptr) == cudaErrorInvalidPtx);
  cudaKernel_t kernel = nullptr;
  CHECK(cudaGetKernel(&kernel, kernelOf(stub)) == cudaSuccess);  // needs no code yet
  __cudaUnregisterFatBinary(handle);
  CHECK(cudaGetKernel(&kernel, kernelOf(stub)) == cudaErrorInvalidDeviceFunction);
}

TEST_CASE_METHOD(Fixture, "what is no fatbin is not registered", "[cudart][launch]") {
  int nonsense[6] = {1, 2, 3, 4, 5, 6};
  CHECK(__cudaRegisterFatBinary(nonsense) == nullptr);
  __cudaUnregisterFatBinary(nullptr);
  __cudaUnregisterFatBinary(reinterpret_cast<void**>(nonsense));
}
