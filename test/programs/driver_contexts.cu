// Contexts of the driver API in a program that calls nothing of the runtime until it has used the driver: what is refused before cuInit and without a
// context; primary ones; contexts that the program makes, with what ends with them; the stack of each thread; then the runtime beside them.
// gpus: 2
// alone
#include "driver.h"

#include <thread>

const CUcontext garbage = reinterpret_cast<CUcontext>(std::uintptr_t{0x1230});

CUcontext current() {
  CUcontext context = garbage;
  DRIVER(cuCtxGetCurrent, &context);
  return context;
}

void beforeAnything() {
  int count = 0;
  CUdeviceptr memory = 0;
  DRIVER_ERROR(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount, &count);
  DRIVER_ERROR(CUDA_ERROR_NOT_INITIALIZED, cuMemAlloc_v2, &memory, 256);
  DRIVER(cuInit, 0);
  DRIVER(cuDeviceGetCount, &count);
  EXPECT(count >= 1);
  EXPECT(current() == nullptr);
  DRIVER_ERROR(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc_v2, &memory, 256);
  DRIVER_ERROR(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize);
  CUdevice device = -1;
  DRIVER_ERROR(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetDevice, &device);
  DRIVER_ERROR(CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent_v2, nullptr);
  DRIVER(cuCtxSetCurrent, nullptr);
}

// NVIDIA's driver takes a context for one without asking, and dies of what is none.
void garbageIsTold() {
  if (!check::throughRouse()) return;
  unsigned version = 0;
  DRIVER_ERROR(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent, garbage);
  DRIVER_ERROR(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent_v2, garbage);
  DRIVER_ERROR(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetApiVersion, garbage, &version);
  DRIVER_ERROR(CUDA_ERROR_INVALID_CONTEXT, cuCtxDisablePeerAccess, garbage);
}

void devices() {
  char address[32];
  CUdevice device = -1;
  DRIVER(cuDeviceGetPCIBusId, address, sizeof address, 0);
  DRIVER(cuDeviceGetByPCIBusId, &device, address);
  EXPECT(device == 0);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuDeviceGetByPCIBusId, &device, "nowhere");
  CUuuid one, same;
  DRIVER(cuDeviceGetUuid, &one, 0);
  DRIVER(cuDeviceGetUuid_v2, &same, 0);
  EXPECT(std::memcmp(&one, &same, sizeof one) == 0);
  int major = 0, minor = 0, wanted = 0;
  DRIVER(cuDeviceComputeCapability, &major, &minor, 0);
  DRIVER(cuDeviceGetAttribute, &wanted, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
  EXPECT(major == wanted && major >= 7);
  CUdevprop properties;
  DRIVER(cuDeviceGetProperties, &properties, 0);
  DRIVER(cuDeviceGetAttribute, &wanted, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0);
  EXPECT(properties.maxThreadsPerBlock == wanted && properties.SIMDWidth == 32);
  std::size_t width = 0;
  DRIVER(cuDeviceGetTexture1DLinearMaxWidth, &width, CU_AD_FORMAT_FLOAT, 1, 0);
  EXPECT(width > 0);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuDeviceGetTexture1DLinearMaxWidth, &width, CU_AD_FORMAT_FLOAT, 3, 0);
  DRIVER_ERROR(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetUuid_v2, &one, 1000);
  int count = 0, can = -1;
  DRIVER(cuDeviceGetCount, &count);
  if (count > 1) {
    DRIVER(cuDeviceCanAccessPeer, &can, 0, 1);
    EXPECT(can == 0 || can == 1);
    DRIVER(cuDeviceGetP2PAttribute, &can, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1);
  }
  DRIVER_ERROR(CUDA_ERROR_INVALID_DEVICE, cuDeviceCanAccessPeer, &can, 0, 1000);
  DRIVER_ERROR(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetP2PAttribute, &can, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1000);
}

