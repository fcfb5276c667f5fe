// What the loader says when there is no driver that will do.
#include "server/device/cuda/driver/load.h"

#include <driver_types.h>

#include "memory/start_failure.h"
#include "server/device/cuda/driver/error.h"
#include "test/cuda-double/tests/bench.h"

using namespace rouse;
using namespace rouse::cuda_double_test;
using Catch::Contains;

// error.h relies on it.
static_assert(static_cast<int>(CUDA_ERROR_OUT_OF_MEMORY) == cudaErrorMemoryAllocation);
static_assert(static_cast<int>(CUDA_ERROR_DEVICE_UNAVAILABLE) == cudaErrorDevicesUnavailable);
static_assert(static_cast<int>(CUDA_ERROR_NO_DEVICE) == cudaErrorNoDevice);
static_assert(static_cast<int>(CUDA_ERROR_INVALID_IMAGE) == cudaErrorInvalidKernelImage);
static_assert(static_cast<int>(CUDA_ERROR_INVALID_PTX) == cudaErrorInvalidPtx);
static_assert(static_cast<int>(CUDA_ERROR_INVALID_HANDLE) == cudaErrorInvalidResourceHandle);
static_assert(static_cast<int>(CUDA_ERROR_NOT_FOUND) == cudaErrorSymbolNotFound);
static_assert(static_cast<int>(CUDA_ERROR_NOT_READY) == cudaErrorNotReady);
static_assert(static_cast<int>(CUDA_ERROR_ILLEGAL_ADDRESS) == cudaErrorIllegalAddress);
static_assert(static_cast<int>(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES) == cudaErrorLaunchOutOfResources);
static_assert(static_cast<int>(CUDA_ERROR_ASSERT) == cudaErrorAssert);
static_assert(static_cast<int>(CUDA_ERROR_LAUNCH_FAILED) == cudaErrorLaunchFailure);
static_assert(static_cast<int>(CUDA_ERROR_NOT_SUPPORTED) == cudaErrorNotSupported);
static_assert(static_cast<int>(CUDA_ERROR_UNKNOWN) == cudaErrorUnknown);

TEST_CASE("the double is a driver") {
  driver();
  const auto loaded = cuda::loadDriver();
  REQUIRE(loaded.ok());
  int version = 0;
  CHECK((*loaded)->cuDriverGetVersion(&version) == CUDA_SUCCESS);
  CHECK(version >= cuda::kMinimumDriver);
  bool all = true;
  cuda::forEachFunction(**loaded, [&](const char*, auto& pointer) { all &= pointer != nullptr; });
  CHECK(all);
}

TEST_CASE("no library: named, with what to do") {
  Variable chosen(cuda::kDriverVariable, "/nonexistent/libcuda.so.1");
  const auto loaded = cuda::loadDriver();
  REQUIRE_FALSE(loaded.ok());
  CHECK(loaded.error().code == memory::kNoDriver);
  CHECK_THAT(loaded.error().message, Contains("/nonexistent/libcuda.so.1") && Contains("ROUSE_LIBCUDA"));
}

TEST_CASE("a library that is no driver") {
  Variable chosen(cuda::kDriverVariable, "libm.so.6");
  const auto loaded = cuda::loadDriver();
  REQUIRE_FALSE(loaded.ok());
  CHECK(loaded.error().code == CudaError::symbolNotFound);
  CHECK_THAT(loaded.error().message, Contains("libm.so.6") && Contains("cuDriverGetVersion"));
}

TEST_CASE("a library without a function") {
  Variable chosen(cuda::kDriverVariable, ROUSE_HOLLOW_DRIVER);
  const auto loaded = cuda::loadDriver();
  REQUIRE_FALSE(loaded.ok());
  CHECK(loaded.error().code == CudaError::symbolNotFound);
  CHECK_THAT(loaded.error().message, Contains("hollow-driver") && Contains("cuGetErrorName") && Contains("install"));
}

TEST_CASE("an old driver: its version, and the one needed") {
  driver();
  Variable old("ROUSE_DOUBLE_DRIVER_VERSION", "12040");
  const auto loaded = cuda::loadDriver();
  REQUIRE_FALSE(loaded.ok());
  CHECK(loaded.error().code == memory::kDriverTooOld);
  CHECK_THAT(loaded.error().message, Contains("12.4") && Contains("13.0") && Contains("libcuda.so.1"));
}

TEST_CASE("results become errors that name call, result and circumstance") {
  const Error error = cuda::driverError(driver(), CUDA_ERROR_INVALID_VALUE, "cuMemMap", "chunk 7");
  CHECK(error.code == CudaError::invalidValue);
  CHECK(error.message == "cuMemMap: CUDA_ERROR_INVALID_VALUE (invalid argument): chunk 7");
  CHECK_THAT(cuda::driverError(driver(), static_cast<CUresult>(12345), "cuInit").message, Contains("12345"));
  CHECK(cuda::check(driver(), CUDA_SUCCESS, "cuInit").ok());
  CHECK_FALSE(cuda::check(driver(), CUDA_ERROR_NO_DEVICE, "cuInit").ok());
}

TEST_CASE("results that lose the context are known") {
  for (const CUresult lost : {CUDA_ERROR_ILLEGAL_ADDRESS, CUDA_ERROR_LAUNCH_FAILED, CUDA_ERROR_ECC_UNCORRECTABLE,
                              CUDA_ERROR_ASSERT, CUDA_ERROR_HARDWARE_STACK_ERROR, CUDA_ERROR_CONTAINED}) {
    CHECK(cuda::isFatal(lost));
  }
  for (const CUresult kept : {CUDA_SUCCESS, CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_READY,
                              CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, CUDA_ERROR_NOT_SUPPORTED}) {
    CHECK_FALSE(cuda::isFatal(kept));
  }
}
