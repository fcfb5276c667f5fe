// A libcublas.so.13, and libcublasLt.so.13 (cublaslt_double.cc), that computes nothing: each function of the real one writes down its name and its arguments, as 64-bit words.
#include <cublas_api.h>
#include <unistd.h>

#include <atomic>

#include "test/libraries/recorded.h"

using namespace rouse::recorded;

// The exported function is that instance itself.
#define ROUSE_BLAS_CALL(name, ...)
#define ROUSE_BLAS_NAME(name, ...)                                                        \
  static constexpr char kName_##name[] = #name;                                           \
  extern "C" {                                                                            \
  using Type_##name = cublasStatus_t (*)(__VA_ARGS__);                                    \
  static Type_##name resolve_##name() { return &record<kName_##name, cublasStatus_t, __VA_ARGS__>; }      \
  __attribute__((visibility("default"), ifunc("resolve_" #name))) cublasStatus_t name(__VA_ARGS__); \
  }
#include "server/library/cuda/blas_calls.inc"

ROUSE_BLAS_NAME(cublasSetStream_v2, cublasHandle_t, cudaStream_t)
ROUSE_BLAS_NAME(cublasSetWorkspace_v2, cublasHandle_t, void*, size_t)
ROUSE_BLAS_NAME(cublasSetPointerMode_v2, cublasHandle_t, cublasPointerMode_t)
ROUSE_BLAS_NAME(cublasSetAtomicsMode, cublasHandle_t, cublasAtomicsMode_t)
ROUSE_BLAS_NAME(cublasSetMathMode, cublasHandle_t, cublasMath_t)
ROUSE_BLAS_NAME(cublasSetSmCountTarget, cublasHandle_t, int)
ROUSE_BLAS_NAME(cublasDestroy_v2, cublasHandle_t)
ROUSE_BLAS_NAME(cublasSetEmulationStrategy, cublasHandle_t, cublasEmulationStrategy_t)
ROUSE_BLAS_NAME(cublasSetEmulationSpecialValuesSupport, cublasHandle_t, cudaEmulationSpecialValuesSupport)
ROUSE_BLAS_NAME(cublasSetFixedPointEmulationMantissaControl, cublasHandle_t, cudaEmulationMantissaControl)
ROUSE_BLAS_NAME(cublasSetFixedPointEmulationMaxMantissaBitCount, cublasHandle_t, int)
ROUSE_BLAS_NAME(cublasSetFixedPointEmulationMantissaBitOffset, cublasHandle_t, int)
ROUSE_BLAS_NAME(cublasSetFixedPointEmulationMantissaBitCountPointer, cublasHandle_t, int*)

// For tests: while the word is 0, cublasCreate_v2 does not return. Null: it does.
static std::atomic<std::uint32_t*> held{nullptr};
ROUSE_EXPORTED void rouse_cublas_double_hold(std::uint32_t* word) { held = word; }

ROUSE_EXPORTED cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  if (std::uint32_t* const word = held; word != nullptr)
    while (std::atomic_ref(*word).load() == 0) usleep(100);
  const std::uint64_t number = fresh();
  *handle = reinterpret_cast<cublasHandle_t>(number);
  all().push_back({"cublasCreate_v2", {number}});
  return CUBLAS_STATUS_SUCCESS;
}

ROUSE_EXPORTED const char* cublasGetStatusName(cublasStatus_t) { return "CUBLAS_STATUS_OF_THE_DOUBLE"; }

ROUSE_TAKEN