CUcontext primaryOnes() {
  unsigned flags = 99;
  int active = 99;
  DRIVER(cuDevicePrimaryCtxGetState, 0, &flags, &active);
  EXPECT(active == 0);
  DRIVER(cuDevicePrimaryCtxSetFlags_v2, 0, CU_CTX_SCHED_BLOCKING_SYNC);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuDevicePrimaryCtxSetFlags, 0, 0x100000);
  DRIVER_ERROR(CUDA_ERROR_INVALID_DEVICE, cuDevicePrimaryCtxSetFlags_v2, 1000, 0);
  CUcontext primary = nullptr, again = nullptr;
  if (check::throughRouse()) DRIVER_ERROR(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease, 0);  // NVIDIA's driver says nothing
  DRIVER(cuDevicePrimaryCtxRetain, &primary, 0);
  DRIVER(cuDevicePrimaryCtxRetain, &again, 0);
  EXPECT(primary == again && current() == nullptr);
  DRIVER(cuDevicePrimaryCtxRelease_v2, 0);
  DRIVER(cuDevicePrimaryCtxGetState, 0, &flags, &active);
  EXPECT(active == 1 && (flags & CU_CTX_SCHED_MASK) == CU_CTX_SCHED_BLOCKING_SYNC);

  DRIVER(cuCtxPushCurrent_v2, primary);
  EXPECT(current() == primary);
  DRIVER(cuCtxGetFlags, &flags);
  EXPECT((flags & CU_CTX_SCHED_MASK) == CU_CTX_SCHED_BLOCKING_SYNC);
  DRIVER(cuCtxSetFlags, CU_CTX_SCHED_AUTO);
  DRIVER(cuCtxGetFlags, &flags);
  EXPECT((flags & CU_CTX_SCHED_MASK) == CU_CTX_SCHED_AUTO);
  DRIVER_ERROR(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy_v2, primary);
  CUdeviceptr memory = 0;
  DRIVER(cuMemAlloc_v2, &memory, 4096);
  CUcontext of = nullptr;
  DRIVER(cuPointerGetAttribute, &of, CU_POINTER_ATTRIBUTE_CONTEXT, memory);
  EXPECT(of == primary);
  DRIVER(cuMemFree_v2, memory);
  return primary;
}

void asked(CUcontext primary) {
  CUdevice device = -1;
  unsigned version = 0;
  unsigned long long id = 0, other = 0;
  DRIVER(cuCtxGetDevice, &device);
  EXPECT(device == 0);
  DRIVER(cuCtxGetDevice_v2, &device, primary);
  EXPECT(device == 0);
  DRIVER(cuCtxGetApiVersion, primary, &version);
  EXPECT(version >= 3010);
  DRIVER(cuCtxGetApiVersion, nullptr, &version);
  DRIVER(cuCtxGetId, nullptr, &id);
  DRIVER(cuCtxGetId, primary, &other);
  EXPECT(id == other);
  DRIVER(cuCtxSynchronize);
  DRIVER(cuCtxSynchronize_v2, primary);
  std::size_t stack = 0, now = 0;
  DRIVER(cuCtxGetLimit, &stack, CU_LIMIT_STACK_SIZE);
  DRIVER(cuCtxSetLimit, CU_LIMIT_STACK_SIZE, stack + 1024);
  DRIVER(cuCtxGetLimit, &now, CU_LIMIT_STACK_SIZE);
  EXPECT(now >= stack + 1024);
  DRIVER(cuCtxSetLimit, CU_LIMIT_STACK_SIZE, stack);
  int least = 99, greatest = 99;
  DRIVER(cuCtxGetStreamPriorityRange, &least, &greatest);
  EXPECT(least == 0 && greatest < 0);
  CUfunc_cache cache{};
  DRIVER(cuCtxSetCacheConfig, CU_FUNC_CACHE_PREFER_L1);
  DRIVER(cuCtxGetCacheConfig, &cache);
  DRIVER(cuCtxSetCacheConfig, CU_FUNC_CACHE_PREFER_NONE);
  CUsharedconfig banks{};
  DRIVER(cuCtxGetSharedMemConfig, &banks);
  EXPECT(banks == CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE);
  DRIVER(cuCtxSetSharedMemConfig, CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE);
  DRIVER(cuCtxResetPersistingL2Cache);
  // It is the current one. Where no GPU reaches another, NVIDIA's driver says that first.
  const CUresult own = CALL(cuCtxEnablePeerAccess, primary, 0);
  EXPECT(own == CUDA_ERROR_INVALID_CONTEXT || own == CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
}

// Counted, as PyCUDA ends with its contexts: who made it is one.
void attached(CUcontext primary) {
  CUcontext own = nullptr, same = nullptr, popped = nullptr;
  DRIVER(cuCtxCreate_v2, &own, 0, 0);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuCtxAttach, &same, 1);
  DRIVER(cuCtxAttach, &same, 0);
  EXPECT(same == own);
  DRIVER(cuCtxDetach, own);
  EXPECT(current() == own);
  DRIVER(cuCtxPopCurrent_v2, &popped);
  DRIVER_ERROR(CUDA_ERROR_INVALID_CONTEXT, cuCtxDetach, own);  // not the current one
  DRIVER(cuCtxPushCurrent_v2, own);
  DRIVER(cuCtxDetach, own);
  EXPECT(current() == primary);
}

