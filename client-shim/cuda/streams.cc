// CUDA Driver API, "Stream Management": handles, flags and attributes are the runtime's.
#include "client-shim/cuda/call.h"
#include "client-shim/cuda/context.h"
#include "client-shim/cuda/implementations.h"

namespace rouse::cuda::impl {
namespace {

static_assert(sizeof(CUstreamAttrValue) == sizeof(cudaLaunchAttributeValue));

bool isDefault(CUstream stream) { return stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD; }

}  // namespace

CUresult cuStreamCreate(CUstream* phStream, unsigned int Flags) {
  const CUresult error = call([&] { return cudaStreamCreateWithFlags(phStream, Flags); });
  if (error == CUDA_SUCCESS) own(Owned::stream, *phStream);
  return error;
}

CUresult cuStreamCreateWithPriority(CUstream* phStream, unsigned int flags, int priority) {
  const CUresult error = call([&] { return cudaStreamCreateWithPriority(phStream, flags, priority); });
  if (error == CUDA_SUCCESS) own(Owned::stream, *phStream);
  return error;
}

CUresult cuStreamDestroy_v2(CUstream hStream) {
  disown(Owned::stream, hStream);
  return call([&] { return cudaStreamDestroy(hStream); });
}

CUresult cuStreamDestroy(CUstream hStream) { return impl::cuStreamDestroy_v2(hStream); }

CUresult cuStreamSynchronize(CUstream hStream) {
  return call([&] { return cudaStreamSynchronize(hStream); });
}

CUresult cuStreamQuery(CUstream hStream) {
  return call([&] { return cudaStreamQuery(hStream); });
}

CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags) {
  return call([&] { return cudaStreamWaitEvent(hStream, hEvent, Flags); });
}

CUresult cuStreamGetPriority(CUstream hStream, int* priority) {
  return call([&] { return cudaStreamGetPriority(hStream, priority); });
}

CUresult cuStreamGetFlags(CUstream hStream, unsigned int* flags) {
  return call([&] { return cudaStreamGetFlags(hStream, flags); });
}

CUresult cuStreamGetId(CUstream hStream, unsigned long long* streamId) {
  return call([&] { return cudaStreamGetId(hStream, streamId); });
}

CUresult cuStreamGetDevice(CUstream hStream, CUdevice* device) {
  return call([&] { return cudaStreamGetDevice(hStream, device); });
}

CUresult cuStreamGetCtx(CUstream hStream, CUcontext* pctx) {
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  int device = 0;
  if (const CUresult error = call([&] { return cudaStreamGetDevice(hStream, &device); }); error != CUDA_SUCCESS) return error;
  Context* context = isDefault(hStream) ? currentContext() : ownerOf(Owned::stream, reinterpret_cast<std::uint64_t>(hStream));
  if (context == nullptr) {
    if (const CUresult error = primaryContext(device, &context); error != CUDA_SUCCESS) return error;
  }
  *pctx = handleOf(context);
  return CUDA_SUCCESS;
}

// There are no green contexts that a stream could be of.
CUresult cuStreamGetCtx_v2(CUstream hStream, CUcontext* pCtx, CUgreenCtx* pGreenCtx) {
  if (pGreenCtx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult error = impl::cuStreamGetCtx(hStream, pCtx);
  if (error == CUDA_SUCCESS) *pGreenCtx = nullptr;
  return error;
}

CUresult cuStreamGetAttribute(CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue* value) {
  return call([&] { return cudaStreamGetAttribute(hStream, static_cast<cudaLaunchAttributeID>(attr), reinterpret_cast<cudaLaunchAttributeValue*>(value)); });
}

CUresult cuStreamSetAttribute(CUstream hStream, CUstreamAttrID attr, const CUstreamAttrValue* param) {
  return call([&] {
    return cudaStreamSetAttribute(hStream, static_cast<cudaLaunchAttributeID>(attr), reinterpret_cast<const cudaLaunchAttributeValue*>(param));
  });
}

CUresult cuStreamCopyAttributes(CUstream dstStream, CUstream srcStream) {
  return call([&] { return cudaStreamCopyAttributes(dstStream, srcStream); });
}

CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void* userData) {
  return call([&] { return cudaLaunchHostFunc(hStream, fn, userData); });
}

}  // namespace rouse::cuda::impl
