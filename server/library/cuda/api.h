// The functions that are used of NVIDIA's libraries, as they are found in them.
#pragma once

#include <cublasLt.h>
#include <cublas_api.h>

#include <cstdint>
#include <unordered_set>

#include "server/library/cuda/dnn_calls.h"
#include "server/library/cuda/fft_calls.h"
#include "server/library/cuda/rand_calls.h"
#include "server/library/cuda/real_libraries.h"
#include "server/library/cuda/sparse_calls.h"
#include "server/library/cuda/solver_calls.h"
#include "server/library/cuda/system_calls.h"

namespace rouse::library::cuda {

struct BlasApi {
  decltype(&::cublasCreate_v2) cublasCreate_v2 = nullptr;
  decltype(&::cublasDestroy_v2) cublasDestroy_v2 = nullptr;
  decltype(&::cublasSetStream_v2) cublasSetStream_v2 = nullptr;
  decltype(&::cublasSetWorkspace_v2) cublasSetWorkspace_v2 = nullptr;
  decltype(&::cublasSetPointerMode_v2) cublasSetPointerMode_v2 = nullptr;
  decltype(&::cublasSetAtomicsMode) cublasSetAtomicsMode = nullptr;
  decltype(&::cublasSetMathMode) cublasSetMathMode = nullptr;
  decltype(&::cublasSetSmCountTarget) cublasSetSmCountTarget = nullptr;
  decltype(&::cublasGetStatusName) cublasGetStatusName = nullptr;
#define ROUSE_BLAS_CALL(name, ...)
#define ROUSE_BLAS_NAME(name, ...) cublasStatus_t (*name)(__VA_ARGS__) = nullptr;  // some are overloaded in C++
#include "server/library/cuda/blas_calls.inc"
#undef ROUSE_BLAS_CALL
#undef ROUSE_BLAS_NAME
  // Of CUDA 13.0's second update on; null: not there.
  cublasStatus_t (*cublasSetEmulationStrategy)(cublasHandle_t, cublasEmulationStrategy_t) = nullptr;
  cublasStatus_t (*cublasSetEmulationSpecialValuesSupport)(cublasHandle_t, cudaEmulationSpecialValuesSupport) = nullptr;
  cublasStatus_t (*cublasSetFixedPointEmulationMantissaControl)(cublasHandle_t, cudaEmulationMantissaControl) = nullptr;
  cublasStatus_t (*cublasSetFixedPointEmulationMaxMantissaBitCount)(cublasHandle_t, int) = nullptr;
  cublasStatus_t (*cublasSetFixedPointEmulationMantissaBitOffset)(cublasHandle_t, int) = nullptr;
  cublasStatus_t (*cublasSetFixedPointEmulationMantissaBitCountPointer)(cublasHandle_t, int*) = nullptr;
};

struct LtApi {
  decltype(&::cublasLtMatmul) cublasLtMatmul = nullptr;
  decltype(&::cublasLtMatmulDescInit_internal) cublasLtMatmulDescInit_internal = nullptr;
  decltype(&::cublasLtMatmulDescSetAttribute) cublasLtMatmulDescSetAttribute = nullptr;
  decltype(&::cublasLtMatrixLayoutInit_internal) cublasLtMatrixLayoutInit_internal = nullptr;
  decltype(&::cublasLtMatrixLayoutSetAttribute) cublasLtMatrixLayoutSetAttribute = nullptr;
  decltype(&::cublasLtMatrixTransform) cublasLtMatrixTransform = nullptr;
  decltype(&::cublasLtMatrixTransformDescInit_internal) cublasLtMatrixTransformDescInit_internal = nullptr;
  decltype(&::cublasLtMatrixTransformDescSetAttribute) cublasLtMatrixTransformDescSetAttribute = nullptr;
};

struct Handle {
  cublasHandle_t handle = nullptr;  // none: only libraries that need none have been called with it
  cudaStream_t stream = nullptr;
  // As it is set in the library; what a fresh handle has.
  cublasPointerMode_t pointerMode = CUBLAS_POINTER_MODE_HOST;
  cublasAtomicsMode_t atomics = CUBLAS_ATOMICS_NOT_ALLOWED;
  cublasMath_t mathMode = CUBLAS_DEFAULT_MATH;
  std::int32_t multiprocessors = 0;
  blas::Emulation emulation;
  std::uint64_t workspace = 0, workspaceBytes = 0;
  bool blasHasStream = false;  // that is `stream`
  cudnnHandle_t dnn = nullptr;  // from the first graph on
  bool dnnHasStream = false;     // and that is `stream`
  Workspace own;                  // of cuDNN, with its handle
  std::vector<Workspace> larger;  // of plans that need more; the largest is the last
  DnnPlans plans;
  FftPlans transforms;
  RandGenerators generators;
  std::vector<Workspace> areas;  // of cuFFT and cuRAND; the largest is the last; what is queued works in the others
  cusparseHandle_t sparse = nullptr;  // from the first call on
  bool sparseHasStream = false;        // and that is `stream`
  std::vector<Workspace> ofSparse[kSparseMemories];  // as of transforms
  SolverHandle solver;
  std::vector<Workspace> ofSolver;  // in the same way
  cusolverSpHandle_t system = nullptr;  // from the first call on
  bool systemHasStream = false;
  std::vector<Workspace> ofSystem[kSystemMemories];
  std::unordered_set<std::uint64_t> known;  // kinds of calls
};

}  // namespace rouse::library::cuda
