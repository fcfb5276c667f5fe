// The driver API beside the runtime, as programs use it that compile kernels while they run: libcuda.so.1 opened by name, its functions found there
// and through cudaGetDriverEntryPoint; contexts, memory, streams, events, modules, launches with both kinds of arguments; errors that are
// the driver's and not the runtime's last.
#include "driver.h"

void devices() {
  int count = 0, devices = 0, version = 0, threads = 0;
  CHECK(cudaGetDeviceCount(&count));
  DRIVER(cuInit, 0);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuInit, 1);
  DRIVER(cuDriverGetVersion, &version);
  EXPECT(version >= 13000);
  DRIVER(cuDeviceGetCount, &devices);
  EXPECT(devices == count);
  CUdevice device = -1;
  DRIVER(cuDeviceGet, &device, 0);
  DRIVER_ERROR(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet, &device, count);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuDeviceGet, nullptr, 0);
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  char name[256], brief[5], address[32];
  DRIVER(cuDeviceGetName, name, sizeof name, 0);
  EXPECT(std::string(name) == properties.name);
  DRIVER(cuDeviceGetName, brief, sizeof brief, 0);
  EXPECT(std::string(brief) == std::string(properties.name).substr(0, 4));
  DRIVER(cuDeviceGetPCIBusId, address, sizeof address, 0);
  std::size_t bytes = 0;
  DRIVER(cuDeviceTotalMem_v2, &bytes, 0);
  EXPECT(bytes == properties.totalGlobalMem);
  DRIVER(cuDeviceGetAttribute, &threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0);
  EXPECT(threads == properties.maxThreadsPerBlock);
  CUuuid uuid;
  DRIVER(cuDeviceGetUuid_v2, &uuid, 0);
  EXPECT(std::memcmp(uuid.bytes, properties.uuid.bytes, sizeof uuid.bytes) == 0);
  const char* text = nullptr;
  DRIVER(cuGetErrorName, CUDA_ERROR_NO_BINARY_FOR_GPU, &text);
  EXPECT(std::string(text) == "CUDA_ERROR_NO_BINARY_FOR_GPU");
  DRIVER(cuGetErrorString, CUDA_ERROR_INVALID_VALUE, &text);
  EXPECT(std::string(text) == "invalid argument");
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuGetErrorName, static_cast<CUresult>(98765), &text);
}

void contexts() {
  CHECK(cudaFree(nullptr));  // the runtime has made its context current
  CUcontext current = nullptr, primary = nullptr;
  CUdevice device = -1;
  unsigned flags = 99;
  int active = 0;
  DRIVER(cuCtxGetCurrent, &current);
  EXPECT(current != nullptr);
  DRIVER(cuDevicePrimaryCtxRetain, &primary, 0);
  EXPECT(primary == current);
  DRIVER(cuDevicePrimaryCtxGetState, 0, &flags, &active);
  EXPECT(active == 1);
  DRIVER_ERROR(CUDA_ERROR_INVALID_DEVICE, cuDevicePrimaryCtxRetain, &primary, 1000);
  DRIVER(cuCtxSetCurrent, nullptr);
  DRIVER(cuCtxGetCurrent, &current);
  EXPECT(current == nullptr);
  DRIVER_ERROR(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetDevice, &device);
  DRIVER(cuCtxSetCurrent, primary);
  DRIVER(cuCtxGetDevice, &device);
  EXPECT(device == 0);
  DRIVER(cuCtxSynchronize);
  DRIVER(cuDevicePrimaryCtxRelease_v2, 0);
  CHECK(cudaDeviceSynchronize());  // the runtime's own reference is left
}

