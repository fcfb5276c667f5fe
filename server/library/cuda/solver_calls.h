// A call of cuSOLVER as calls of NVIDIA's cuSOLVER 12: how much it works in, and itself, with memory of the executor's where the program's is not enough. Tested before
// a double; what NVIDIA's library takes is known from a GPU only.
#pragma once

#include <cusolverDn.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "schemas/base/result.h"
#include "schemas/solver/functions.h"

struct CUstream_st;

namespace rouse::library::cuda {

#define ROUSE_SOLVER_OWN_NAMES(name)    \
  name(cusolverDnCreate)                \
  name(cusolverDnDestroy)               \
  name(cusolverDnSetStream)             \
  name(cusolverDnSetDeterministicMode)  \
  name(cusolverDnCreateParams)          \
  name(cusolverDnDestroyParams)         \
  name(cusolverDnSetAdvOptions)         \
  name(cusolverDnCreateSyevjInfo)       \
  name(cusolverDnDestroySyevjInfo)      \
  name(cusolverDnXsyevjSetTolerance)    \
  name(cusolverDnXsyevjSetMaxSweeps)    \
  name(cusolverDnXsyevjSetSortEig)      \
  name(cusolverDnCreateGesvdjInfo)      \
  name(cusolverDnDestroyGesvdjInfo)     \
  name(cusolverDnXgesvdjSetTolerance)   \
  name(cusolverDnXgesvdjSetMaxSweeps)   \
  name(cusolverDnXgesvdjSetSortEig)

struct SolverApi {
#define ROUSE_SOLVER_NAME(name) decltype(&::name) name = nullptr;
#define ROUSE_SOLVER_CALL(name, ...)
  ROUSE_SOLVER_OWN_NAMES(ROUSE_SOLVER_NAME)
#include "server/library/cuda/solver_calls.inc"
  // Not in every cuSOLVER 12; null: not there.
  ROUSE_SOLVER_NAME(cusolverDnSetMathMode)
  ROUSE_SOLVER_NAME(cusolverDnSetEmulationStrategy)
#undef ROUSE_SOLVER_CALL
#undef ROUSE_SOLVER_NAME
};

// The library's handle in one stream, with what is set in it and in its parameter objects. One call at a time.
class SolverHandle {
 public:
  // memory: so many bytes of the device's, of the executor's to work in; what is queued may still work in what it gave before.
  Status run(const SolverApi& api, CUstream_st* stream, solver::Function function, const solver::Call& call,
             const std::function<Result<std::uint64_t>(std::uint64_t)>& memory);
  // Another stream may be where an ended one was.
  void forgetStream() { hasStream_ = false; }
  void destroy(const SolverApi& api);

 private:
  // What has been set by a call; 0: not set, so that it is the library's own.
  struct Jacobi {
    double tolerance = 0;
    std::int32_t sweeps = 0;
    bool sorts = true;
    auto operator<=>(const Jacobi&) const = default;
  };
  Status ready(const SolverApi& api, CUstream_st* stream);
  Status set(const SolverApi& api, const solver::Call& call);
  // Objects with what the call sets, kept: what is queued may read them.
  Result<cusolverDnParams_t> parametersOf(const SolverApi& api, std::uint8_t algorithms);
  Result<syevjInfo_t> syevjOf(const SolverApi& api, const Jacobi& jacobi);
  Result<gesvdjInfo_t> gesvdjOf(const SolverApi& api, const Jacobi& jacobi);
  void* hostWork(std::size_t bytes);

  static constexpr std::size_t kMostObjects = 64;  // of a kind; then all of them are made anew
  cusolverDnHandle_t handle_ = nullptr;
  CUstream_st* stream_ = nullptr;
  bool hasStream_ = false;
  std::map<std::uint8_t, cusolverDnParams_t> parameters_;
  std::map<Jacobi, syevjInfo_t> syevj_;
  std::map<Jacobi, gesvdjInfo_t> gesvdj_;
  // As it is set in the library; what a fresh handle has.
  std::uint8_t deterministic_ = CUSOLVER_DETERMINISTIC_RESULTS, mathMode_ = CUSOLVER_DEFAULT_MATH, emulation_ = 0;
  // The host's, the largest is the last: what is queued may work in the others.
  std::vector<std::unique_ptr<std::byte[]>> hostWork_;
  std::size_t hostBytes_ = 0;
  std::int64_t ignored_ = 0;  // what the host is told that nobody asks for
};

}  // namespace rouse::library::cuda
