// CUDA Driver API, "Stream Management": callbacks, which are told the driver's result.
#include <memory>
#include <new>

#include "client-shim/cuda/call.h"
#include "client-shim/cuda/implementations.h"

namespace rouse::cuda::impl {
namespace {

struct Callback {
  CUstreamCallback function = nullptr;
  CUstream stream = nullptr;  // as the program named it
  void* userData = nullptr;
};

void CUDART_CB run(cudaStream_t, cudaError_t status, void* data) {
  const std::unique_ptr<Callback> callback(static_cast<Callback*>(data));
  callback->function(callback->stream, toDriver(status), callback->userData);
}

}  // namespace

CUresult cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void* userData, unsigned int flags) {
  if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  std::unique_ptr<Callback> pending(new (std::nothrow) Callback{callback, hStream, userData});
  if (pending == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult error = call([&] { return cudaStreamAddCallback(hStream, run, pending.get(), 0); });
  if (error == CUDA_SUCCESS) (void)pending.release();
  return error;
}

}  // namespace rouse::cuda::impl