void work() {
  const unsigned n = 1000;
  std::vector<unsigned> data(n), wanted(n), result(n);
  for (unsigned i = 0; i < n; ++i) {
    data[i] = i * 17;
    wanted[i] = data[i] * 3 + 1000;
  }
  std::size_t free = 0, total = 0;
  DRIVER(cuMemGetInfo_v2, &free, &total);
  EXPECT(free > 0 && free <= total);
  CUdeviceptr device = 0, second = 0;
  DRIVER(cuMemAlloc_v2, &device, n * sizeof(unsigned));
  DRIVER(cuMemAlloc_v2, &second, n * sizeof(unsigned));
  CUdeviceptr nothing = 1;
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuMemAlloc_v2, &nothing, 0);
  if (check::throughRouse()) EXPECT(nothing == 0);
  DRIVER(cuMemcpyHtoD_v2, device, data.data(), n * sizeof(unsigned));

  CUmodule module = nullptr;
  CUfunction function = nullptr;
  char log[256] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_TARGET_FROM_CUCONTEXT};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log), nullptr};
  DRIVER(cuModuleLoadDataEx, &module, driver::source, 3, options, values);
  DRIVER(cuModuleUnload, module);
  DRIVER(cuModuleLoadData, &module, driver::source);
  DRIVER(cuModuleGetFunction, &function, module, "scale");
  CUfunction none = nullptr;
  DRIVER_ERROR(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction, &none, module, "scales");
  CUmodule noModule = nullptr;
  DRIVER_ERROR(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad, &noModule, "/nonexistent.cubin");
  CHECK(cudaGetLastError());  // none of these is the runtime's last error

  int value = 0;
  DRIVER(cuFuncGetAttribute, &value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
  EXPECT(value >= 128);
  DRIVER(cuFuncSetAttribute, function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024);
  DRIVER(cuFuncSetCacheConfig, function, CU_FUNC_CACHE_PREFER_L1);
  DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessor, &value, function, 128, 0);
  EXPECT(value >= 1);

  CUstream stream = nullptr;
  CUevent event = nullptr;
  DRIVER(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  DRIVER(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
  unsigned count = n, factor = 3;
  void* arguments[] = {&device, &count, &factor};
  DRIVER(cuLaunchKernel, function, 8, 1, 1, 128, 1, 1, 0, stream, arguments, nullptr);
  DRIVER(cuEventRecord, event, stream);
  DRIVER(cuEventSynchronize, event);
  DRIVER(cuEventQuery, event);
  DRIVER(cuMemcpyDtoH_v2, result.data(), device, n * sizeof(unsigned));
  check::equal("arguments by address", result, wanted);

  // The same in one buffer, laid out as the kernel has them; the module's variable is changed first.
  CUdeviceptr variable = 0;
  std::size_t bytes = 0;
  DRIVER(cuModuleGetGlobal_v2, &variable, &bytes, module, "bias");
  EXPECT(bytes == sizeof(unsigned));
  const unsigned bias = 5;
  DRIVER(cuMemcpyHtoDAsync_v2, variable, &bias, sizeof bias, stream);
  struct {
    CUdeviceptr data;
    unsigned n, factor;
  } buffer = {device, n, 2};
  std::size_t size = sizeof buffer;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  DRIVER(cuLaunchKernel, function, 8, 1, 1, 128, 1, 1, 0, stream, nullptr, extra);
  DRIVER(cuStreamWaitEvent, stream, event, 0);
  DRIVER(cuMemcpyDtoDAsync_v2, second, device, n * sizeof(unsigned), stream);
  DRIVER(cuMemcpyDtoHAsync_v2, result.data(), second, n * sizeof(unsigned), stream);
  DRIVER(cuStreamSynchronize, stream);
  DRIVER(cuStreamQuery, stream);
  for (unsigned& v : wanted) v = v * 2 + 5;
  check::equal("arguments in a buffer", result, wanted);
  CUlaunchConfig config = {};
  config.gridDimX = 8;
  config.blockDimX = 128;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  CUlaunchAttribute attribute = {};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  config.attrs = &attribute;
  config.numAttrs = 1;
  DRIVER(cuLaunchKernelEx, &config, function, arguments, nullptr);
  DRIVER(cuStreamSynchronize, stream);
  for (unsigned& v : wanted) v = v * 3 + 5;
  DRIVER(cuMemcpyDtoH_v2, result.data(), device, n * sizeof(unsigned));
  check::equal("with attributes", result, wanted);
  if (check::throughRouse()) DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx, nullptr, function, arguments, nullptr);
  DRIVER(cuLaunchCooperativeKernel, function, 1, 1, 1, 128, 1, 1, 0, stream, arguments);
  DRIVER(cuMemsetD8Async, second, 0xab, n * sizeof(unsigned), stream);
  DRIVER(cuStreamSynchronize, stream);
  DRIVER(cuMemcpyDtoD_v2, device, second, n * sizeof(unsigned));
  DRIVER(cuMemsetD8_v2, device, 1, 4);
  DRIVER(cuMemcpyDtoH_v2, result.data(), device, n * sizeof(unsigned));
  EXPECT(result[0] == 0x01010101 && result[1] == 0xabababab && result[n - 1] == 0xabababab);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel, function, 8, 1, 1, 4096, 1, 1, 0, stream, arguments, nullptr);
  CHECK(cudaGetLastError());

  CUmemorytype type{};
  CUcontext context = nullptr, current = nullptr;
  DRIVER(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device);
  EXPECT(type == CU_MEMORYTYPE_DEVICE);
  DRIVER(cuPointerGetAttribute, &context, CU_POINTER_ATTRIBUTE_CONTEXT, device);
  DRIVER(cuCtxGetCurrent, &current);
  EXPECT(context == current);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
               reinterpret_cast<CUdeviceptr>(&type));
  DRIVER(cuEventDestroy_v2, event);
  DRIVER(cuStreamDestroy_v2, stream);
  DRIVER(cuModuleUnload, module);
  DRIVER(cuMemFree_v2, device);
  DRIVER(cuMemFree_v2, second);
}

void entryPoints() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result;
  CHECK(cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 13000, cudaEnableDefault, &result));
  EXPECT(result == cudaDriverEntryPointSuccess && function != nullptr);
  CUdeviceptr device = 0;
  EXPECT(reinterpret_cast<CUresult (*)(CUdeviceptr*, std::size_t)>(function)(&device, 256) == CUDA_SUCCESS);
  CHECK(cudaFree(reinterpret_cast<void*>(device)));
  CHECK(cudaGetDriverEntryPointByVersion("cuNoSuchFunction", &function, 13000, cudaEnableDefault, &result));
  EXPECT(result == cudaDriverEntryPointSymbolNotFound && function == nullptr);
}

int main() {
  devices();
  contexts();
  work();
  entryPoints();
  return check::done();
}
