// What a cusolverDnHandle_t stands for, and the objects that programs set things in: local state, of which each call carries what it depends on. Nothing of it
// is on the server.
#pragma once

#include <cusolverDn.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

#include "client-shim/library/host.h"
#include "client-shim/library/object_pool.h"

namespace rouse::cusolver {

// Read and written without a lock, as cuSOLVER's own: a handle that several threads set at once has one of their settings.
struct Handle {
  std::uint32_t device = 0;  // the thread's when it was made
  std::uint64_t stream = 0;  // cudaStream_t
  cusolverDeterministicMode_t deterministic = CUSOLVER_DETERMINISTIC_RESULTS;
  cusolverMathMode_t mathMode = CUSOLVER_DEFAULT_MATH;
  cudaEmulationStrategy_t emulation = CUDA_EMULATION_STRATEGY_DEFAULT;
  // Where the server tells what a program wants in its own memory; kept by the object when the handle is destroyed.
  std::mutex scratchMutex;
  void* scratch = nullptr;
  std::size_t scratchBytes = 0;
};

// cusolverDnParams_t.
struct Parameters {
  cusolverAlgMode_t algorithms[3] = {};  // by cusolverDnFunction_t
};
// syevjInfo_t, gesvdjInfo_t. 0: not set.
struct Jacobi {
  double tolerance = 0;
  int sweeps = 0;
  bool sorts = true;
};

// Null: it is none, or has been destroyed. The object stays readable: it is used for handles of its kind only, as long as the process lives.
template <class Object, class Opaque>
Object* find(Opaque handle, client::HandleKind kind) {
  const client::LibraryHost* host = handle != nullptr ? client::libraryHost() : nullptr;
  if (host == nullptr) return nullptr;
  return static_cast<Object*>(host->findHandle(reinterpret_cast<std::uint64_t>(handle), client::kindBit(kind)));
}
inline Handle* findHandle(cusolverDnHandle_t handle) { return find<Handle>(handle, client::HandleKind::solver); }
inline Parameters* findParameters(cusolverDnParams_t handle) { return find<Parameters>(handle, client::HandleKind::solverParameters); }
inline Jacobi* findJacobi(syevjInfo_t handle) { return find<Jacobi>(handle, client::HandleKind::syevj); }
inline Jacobi* findJacobi(gesvdjInfo_t handle) { return find<Jacobi>(handle, client::HandleKind::gesvdj); }

// set(object) before it can be found.
template <class Object, class Opaque, class Set>
cusolverStatus_t make(Opaque* handle, client::HandleKind kind, Set&& set) noexcept try {
  if (handle == nullptr) return CUSOLVER_STATUS_INVALID_VALUE;
  const client::LibraryHost* host = client::libraryHost();
  std::uint32_t device = 0;
  if (host == nullptr || host->attach(&device) != CudaError::success) return CUSOLVER_STATUS_NOT_INITIALIZED;
  Object* object = library::ObjectPool<Object>::get().take();
  set(*object, device);
  const std::uint64_t number = host->makeHandle(kind, object);
  if (number == 0) {
    library::ObjectPool<Object>::get().give(object);
    return CUSOLVER_STATUS_ALLOC_FAILED;
  }
  *handle = reinterpret_cast<Opaque>(number);
  return CUSOLVER_STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
  return CUSOLVER_STATUS_ALLOC_FAILED;
}

// Queued calls carry all they need: nothing is waited for. `gone`: what is answered where there is no such object.
template <class Object, class Opaque>
cusolverStatus_t destroy(Opaque handle, client::HandleKind kind, cusolverStatus_t gone) noexcept try {
  const client::LibraryHost* host = client::libraryHost();
  auto* object = host != nullptr ? static_cast<Object*>(host->dropHandle(reinterpret_cast<std::uint64_t>(handle), kind)) : nullptr;
  if (object == nullptr) return gone;
  library::ObjectPool<Object>::get().give(object);
  return CUSOLVER_STATUS_SUCCESS;
} catch (const std::bad_alloc&) {
  return CUSOLVER_STATUS_SUCCESS;  // the object is lost, no more
}

}  // namespace rouse::cusolver
