// Primary contexts.
#include "test/cuda-double/implementations.h"
#include "test/cuda-double/simulation.h"
#include "test/cuda-double/state.h"

namespace rouse::cuda_double::impl {
namespace {

// All that must be gone before its context is.
void reportLeaks(Context& context) {
  for (const auto& [handle, stream] : state().streams.all()) {
    if (&stream->context == &context) violate("leaked-stream", hex((unsigned long long)handle));
  }
  for (const auto& [handle, event] : state().events.all()) {
    if (event->context == &context) violate("leaked-event", hex((unsigned long long)handle));
  }
  for (const auto& [handle, library] : state().libraries.all()) {
    if (library->ofContext(context)) violate("leaked-module", hex((unsigned long long)handle));
  }
  if (const std::size_t ranges = context.registeredRanges(); ranges != 0) {
    violate("leaked-registration", std::to_string(ranges) + " ranges of host memory are still registered");
  }
  state().memory.reportLeaks(context.gpu);
}

// Of a destroyed context, nothing can be used.
void forgetObjects(Context& context) {
  for (const auto& [handle, stream] : state().streams.all()) {
    if (&stream->context == &context) state().streams.remove(handle, "stream");
  }
  for (const auto& [handle, event] : state().events.all()) {
    if (event->context == &context) state().events.remove(handle, "event");
  }
  for (const auto& [handle, library] : state().libraries.all()) {
    library->leave(context);
    if (library->ofContext(context)) Library::unload(handle, true);
  }
}

}  // namespace

CUresult cuDevicePrimaryCtxRetain(CUcontext* pctx, CUdevice dev) {
  Gpu* gpu = state().gpu(dev);
  if (gpu == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (simulation::exclusive()) return CUDA_ERROR_DEVICE_UNAVAILABLE;
  if (simulation::prohibited()) return CUDA_ERROR_UNKNOWN;  // CUDA Driver API, cuCtxCreate
  std::lock_guard lock(state().contextMutex);
  if (gpu->retained == 0) {
    auto context = Context::create(*gpu);
    if (!context) {
      note(context.error().message);
      return static_cast<CUresult>(context.error().code);
    }
    gpu->primary = state().contexts.add(*context);
  }
  ++gpu->retained;
  *pctx = gpu->primary;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice dev) {
  Gpu* gpu = state().gpu(dev);
  if (gpu == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  std::lock_guard lock(state().contextMutex);
  if (gpu->retained == 0) {
    return violation(CUDA_ERROR_INVALID_CONTEXT, "not-retained", "device " + std::to_string(dev));
  }
  if (--gpu->retained != 0) return CUDA_SUCCESS;
  auto context = state().contexts.remove(gpu->primary, "context");
  gpu->primary = nullptr;
  reportLeaks(*context);
  context->stop();
  forgetObjects(*context);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags) {
  Gpu* gpu = state().gpu(dev);
  if (gpu == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if ((flags & ~static_cast<unsigned>(CU_CTX_FLAGS_MASK)) != 0) {
    return violation(CUDA_ERROR_INVALID_VALUE, "flags", hex(flags));
  }
  std::lock_guard lock(state().contextMutex);
  gpu->flags = flags;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int* flags, int* active) {
  Gpu* gpu = state().gpu(dev);
  if (gpu == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  std::lock_guard lock(state().contextMutex);
  *flags = gpu->flags;
  *active = gpu->retained != 0;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext ctx) {
  if (ctx != nullptr && state().contexts.find(ctx, "context") == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  currentContext = ctx;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* pctx) {
  *pctx = currentContext;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) {
  *device = here()->gpu.ordinal;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(CUlimit limit, size_t value) {
  const auto context = here();
  memory::ContextLimit device{};
  switch (limit) {
    case CU_LIMIT_STACK_SIZE:
      device = memory::ContextLimit::stackBytes;
      break;
    case CU_LIMIT_PRINTF_FIFO_SIZE:
      device = memory::ContextLimit::printfBytes;
      break;
    case CU_LIMIT_MALLOC_HEAP_SIZE:
      device = memory::ContextLimit::heapBytes;
      break;
    default:
      return CUDA_ERROR_UNSUPPORTED_LIMIT;
  }
  if (limit == CU_LIMIT_STACK_SIZE) context->growLocalMemory(value);
  std::lock_guard lock(context->gpu.deviceMutex);
  if (auto set = context->device->setLimit(device, value); !set) {
    note(set.error().message);
    return CUDA_ERROR_INVALID_VALUE;
  }
  context->limits[limit] = value;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t* pvalue, CUlimit limit) {
  const auto context = here();
  switch (limit) {
    case CU_LIMIT_STACK_SIZE:
    case CU_LIMIT_PRINTF_FIFO_SIZE:
    case CU_LIMIT_MALLOC_HEAP_SIZE:
      *pvalue = context->limits[limit];
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_UNSUPPORTED_LIMIT;
  }
}

CUresult cuCtxGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
  if (leastPriority != nullptr) *leastPriority = 0;
  if (greatestPriority != nullptr) *greatestPriority = -5;
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize() {
  const auto context = here();
  context->synchronize();
  context->flushOutput();
  return context->takeError();
}

}  // namespace rouse::cuda_double::impl
