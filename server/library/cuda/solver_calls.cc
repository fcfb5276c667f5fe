#include "server/library/cuda/solver_calls.h"

#include <algorithm>
#include <string>

#include "schemas/solver/shapes.h"
#include "server/library/cuda/refusals.h"

namespace rouse::library::cuda {
namespace {

Error refusal(std::string_view call, cusolverStatus_t status) { return {errorOf(status), std::string(call) + ": " + nameOf(status)}; }

// As the generated calls name them: what a call works in, and what it is told with besides.
struct Memory {
  void* work = nullptr;
  int elements = 0;            // of the functions that count in them
  std::size_t workBytes = 0;
  void* hostWork = nullptr;
  std::size_t hostWorkBytes = 0;
  const void* low = nullptr;
  const void* high = nullptr;
  void* answer = nullptr;
  cusolverDnParams_t parameters = nullptr;
  syevjInfo_t syevj = nullptr;
  gesvdjInfo_t gesvdj = nullptr;
};

cusolverStatus_t tellSize(const SolverApi& api, cusolverDnHandle_t handle, solver::Function function, const solver::Call& call, Memory& memory) {
  switch (function) {
#define ROUSE_SOLVER_NAME(name)
#define ROUSE_SOLVER_CALL(name, size, run) \
  case solver::Function::name:             \
    return size;
#include "server/library/cuda/solver_calls.inc"
#undef ROUSE_SOLVER_CALL
  }
  return CUSOLVER_STATUS_NOT_SUPPORTED;
}

cusolverStatus_t dispatch(const SolverApi& api, cusolverDnHandle_t handle, solver::Function function, const solver::Call& call, const Memory& memory) {
  switch (function) {
#define ROUSE_SOLVER_CALL(name, size, run) \
  case solver::Function::name:             \
    return run;
#include "server/library/cuda/solver_calls.inc"
#undef ROUSE_SOLVER_CALL
#undef ROUSE_SOLVER_NAME
  }
  return CUSOLVER_STATUS_NOT_SUPPORTED;
}

bool usesSyevj(solver::Verb verb) { return verb == solver::Verb::syevj || verb == solver::Verb::sygvj || verb == solver::Verb::syevBatched; }
bool usesGesvdj(solver::Verb verb) { return verb == solver::Verb::gesvdj || verb == solver::Verb::gesvdjBatched; }
// How many eigenvalues there are it tells always.
bool alwaysAnswers(solver::Verb verb) { return verb == solver::Verb::syevdx || verb == solver::Verb::sygvdx; }

// The object of these settings, made by make(object) where there is none.
template <class Key, class Object, class Make, class Destroy>
Result<Object> objectOf(std::map<Key, Object>& objects, std::size_t most, const Key& key, Make&& make, Destroy destroy) {
  if (const auto found = objects.find(key); found != objects.end()) return found->second;
  if (objects.size() == most) {
    for (const auto& [settings, object] : objects) destroy(object);
    objects.clear();
  }
  Object object = nullptr;
  if (const Status made = make(object); !made) {
    if (object != nullptr) destroy(object);
    return made.error();
  }
  objects.emplace(key, object);
  return object;
}

// The first of the calls that is refused.
class Calls {
 public:
  Calls& then(const char* name, auto&& call) {
    if (!status_) return *this;
    if (const cusolverStatus_t result = call(); result != CUSOLVER_STATUS_SUCCESS) status_ = refusal(name, result);
    return *this;
  }
  Status status() const { return status_; }