// A context of its own, and what it ends with.
void made(CUcontext primary) {
  CUcontext own = nullptr, of = nullptr, popped = nullptr;
  DRIVER_ERROR(CUDA_ERROR_INVALID_DEVICE, cuCtxCreate_v2, &own, 0, 1000);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuCtxCreate_v2, &own, 0x100000, 0);
  DRIVER(cuCtxCreate_v2, &own, CU_CTX_SCHED_YIELD, 0);
  EXPECT(own != nullptr && own != primary && current() == own);
  unsigned flags = 0;
  unsigned long long id = 0, other = 0;
  DRIVER(cuCtxGetFlags, &flags);
  EXPECT((flags & CU_CTX_SCHED_MASK) == CU_CTX_SCHED_YIELD);
  DRIVER(cuCtxGetId, own, &id);
  DRIVER(cuCtxGetId, primary, &other);
  EXPECT(id != other);

  std::size_t before = 0, during = 0, after = 0, total = 0;
  const std::size_t bytes = std::size_t{64} << 20;
  CUdeviceptr memory = 0;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  void* host = nullptr;
  DRIVER(cuMemGetInfo_v2, &before, &total);
  DRIVER(cuMemAlloc_v2, &memory, bytes);
  DRIVER(cuMemGetInfo_v2, &during, &total);
  EXPECT(during < before);
  DRIVER(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  DRIVER(cuEventCreate, &event, CU_EVENT_DEFAULT);
  DRIVER(cuModuleLoadData, &module, driver::source);
  DRIVER(cuModuleGetFunction, &function, module, "scale");
  DRIVER(cuMemAllocHost_v2, &host, 4096);
  DRIVER(cuPointerGetAttribute, &of, CU_POINTER_ATTRIBUTE_CONTEXT, memory + 100);
  EXPECT(of == own);
  DRIVER(cuPointerGetAttribute, &of, CU_POINTER_ATTRIBUTE_CONTEXT, reinterpret_cast<CUdeviceptr>(host));
  EXPECT(of == own);
  DRIVER(cuStreamGetCtx, stream, &of);
  EXPECT(of == own);
  DRIVER(cuStreamGetCtx, nullptr, &of);
  EXPECT(of == own);
  CUgreenCtx green = reinterpret_cast<CUgreenCtx>(&of);
  DRIVER(cuStreamGetCtx_v2, stream, &of, &green);
  EXPECT(of == own && green == nullptr);

  unsigned n = 512, factor = 2;
  void* arguments[] = {&memory, &n, &factor};
  DRIVER(cuMemsetD32_v2, memory, 21, n);
  DRIVER(cuLaunchKernel, function, 4, 1, 1, 128, 1, 1, 0, stream, arguments, nullptr);
  DRIVER(cuStreamSynchronize, stream);
  std::vector<unsigned> result(n);
  DRIVER(cuMemcpyDtoH_v2, result.data(), memory, n * sizeof(unsigned));
  check::equal("in a context of its own", result, std::vector<unsigned>(n, 21 * 2 + 1000));

  // Of the primary one below it.
  CUdeviceptr kept = 0;
  DRIVER(cuCtxPushCurrent_v2, primary);
  DRIVER(cuMemAlloc_v2, &kept, 4096);
  DRIVER(cuMemsetD32_v2, kept, 5, 1024);
  DRIVER(cuCtxPopCurrent_v2, &popped);
  EXPECT(popped == primary && current() == own);

  // Another thread has it as well, until it is gone.
  int step = 0;
  std::thread other_([&] {
    EXPECT(current() == nullptr);
    DRIVER(cuCtxSetCurrent, own);
    EXPECT(current() == own);
    __atomic_store_n(&step, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&step, __ATOMIC_SEQ_CST) != 2) continue;
    CUdeviceptr none = 0;
    DRIVER_ERROR(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc_v2, &none, 256);
    DRIVER(cuCtxSetCurrent, primary);
    DRIVER(cuMemAlloc_v2, &none, 256);
    DRIVER(cuMemFree_v2, none);
  });
  while (__atomic_load_n(&step, __ATOMIC_SEQ_CST) != 1) continue;
  DRIVER(cuCtxDestroy_v2, own);
  __atomic_store_n(&step, 2, __ATOMIC_SEQ_CST);
  other_.join();

  EXPECT(current() == primary);
  if (check::throughRouse()) {
    DRIVER_ERROR(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy_v2, own);
    DRIVER_ERROR(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent_v2, own);
    DRIVER_ERROR(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize, stream);
    DRIVER_ERROR(CUDA_ERROR_INVALID_HANDLE, cuEventQuery, event);
    DRIVER_ERROR(CUDA_ERROR_INVALID_HANDLE, cuModuleGetFunction, &function, module, "scale");
    DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2, result.data(), memory, 4);
    DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost, host);
  }
  DRIVER(cuMemGetInfo_v2, &after, &total);
  EXPECT(after + bytes / 2 > before);
  DRIVER(cuMemcpyDtoH_v2, result.data(), kept, n * sizeof(unsigned));
  check::equal("what is the primary one's", result, std::vector<unsigned>(n, 5));
  DRIVER(cuMemFree_v2, kept);
}

