#include "server/library/cuda/loading.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "server/installation/pool_library.h"
#include "server/library/cuda/api.h"
#include "server/library/cuda/dnn_recurrent.h"
#include "server/library/cuda/real_libraries.h"

namespace rouse::library::cuda {
namespace {

Result<void*> open(const char* variable, const char* name, const char* product = "cuBLAS") {
  const char* chosen = std::getenv(variable);
  const bool given = chosen != nullptr && *chosen != '\0';
  void* library = ::dlopen(given ? chosen : name, RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr && installation::isPoolLibrary(library))
    return Error{CudaError::notSupported, std::string("the ") + name + " that the executor finds is the pool's own, not NVIDIA's: take its folder out of LD_LIBRARY_PATH, or name NVIDIA's by " + variable};
  if (library != nullptr) return library;
  const char* reason = ::dlerror();
  return Error{CudaError::notSupported, std::string("no ") + name + " on this node: " + (reason != nullptr ? reason : "unknown reason") +
                                            "; install NVIDIA's " + product + " for CUDA 13 where the executor finds it"};
}

template <class Function>
bool find(void* library, const char* name, Function& pointer, std::string& missing) {
  pointer = reinterpret_cast<Function>(::dlsym(library, name));
  if (pointer != nullptr) return true;
  if (missing.empty()) missing = name;
  return false;
}

Error lacks(const char* library, const std::string& function) {
  return {CudaError::symbolNotFound, std::string(library) + " of this node has no function " + function + "; CUDA 13's has"};
}

}  // namespace

Result<std::unique_ptr<DnnApi>> loadDnn() {
  auto library = open(kDnnVariable, "libcudnn.so.9", "cuDNN 9");
  if (!library) return library.error();
  auto api = std::make_unique<DnnApi>();
  std::string missing;
#define ROUSE_DNN_FIND(name) find(*library, #name, api->name, missing);
  ROUSE_DNN_NAMES(ROUSE_DNN_FIND)
  if (!missing.empty()) return lacks("libcudnn.so.9", missing);
  return api;
}

Result<std::unique_ptr<RecurrentApi>> loadRecurrent() {
  auto library = open(kDnnVariable, "libcudnn.so.9", "cuDNN 9");
  if (!library) return library.error();
  auto api = std::make_unique<RecurrentApi>();
  std::string missing;
  ROUSE_RECURRENT_NAMES(ROUSE_DNN_FIND)
#undef ROUSE_DNN_FIND
  if (!missing.empty()) return lacks("libcudnn.so.9", missing);
  return api;
}

Result<std::unique_ptr<BlasApi>> loadBlas() {
  auto library = open(kBlasVariable, "libcublas.so.13");
  if (!library) return library.error();
  auto api = std::make_unique<BlasApi>();
  std::string missing;
#define ROUSE_BLAS_CALL(name, ...)
#define ROUSE_BLAS_NAME(name, ...) find(*library, #name, api->name, missing);
#include "server/library/cuda/blas_calls.inc"
  ROUSE_BLAS_NAME(cublasCreate_v2, )
  ROUSE_BLAS_NAME(cublasDestroy_v2, )
  ROUSE_BLAS_NAME(cublasSetStream_v2, )
  ROUSE_BLAS_NAME(cublasSetWorkspace_v2, )
  ROUSE_BLAS_NAME(cublasSetPointerMode_v2, )
  ROUSE_BLAS_NAME(cublasSetAtomicsMode, )
  ROUSE_BLAS_NAME(cublasSetMathMode, )
  ROUSE_BLAS_NAME(cublasSetSmCountTarget, )
  ROUSE_BLAS_NAME(cublasGetStatusName, )
#undef ROUSE_BLAS_CALL
#undef ROUSE_BLAS_NAME
  if (!missing.empty()) return lacks("libcublas.so.13", missing);
#define ROUSE_BLAS_NEWER(name) find(*library, #name, api->name, missing);
  ROUSE_BLAS_NEWER(cublasSetEmulationStrategy)
  ROUSE_BLAS_NEWER(cublasSetEmulationSpecialValuesSupport)
  ROUSE_BLAS_NEWER(cublasSetFixedPointEmulationMantissaControl)
  ROUSE_BLAS_NEWER(cublasSetFixedPointEmulationMaxMantissaBitCount)
  ROUSE_BLAS_NEWER(cublasSetFixedPointEmulationMantissaBitOffset)
  ROUSE_BLAS_NEWER(cublasSetFixedPointEmulationMantissaBitCountPointer)
#undef ROUSE_BLAS_NEWER
  return api;
}

Result<std::unique_ptr<LtApi>> loadLt() {
  auto library = open(kLtVariable, "libcublasLt.so.13");
  if (!library) return library.error();
  auto api = std::make_unique<LtApi>();
  std::string missing;
  find(*library, "cublasLtMatmul", api->cublasLtMatmul, missing);
  find(*library, "cublasLtMatmulDescInit_internal", api->cublasLtMatmulDescInit_internal, missing);
  find(*library, "cublasLtMatmulDescSetAttribute", api->cublasLtMatmulDescSetAttribute, missing);
  find(*library, "cublasLtMatrixLayoutInit_internal", api->cublasLtMatrixLayoutInit_internal, missing);
  find(*library, "cublasLtMatrixLayoutSetAttribute", api->cublasLtMatrixLayoutSetAttribute, missing);
  find(*library, "cublasLtMatrixTransform", api->cublasLtMatrixTransform, missing);
  find(*library, "cublasLtMatrixTransformDescInit_internal", api->cublasLtMatrixTransformDescInit_internal, missing);
  find(*library, "cublasLtMatrixTransformDescSetAttribute", api->cublasLtMatrixTransformDescSetAttribute, missing);
  if (!missing.empty()) return lacks("libcublasLt.so.13", missing);
  return api;
}

Result<std::unique_ptr<FftApi>> loadFft() {
  auto library = open(kFftVariable, "libcufft.so.12", "cuFFT");
  if (!library) return library.error();
  auto api = std::make_unique<FftApi>();
  std::string missing;
#define ROUSE_FFT_FIND(name) find(*library, #name, api->name, missing);
  ROUSE_FFT_NAMES(ROUSE_FFT_FIND)
#undef ROUSE_FFT_FIND
  if (!missing.empty()) return lacks("libcufft.so.12", missing);
  return api;
}

Result<std::unique_ptr<RandApi>> loadRand() {
  auto library = open(kRandVariable, "libcurand.so.10", "cuRAND");
  if (!library) return library.error();
  auto api = std::make_unique<RandApi>();
  std::string missing;
#define ROUSE_RAND_FIND(name) find(*library, #name, api->name, missing);
  ROUSE_RAND_NAMES(ROUSE_RAND_FIND)
#undef ROUSE_RAND_FIND
  if (!missing.empty()) return lacks("libcurand.so.10", missing);
  return api;
}

Result<std::unique_ptr<SparseApi>> loadSparse() {
  auto library = open(kSparseVariable, "libcusparse.so.12", "cuSPARSE");
  if (!library) return library.error();
  auto api = std::make_unique<SparseApi>();
  std::string missing;
#define ROUSE_SPARSE_FIND(name) find(*library, #name, api->name, missing);
  ROUSE_SPARSE_NAMES(ROUSE_SPARSE_FIND)
#undef ROUSE_SPARSE_FIND
  if (!missing.empty()) return lacks("libcusparse.so.12", missing);
  return api;
}

Result<std::unique_ptr<SolverApi>> loadSolver() {
  auto library = open(kSolverVariable, "libcusolver.so.12", "cuSOLVER");
  if (!library) return library.error();
  auto api = std::make_unique<SolverApi>();
  std::string missing;
#define ROUSE_SOLVER_CALL(name, ...)
#define ROUSE_SOLVER_NAME(name) find(*library, #name, api->name, missing);
  ROUSE_SOLVER_OWN_NAMES(ROUSE_SOLVER_NAME)
#include "server/library/cuda/solver_calls.inc"
  if (!missing.empty()) return lacks("libcusolver.so.12", missing);
  ROUSE_SOLVER_NAME(cusolverDnSetMathMode)
  ROUSE_SOLVER_NAME(cusolverDnSetEmulationStrategy)
#undef ROUSE_SOLVER_CALL
#undef ROUSE_SOLVER_NAME
  return api;
}

Result<std::unique_ptr<SystemApi>> loadSystems() {
  auto library = open(kSolverVariable, "libcusolver.so.12", "cuSOLVER");
  if (!library) return library.error();
  auto api = std::make_unique<SystemApi>();
  std::string missing;
#define ROUSE_SYSTEM_FIND(name) find(*library, #name, api->name, missing);
  ROUSE_SYSTEM_NAMES(ROUSE_SYSTEM_FIND)
#undef ROUSE_SYSTEM_FIND
  if (!missing.empty()) return lacks("libcusolver.so.12", missing);
  return api;
}

std::uint32_t dnnVersion() {
  auto library = open(kDnnVariable, "libcudnn.so.9", "cuDNN 9");
  decltype(&::cudnnGetVersion) version = nullptr;
  std::string missing;
  if (!library || !find(*library, "cudnnGetVersion", version, missing)) return 0;
  return static_cast<std::uint32_t>(version());
}

}  // namespace rouse::library::cuda
