// Which calls set the last error, and which clear it.
#include <thread>

#include "test/cudart/fixture.h"

using rouse::test::Fixture;
using rouse::test::launchFault;

namespace {

void* registered() {
  static void** handle = rouse::test::registerModule();
  return handle;
}

}  // namespace

TEST_CASE_METHOD(Fixture, "a failed call sets the last error, a successful one leaves it", "[cudart][errors]") {
  CHECK(cudaSetDevice(77) == cudaErrorInvalidDevice);
  int count = 0;
  CHECK(cudaGetDeviceCount(&count) == cudaSuccess);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidDevice);
  CHECK(cudaMalloc(nullptr, 4) == cudaErrorInvalidValue);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaSuccess);
}

TEST_CASE_METHOD(Fixture, "the last error is a thread's own", "[cudart][errors]") {
  CHECK(cudaSetDevice(77) == cudaErrorInvalidDevice);
  cudaError_t elsewhere = cudaErrorUnknown;
  std::thread([&] { elsewhere = cudaGetLastError(); }).join();
  CHECK(elsewhere == cudaSuccess);
  CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
}

TEST_CASE_METHOD(Fixture, "a kernel's failure is reported by the next synchronisation", "[cudart][errors]") {
  registered();
  REQUIRE(launchFault(cudaErrorIllegalAddress) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);

  // It comes again, whatever is called, until the device is reset.
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, 16) == cudaErrorIllegalAddress);
  CHECK(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
  CHECK(cudaGetLastError() == cudaErrorIllegalAddress);
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(launchFault(cudaSuccess) == cudaErrorIllegalAddress);
  // What never reaches the device still works.
  int device = -1;
  CHECK(cudaGetDevice(&device) == cudaSuccess);

  CHECK(cudaDeviceReset() == cudaSuccess);
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(cudaMalloc(&memory, 16) == cudaSuccess);
}

TEST_CASE_METHOD(Fixture, "one device's failure is not another's", "[cudart][errors]") {
  registered();
  REQUIRE(launchFault(cudaErrorAssert) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaErrorAssert);
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, 16) == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
}

TEST_CASE_METHOD(Fixture, "work that is not done is an error of its own", "[cudart][errors]") {
  registered();
  REQUIRE(rouse::test::launchSleep(0) == cudaSuccess);  // loads the module while work is still done
  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  rouse::test::server().executor(0).hold(true);
  cudaEvent_t event = nullptr;
  REQUIRE(cudaEventCreate(&event) == cudaSuccess);
  REQUIRE(rouse::test::launchSleep(1) == cudaSuccess);
  REQUIRE(cudaEventRecord(event, nullptr) == cudaSuccess);
  CHECK(cudaStreamQuery(nullptr) == cudaErrorNotReady);
  CHECK(cudaEventQuery(event) == cudaErrorNotReady);
  CHECK(cudaGetLastError() == cudaErrorNotReady);
  rouse::test::server().executor(0).hold(false);
  CHECK(cudaEventSynchronize(event) == cudaSuccess);
  CHECK(cudaEventQuery(event) == cudaSuccess);
}
