// What a cublasHandle_t stands for: local state, of which each call carries what it depends on. Nothing of it is on the server.
#pragma once

#include <cublas_v2.h>

#include <cstdint>
#include <mutex>

#include "client-shim/library/handle_base.h"
#include "schemas/blas/call.h"

namespace rouse::cublas {

// Read and written without a lock, as cuBLAS's own: a handle that several threads set at once has one of their settings.
struct Handle : library::HandleBase {
  std::uint64_t stream = 0;  // cudaStream_t
  cublasPointerMode_t pointerMode = CUBLAS_POINTER_MODE_HOST;
  cublasAtomicsMode_t atomics = CUBLAS_ATOMICS_NOT_ALLOWED;
  cublasMath_t mathMode = CUBLAS_DEFAULT_MATH;
  int multiprocessors = 0;
  blas::Emulation emulation;
  std::uint64_t workspace = 0, workspaceBytes = 0;  // 0: the library's own
  // Where results come that the program wants in its own memory; kept by the object when the handle is destroyed.
  std::mutex scratchMutex;
  void* scratch = nullptr;
};

// Null: it is none, or has been destroyed. The object stays readable: it is used for handles only, as long as the process lives.
Handle* findHandle(cublasHandle_t handle);

}  // namespace rouse::cublas