 private:
  Status status_;
};

}  // namespace

Status SolverHandle::ready(const SolverApi& api, CUstream_st* stream) {
  if (handle_ == nullptr) {
    if (const cusolverStatus_t made = api.cusolverDnCreate(&handle_); made != CUSOLVER_STATUS_SUCCESS) {
      handle_ = nullptr;
      return refusal("cusolverDnCreate", made);
    }
  }
  if (!hasStream_ || stream_ != stream) {
    if (const cusolverStatus_t set = api.cusolverDnSetStream(handle_, stream); set != CUSOLVER_STATUS_SUCCESS) return refusal("cusolverDnSetStream", set);
    stream_ = stream;
    hasStream_ = true;
  }
  return {};
}

Status SolverHandle::set(const SolverApi& api, const solver::Call& call) {
  Calls calls;
  const auto mode = [&](const char* name, std::uint8_t& has, std::uint8_t wanted, auto setter, auto passed) {
    if (has == wanted) return;
    calls.then(name, [&] {
      const cusolverStatus_t status = setter != nullptr ? setter(handle_, passed) : CUSOLVER_STATUS_NOT_SUPPORTED;
      if (status == CUSOLVER_STATUS_SUCCESS) has = wanted;
      return status;
    });
  };
  mode("cusolverDnSetDeterministicMode", deterministic_, call.deterministic, api.cusolverDnSetDeterministicMode, static_cast<cusolverDeterministicMode_t>(call.deterministic));
  mode("cusolverDnSetMathMode", mathMode_, call.mathMode, api.cusolverDnSetMathMode, static_cast<cusolverMathMode_t>(call.mathMode));
  mode("cusolverDnSetEmulationStrategy", emulation_, call.emulation, api.cusolverDnSetEmulationStrategy, static_cast<cudaEmulationStrategy_t>(call.emulation));
  return calls.status();
}

void* SolverHandle::hostWork(std::size_t bytes) {
  if (bytes > hostBytes_) {
    hostBytes_ = std::max(bytes, 2 * hostBytes_);
    hostWork_.push_back(std::make_unique<std::byte[]>(hostBytes_));
  }
  return hostWork_.empty() ? nullptr : hostWork_.back().get();
}

Status SolverHandle::run(const SolverApi& api, CUstream_st* stream, solver::Function function, const solver::Call& call,
                         const std::function<Result<std::uint64_t>(std::uint64_t)>& memory) {
  if (const Status done = ready(api, stream); !done) return done;
  if (const Status done = set(api, call); !done) return done;
  const solver::FunctionInfo& info = solver::info(function);
  Memory told;
  const Jacobi jacobi{call.tolerance, call.sweeps, call.sorts != 0};
  if (info.type == solver::Type::any) {
    auto object = parametersOf(api, call.algorithms);
    if (!object) return object.error();
    told.parameters = *object;
  }
  if (usesSyevj(info.verb)) {
    auto object = syevjOf(api, jacobi);
    if (!object) return object.error();
    told.syevj = *object;
  }
  if (usesGesvdj(info.verb)) {
    auto object = gesvdjOf(api, jacobi);
    if (!object) return object.error();
    told.gesvdj = *object;
  }
  const double limits[] = {call.low, call.high};
  const float narrow[] = {static_cast<float>(call.low), static_cast<float>(call.high)};
  const bool doubles = call.aType == solver::Type::f64 || call.aType == solver::Type::c64;
  told.low = doubles ? static_cast<const void*>(&limits[0]) : &narrow[0];
  told.high = doubles ? static_cast<const void*>(&limits[1]) : &narrow[1];
  told.answer = call.answer != 0 ? reinterpret_cast<void*>(call.answer) : alwaysAnswers(info.verb) ? &ignored_ : nullptr;

  if (const cusolverStatus_t size = tellSize(api, handle_, function, call, told); size != CUSOLVER_STATUS_SUCCESS)
    return refusal(std::string(info.name) + "_bufferSize", size);
  if (info.type != solver::Type::any) told.workBytes = static_cast<std::size_t>(std::max(told.elements, 0)) * solver::bytesOf(info.type);
  told.work = reinterpret_cast<void*>(call.work);
  if (told.workBytes > call.workBytes) {
    const auto own = memory(told.workBytes);
    if (!own) return own.error();
    told.work = reinterpret_cast<void*>(*own);
  }
  told.hostWork = hostWork(told.hostWorkBytes);
  const cusolverStatus_t done = dispatch(api, handle_, function, call, told);
  return done == CUSOLVER_STATUS_SUCCESS ? Status{} : Status{refusal(info.name, done)};
}

Result<cusolverDnParams_t> SolverHandle::parametersOf(const SolverApi& api, std::uint8_t algorithms) {
  return objectOf(parameters_, kMostObjects, algorithms, [&](cusolverDnParams_t& object) {
    Calls calls;
    calls.then("cusolverDnCreateParams", [&] { return api.cusolverDnCreateParams(&object); });
    for (unsigned each = 0; each <= CUSOLVERDN_SYEVBATCHED; ++each) {
      const auto algorithm = static_cast<cusolverAlgMode_t>(algorithms >> 2 * each & 3);
      if (algorithm != CUSOLVER_ALG_0)
        calls.then("cusolverDnSetAdvOptions", [&] { return api.cusolverDnSetAdvOptions(object, static_cast<cusolverDnFunction_t>(each), algorithm); });
    }
    return calls.status();
  }, api.cusolverDnDestroyParams);
}

Result<syevjInfo_t> SolverHandle::syevjOf(const SolverApi& api, const Jacobi& jacobi) {
  return objectOf(syevj_, kMostObjects, jacobi, [&](syevjInfo_t& object) {
    Calls calls;
    calls.then("cusolverDnCreateSyevjInfo", [&] { return api.cusolverDnCreateSyevjInfo(&object); });
    if (jacobi.tolerance != 0) calls.then("cusolverDnXsyevjSetTolerance", [&] { return api.cusolverDnXsyevjSetTolerance(object, jacobi.tolerance); });
    if (jacobi.sweeps != 0) calls.then("cusolverDnXsyevjSetMaxSweeps", [&] { return api.cusolverDnXsyevjSetMaxSweeps(object, jacobi.sweeps); });
    return calls.then("cusolverDnXsyevjSetSortEig", [&] { return api.cusolverDnXsyevjSetSortEig(object, jacobi.sorts); }).status();
  }, api.cusolverDnDestroySyevjInfo);
}

Result<gesvdjInfo_t> SolverHandle::gesvdjOf(const SolverApi& api, const Jacobi& jacobi) {
  return objectOf(gesvdj_, kMostObjects, jacobi, [&](gesvdjInfo_t& object) {
    Calls calls;
    calls.then("cusolverDnCreateGesvdjInfo", [&] { return api.cusolverDnCreateGesvdjInfo(&object); });
    if (jacobi.tolerance != 0) calls.then("cusolverDnXgesvdjSetTolerance", [&] { return api.cusolverDnXgesvdjSetTolerance(object, jacobi.tolerance); });
    if (jacobi.sweeps != 0) calls.then("cusolverDnXgesvdjSetMaxSweeps", [&] { return api.cusolverDnXgesvdjSetMaxSweeps(object, jacobi.sweeps); });
    return calls.then("cusolverDnXgesvdjSetSortEig", [&] { return api.cusolverDnXgesvdjSetSortEig(object, jacobi.sorts); }).status();
  }, api.cusolverDnDestroyGesvdjInfo);
}

void SolverHandle::destroy(const SolverApi& api) {
  for (const auto& [settings, object] : parameters_) api.cusolverDnDestroyParams(object);
  for (const auto& [settings, object] : syevj_) api.cusolverDnDestroySyevjInfo(object);
  for (const auto& [settings, object] : gesvdj_) api.cusolverDnDestroyGesvdjInfo(object);
  parameters_.clear();
  syevj_.clear();
  gesvdj_.clear();
  if (handle_ != nullptr) api.cusolverDnDestroy(handle_);
  handle_ = nullptr;
}

}  // namespace rouse::library::cuda
