// CUDA Runtime API, "Execution Control" (host functions) and "Stream Management" (callbacks).
#include <memory>

#include "client-shim/core/stream.h"
#include "client-shim/cudart/graph/capture.h"
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/session.h"

namespace rouse::cudart::impl {
namespace {

struct PendingCall {
  cudaHostFn_t function = nullptr;
  cudaStreamCallback_t callback = nullptr;
  cudaStream_t stream = nullptr;  // as the program named it
  void* userData = nullptr;
};

// On the core's callback thread. A host function is not called once its device has failed, a callback is, with the
// error (cudaLaunchHostFunc, "Note").
void run(void* data, CudaError status) {
  const std::unique_ptr<PendingCall> call(static_cast<PendingCall*>(data));
  threadState.inHostFunction = true;
  if (call->callback != nullptr) {
    call->callback(call->stream, toCuda(status), call->userData);
  } else if (status == CudaError::success) {
    call->function(call->userData);
  }
  threadState.inHostFunction = false;
}

cudaError_t submit(cudaStream_t handle, const PendingCall& call) {
  client::Stream* stream = nullptr;
  if (const cudaError_t error = findStream(handle, &stream); error != cudaSuccess) return error;
  if (graph::anyCapture()) {
    if (call.callback != nullptr) {
      if (const cudaError_t error = graph::refuseCaptured(*stream); error != cudaSuccess) return error;
    }
    graph::Capturing capturing;
    if (const cudaError_t error = graph::intercept(*stream, &capturing); error != cudaSuccess) return error;
    if (capturing) {
      (void)capturing.add(graph::HostParams{{call.function, call.userData}});
      return cudaSuccess;
    }
  }
  auto pending = std::make_unique<PendingCall>(call);
  // Always called, so that what is pending is freed.
  const cudaError_t error = toCuda(stream->launchHostFunction(run, pending.get(), true));
  if (error == cudaSuccess) (void)pending.release();
  return error;
}

}  // namespace

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void* userData) {
  if (fn == nullptr) return cudaErrorInvalidValue;
  return submit(stream, {fn, nullptr, stream, userData});
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* userData,
                                  unsigned int flags) {
  if (callback == nullptr || flags != 0) return cudaErrorInvalidValue;
  return submit(stream, {nullptr, callback, stream, userData});
}

}  // namespace rouse::cudart::impl