// Freed past the driver, and its address used again: not the context's any more.
void freedByTheRuntime(CUcontext primary) {
  CUcontext own = nullptr;
  CUdeviceptr memory = 0;
  DRIVER(cuCtxCreate_v4, &own, nullptr, 0, 0);
  DRIVER(cuMemAlloc_v2, &memory, std::size_t{8} << 20);
  CHECK(cudaFree(reinterpret_cast<void*>(memory)));
  DRIVER(cuCtxPushCurrent_v2, primary);
  CUdeviceptr another = 0;
  DRIVER(cuMemAlloc_v2, &another, std::size_t{8} << 20);
  DRIVER(cuCtxPopCurrent_v2, nullptr);
  DRIVER(cuCtxDestroy_v2, own);
  DRIVER(cuMemsetD8_v2, another, 1, std::size_t{8} << 20);
  DRIVER(cuMemFree_v2, another);
}

// With affinity a context is refused by a device that has none.
void affinity() {
  CUcontext context = nullptr;
  DRIVER(cuCtxCreate_v3, &context, nullptr, 0, 0, 0);
  DRIVER(cuCtxDestroy_v2, context);
  if (!check::throughRouse()) return;
  CUexecAffinityParam sms{};
  sms.type = CU_EXEC_AFFINITY_TYPE_SM_COUNT;
  sms.param.smCount.val = 1;
  DRIVER_ERROR(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, cuCtxCreate_v3, &context, &sms, 1, 0, 0);
  CUctxCigParam cig{};
  CUctxCreateParams parameters{};
  parameters.cigParams = &cig;
  DRIVER_ERROR(CUDA_ERROR_NOT_SUPPORTED, cuCtxCreate_v4, &context, &parameters, 0, 0);
}

// The runtime's device is the current context's, and the other way round.
void besideTheRuntime(CUcontext primary) {
  DRIVER(cuCtxSetCurrent, nullptr);
  EXPECT(current() == nullptr);
  int count = 0, device = -1, active = 0;
  unsigned flags = 0;
  CHECK(cudaGetDeviceCount(&count));
  DRIVER(cuDevicePrimaryCtxGetState, count - 1, &flags, &active);  // asking chooses nothing
  EXPECT(current() == nullptr);
  CHECK(cudaFree(nullptr));
  EXPECT(current() == primary);
  CUcontext own = nullptr;
  DRIVER(cuCtxCreate_v2, &own, 0, count - 1);
  CHECK(cudaGetDevice(&device));
  EXPECT(device == count - 1);
  CHECK(cudaSetDevice(count - 1));  // to the primary one of the same device
  CUcontext last = nullptr;
  DRIVER(cuDevicePrimaryCtxRetain, &last, count - 1);
  EXPECT(current() == last);
  DRIVER(cuDevicePrimaryCtxRelease_v2, count - 1);
  DRIVER(cuCtxDestroy_v2, own);
  CHECK(cudaSetDevice(0));
  EXPECT(current() == primary);

  CUdeviceptr memory = 0;
  DRIVER(cuMemAlloc_v2, &memory, 4096);
  DRIVER(cuDevicePrimaryCtxReset_v2, 0);
  active = 99;
  DRIVER(cuDevicePrimaryCtxGetState, 0, &flags, &active);
  EXPECT(active == 0);
  DRIVER(cuDevicePrimaryCtxReset, 0);
  CHECK(cudaSetDevice(0));
  void* fresh = nullptr;
  CHECK(cudaMalloc(&fresh, 4096));
  CHECK(cudaFree(fresh));
}

int main() {
  beforeAnything();
  devices();
  const CUcontext primary = primaryOnes();
  asked(primary);
  attached(primary);
  made(primary);
  freedByTheRuntime(primary);
  garbageIsTold();
  affinity();
  besideTheRuntime(primary);
  return check::done();
}
