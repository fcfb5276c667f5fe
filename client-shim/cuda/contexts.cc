// CUDA Driver API, "Context Management".
#include "client-shim/cuda/call.h"
#include "client-shim/cuda/context.h"
#include "client-shim/cuda/implementations.h"
#include "client-shim/library/refuse.h"

namespace rouse::cuda::impl {
namespace {

constexpr unsigned kApiVersion = 3020;  // cuCtxGetApiVersion of all contexts since

// One way to wait at most; mapped host memory is there, asked for or not.
bool validFlags(unsigned flags) {
  const unsigned schedule = flags & CU_CTX_SCHED_MASK;
  return (flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) == 0 && (schedule & (schedule - 1)) == 0;
}

CUresult create(CUcontext* made, unsigned flags, CUdevice device) try {
  if (made == nullptr || !validFlags(flags)) return CUDA_ERROR_INVALID_VALUE;
  Context* primary = nullptr;
  if (const CUresult error = primaryContext(device, &primary); error != CUDA_SUCCESS) return error;
  Context* const context = makeContext(device, flags);
  if (context == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  pushContext(context);
  *made = handleOf(context);
  return CUDA_SUCCESS;
} catch (const std::bad_alloc&) {
  return CUDA_ERROR_OUT_OF_MEMORY;
}

// A context that a call names; null: the thread's own.
CUresult named(CUcontext handle, Context** context) {
  *context = handle != nullptr ? findContext(handle) : currentContext();
  if (*context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  return (*context)->destroyed ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_SUCCESS;
}

}  // namespace

CUresult cuCtxCreate_v2(CUcontext* pctx, unsigned int flags, CUdevice dev) { return create(pctx, flags, dev); }

// What a device executes on cannot be divided here (cuDeviceGetExecAffinitySupport).
CUresult cuCtxCreate_v3(CUcontext* pctx, CUexecAffinityParam* paramsArray, int numParams, unsigned int flags, CUdevice dev) {
  if (numParams < 0 || (numParams > 0 && paramsArray == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  if (numParams > 0) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  return create(pctx, flags, dev);
}

CUresult cuCtxCreate_v4(CUcontext* pctx, CUctxCreateParams* ctxCreateParams, unsigned int flags, CUdevice dev) {
  if (ctxCreateParams != nullptr) {
    if (ctxCreateParams->numExecAffinityParams > 0) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
    if (ctxCreateParams->cigParams != nullptr) {
      library::refuse("cuCtxCreate_v4", "a context shared with graphics");
      return CUDA_ERROR_NOT_SUPPORTED;
    }
  }
  return create(pctx, flags, dev);
}

CUresult cuCtxDestroy_v2(CUcontext ctx) {
  Context* const context = findContext(ctx);
  if (ctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (context == nullptr || context->primary || context->destroyed) return CUDA_ERROR_INVALID_CONTEXT;
  if (currentContext() == context) (void)popContext();
  return destroyContext(context);
}

CUresult cuCtxAttach(CUcontext* pctx, unsigned int flags) {
  if (pctx == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  Context* const context = currentContext();
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  ++context->attached;
  *pctx = handleOf(context);
  return CUDA_SUCCESS;
}

// Destroys the context when nobody is left: who made it is one.
CUresult cuCtxDetach(CUcontext ctx) {
  Context* const context = findContext(ctx);
  if (ctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (context == nullptr || context != currentContext()) return CUDA_ERROR_INVALID_CONTEXT;
  unsigned attached = context->attached;
  while (attached != 0)
    if (context->attached.compare_exchange_weak(attached, attached - 1)) return CUDA_SUCCESS;
  return impl::cuCtxDestroy_v2(ctx);
}

CUresult cuCtxPushCurrent_v2(CUcontext ctx) try {
  Context* context = nullptr;
  if (ctx == nullptr || named(ctx, &context) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_CONTEXT;
  pushContext(context);
  return CUDA_SUCCESS;
} catch (const std::bad_alloc&) {
  return CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuCtxPopCurrent_v2(CUcontext* pctx) {
  const Context* const popped = popContext();
  if (popped == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (pctx != nullptr) *pctx = handleOf(popped);
  return CUDA_SUCCESS;
}

// Takes the place of the innermost one of the thread's stack; null: takes that away.
CUresult cuCtxSetCurrent(CUcontext ctx) {
  if (ctx == nullptr) {
    (void)popContext();
    return CUDA_SUCCESS;
  }
  Context* context = nullptr;
  if (named(ctx, &context) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_CONTEXT;
  setCurrentContext(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* pctx) {
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pctx = handleOf(currentContext());
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = currentContext()->device;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext ctx) {
  Context* context = nullptr;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = named(ctx, &context); error != CUDA_SUCCESS) return error;
  *device = context->device;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(unsigned int* flags) {
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Context* const context = currentContext();
  if (context->primary) return call([&] { return cudaGetDeviceFlags(flags); });
  *flags = context->flags;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(unsigned int flags) {
  if (!validFlags(flags)) return CUDA_ERROR_INVALID_VALUE;
  Context* const context = currentContext();
  if (context->primary) return call([&] { return cudaSetDeviceFlags(flags); });
  context->flags = flags;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetId(CUcontext ctx, unsigned long long* ctxId) {
  Context* context = nullptr;
  if (ctxId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = named(ctx, &context); error != CUDA_SUCCESS) return error;
  *ctxId = context->id;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetApiVersion(CUcontext ctx, unsigned int* version) {
  Context* context = nullptr;
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = named(ctx, &context); error != CUDA_SUCCESS) return error;
  *version = kApiVersion;
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize() {
  return call([] { return cudaDeviceSynchronize(); });
}

CUresult cuCtxSynchronize_v2(CUcontext ctx) {
  Context* context = nullptr;
  if (const CUresult error = named(ctx, &context); error != CUDA_SUCCESS) return error;
  return within(context, [] { return call([] { return cudaDeviceSynchronize(); }); });
}

// Limits and preferences are the device's: all its contexts have the same. Their numbers are the runtime's.
CUresult cuCtxGetLimit(size_t* pvalue, CUlimit limit) {
  return call([&] { return cudaDeviceGetLimit(pvalue, static_cast<cudaLimit>(limit)); });
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  return call([&] { return cudaDeviceSetLimit(static_cast<cudaLimit>(limit), value); });
}

CUresult cuCtxGetCacheConfig(CUfunc_cache* pconfig) {
  return call([&] { return cudaDeviceGetCacheConfig(reinterpret_cast<cudaFuncCache*>(pconfig)); });
}

CUresult cuCtxSetCacheConfig(CUfunc_cache config) {
  return call([&] { return cudaDeviceSetCacheConfig(static_cast<cudaFuncCache>(config)); });
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"  // as the driver's are
CUresult cuCtxGetSharedMemConfig(CUsharedconfig* pConfig) {
  return call([&] { return cudaDeviceGetSharedMemConfig(reinterpret_cast<cudaSharedMemConfig*>(pConfig)); });
}

CUresult cuCtxSetSharedMemConfig(CUsharedconfig config) {
  return call([&] { return cudaDeviceSetSharedMemConfig(static_cast<cudaSharedMemConfig>(config)); });
}
#pragma GCC diagnostic pop

CUresult cuCtxGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
  return call([&] { return cudaDeviceGetStreamPriorityRange(leastPriority, greatestPriority); });
}

CUresult cuCtxResetPersistingL2Cache() {
  return call([] { return cudaCtxResetPersistingL2Cache(); });
}

}  // namespace rouse::cuda::impl
