// cuSOLVER, "Helper Functions": handles and what is set in them. All local.
#include "client-shim/cusolver/handle.h"
#include "client-shim/cusolver/implementations.h"

namespace rouse::cusolver {
namespace {

template <class How>
cusolverStatus_t with(cusolverDnHandle_t handle, How&& how) {
  Handle* object = findHandle(handle);
  return object != nullptr ? how(*object) : CUSOLVER_STATUS_NOT_INITIALIZED;
}

template <class Value, class How>
cusolverStatus_t read(cusolverDnHandle_t handle, Value* value, How&& how) {
  return with(handle, [&](Handle& object) {
    if (value == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
    *value = how(object);
    return CUSOLVER_STATUS_SUCCESS;
  });
}

// One of the enumeration's, which are first to last.
template <class Mode>
cusolverStatus_t set(cusolverDnHandle_t handle, Mode Handle::*where, Mode mode, Mode first, Mode last) {
  return with(handle, [&](Handle& object) {
    if (mode < first || mode > last) return CUSOLVER_STATUS_INVALID_VALUE;
    object.*where = mode;
    return CUSOLVER_STATUS_SUCCESS;
  });
}

}  // namespace

namespace impl {

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle) {
  return make<Handle>(handle, client::HandleKind::solver, [](Handle& object, std::uint32_t device) {
    object.device = device;
    object.stream = 0;
    object.deterministic = CUSOLVER_DETERMINISTIC_RESULTS;
    object.mathMode = CUSOLVER_DEFAULT_MATH;
    object.emulation = CUDA_EMULATION_STRATEGY_DEFAULT;
  });
}
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle) { return destroy<Handle>(handle, client::HandleKind::solver, CUSOLVER_STATUS_NOT_INITIALIZED); }

cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t streamId) {
  return with(handle, [&](Handle& object) {
    object.stream = reinterpret_cast<std::uint64_t>(streamId);
    return CUSOLVER_STATUS_SUCCESS;
  });
}
cusolverStatus_t cusolverDnGetStream(cusolverDnHandle_t handle, cudaStream_t* streamId) {
  return read(handle, streamId, [](const Handle& object) { return reinterpret_cast<cudaStream_t>(object.stream); });
}

cusolverStatus_t cusolverDnSetDeterministicMode(cusolverDnHandle_t handle, cusolverDeterministicMode_t mode) {
  return set(handle, &Handle::deterministic, mode, CUSOLVER_DETERMINISTIC_RESULTS, CUSOLVER_ALLOW_NON_DETERMINISTIC_RESULTS);
}
cusolverStatus_t cusolverDnGetDeterministicMode(cusolverDnHandle_t handle, cusolverDeterministicMode_t* mode) {
  return read(handle, mode, [](const Handle& object) { return object.deterministic; });
}

cusolverStatus_t cusolverDnSetMathMode(cusolverDnHandle_t handle, cusolverMathMode_t mode) {
  return set(handle, &Handle::mathMode, mode, CUSOLVER_DEFAULT_MATH, CUSOLVER_FP32_EMULATED_BF16X9_MATH);
}
cusolverStatus_t cusolverDnGetMathMode(cusolverDnHandle_t handle, cusolverMathMode_t* mode) {
  return read(handle, mode, [](const Handle& object) { return object.mathMode; });
}

cusolverStatus_t cusolverDnSetEmulationStrategy(cusolverDnHandle_t handle, cudaEmulationStrategy_t strategy) {
  return set(handle, &Handle::emulation, strategy, CUDA_EMULATION_STRATEGY_DEFAULT, CUDA_EMULATION_STRATEGY_EAGER);
}
cusolverStatus_t cusolverDnGetEmulationStrategy(cusolverDnHandle_t handle, cudaEmulationStrategy_t* strategy) {
  return read(handle, strategy, [](const Handle& object) { return object.emulation; });
}

cusolverStatus_t cusolverGetProperty(libraryPropertyType type, int* value) {
  if (value == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  switch (type) {
    case MAJOR_VERSION:
      *value = CUSOLVER_VER_MAJOR;
      return CUSOLVER_STATUS_SUCCESS;
    case MINOR_VERSION:
      *value = CUSOLVER_VER_MINOR;
      return CUSOLVER_STATUS_SUCCESS;
    case PATCH_LEVEL:
      *value = CUSOLVER_VER_PATCH;
      return CUSOLVER_STATUS_SUCCESS;
  }
  return CUSOLVER_STATUS_INVALID_VALUE;
}

cusolverStatus_t cusolverGetVersion(int* version) {
  if (version == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  *version = CUSOLVER_VERSION;
  return CUSOLVER_STATUS_SUCCESS;
}

}  // namespace impl
}  // namespace rouse::cusolver
