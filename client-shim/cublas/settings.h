// What functions that set and tell a handle's settings have in common.
#pragma once

#include <cublas_v2.h>

#include "client-shim/cublas/handle.h"

namespace rouse::cublas {

template <class Set>
cublasStatus_t with(cublasHandle_t handle, Set&& set) {
  Handle* object = findHandle(handle);
  if (object == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  return set(*object);
}

template <class Value>
cublasStatus_t read(cublasHandle_t handle, Value* to, Value (*get)(const Handle&)) {
  return with(handle, [&](const Handle& object) {
    if (to == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *to = get(object);
    return CUBLAS_STATUS_SUCCESS;
  });
}

}  // namespace rouse::cublas
