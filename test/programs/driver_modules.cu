// Code by the driver API: modules and libraries from memory and from files, their functions, kernels and variables, what functions need and may use,
// every kind of launch, occupancy, and what is told of code that does not load.
#include "driver.h"

#include <cstdio>
#include <unistd.h>

const unsigned n = 1000;

void near(CUdeviceptr memory, unsigned value, const char* name) {
  std::vector<unsigned> result(n);
  DRIVER(cuMemcpyDtoH_v2, result.data(), memory, n * sizeof(unsigned));
  check::equal(name, result, std::vector<unsigned>(n, value));
}

std::string file() {
  char path[] = "/tmp/driver_modules_XXXXXX";
  const int fd = ::mkstemp(path);
  const std::size_t length = std::strlen(driver::source);
  EXPECT(fd >= 0 && ::write(fd, driver::source, length) == static_cast<ssize_t>(length));
  ::close(fd);
  return path;
}

void modules(const std::string& path) {
  CUmodule module = nullptr, of = nullptr;
  CUfunction function = nullptr, all[4] = {};
  unsigned count = 0;
  const char* name = nullptr;
  CUmoduleLoadingMode mode{};
  DRIVER(cuModuleGetLoadingMode, &mode);
  EXPECT(mode == CU_MODULE_LAZY_LOADING || mode == CU_MODULE_EAGER_LOADING);
  DRIVER(cuModuleLoad, &module, path.c_str());
  DRIVER(cuModuleGetFunctionCount, &count, module);
  EXPECT(count == 2);
  DRIVER(cuModuleEnumerateFunctions, all, 2, module);
  DRIVER(cuModuleGetFunction, &function, module, "scale");
  EXPECT(all[0] == function || all[1] == function);
  DRIVER(cuFuncGetName, &name, function);
  EXPECT(std::string(name) == "scale");
  DRIVER(cuFuncGetModule, &of, function);
  EXPECT(of == module);
  std::size_t offset = 99, size = 99;
  DRIVER(cuFuncGetParamInfo, function, 2, &offset, &size);
  EXPECT(offset == 12 && size == 4);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo, function, 3, &offset, &size);
  CUfunctionLoadingState state = CU_FUNCTION_LOADING_STATE_MAX;
  DRIVER(cuFuncLoad, function);
  DRIVER(cuFuncIsLoaded, &state, function);
  EXPECT(state == CU_FUNCTION_LOADING_STATE_LOADED);
  int value = 0;
  DRIVER(cuFuncGetAttribute, &value, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, function);
  EXPECT(value == 0);
  DRIVER(cuFuncSetSharedMemConfig, function, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE);
  DRIVER(cuModuleUnload, module);
  DRIVER(cuModuleLoadFatBinary, &module, driver::source);
  DRIVER(cuModuleUnload, module);
  if (check::throughRouse()) {
    DRIVER_ERROR(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload, module);
    DRIVER_ERROR(CUDA_ERROR_INVALID_HANDLE, cuFuncGetModule, &of, reinterpret_cast<CUfunction>(8));
    DRIVER_ERROR(CUDA_ERROR_INVALID_HANDLE, cuFuncIsLoaded, &state, reinterpret_cast<CUfunction>(8));
  }
}

// What is wrong is said in the log of errors, as much as there is room for.
void refusals() {
  const std::string broken = std::string(".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry bad()\n{\n  mov.u32 ,;\n  ret;\n}\n");
  char log[4096] = "", brief[10] = "";
  CUmodule module = nullptr;
  CUlibrary library = nullptr;
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  DRIVER_ERROR(CUDA_ERROR_INVALID_PTX, cuModuleLoadDataEx, &module, broken.c_str(), 2, options, values);
  const auto written = reinterpret_cast<std::uintptr_t>(values[1]);
  EXPECT(written > 1 && written < sizeof log && std::strlen(log) == written);
  EXPECT(std::strstr(log, "line 6") != nullptr);
  void* few[] = {brief, reinterpret_cast<void*>(sizeof brief)};
  // NVIDIA's driver compiles what a library has when it is first used.
  const CUresult loaded = CALL(cuLibraryLoadData, &library, broken.c_str(), options, few, 2, nullptr, nullptr, 0);
  if (loaded == CUDA_SUCCESS && !check::throughRouse()) {
    DRIVER(cuLibraryUnload, library);
  } else {
    EXPECT(loaded == CUDA_ERROR_INVALID_PTX);
    EXPECT(std::strlen(brief) == sizeof brief - 1 && reinterpret_cast<std::uintptr_t>(few[1]) == sizeof brief - 1);
  }
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuModuleLoadDataEx, &module, driver::source, 2, nullptr, nullptr);
  DRIVER_ERROR(CUDA_ERROR_FILE_NOT_FOUND, cuLibraryLoadFromFile, &library, "/nonexistent", nullptr, nullptr, 0, nullptr, nullptr, 0);
}

// An archive with one object of this name, as ar makes it.
std::string archiveOf(const std::string& object) {
  char header[61];
  std::string names = object + "/\n";
  std::snprintf(header, sizeof header, "%-48s%-10zu`\n", "//", names.size());
  std::string made = std::string("!<arch>\n") + header + names + (names.size() % 2 != 0 ? "\n" : "");
  std::snprintf(header, sizeof header, "%-16s%-12d%-6d%-6d%-8d%-10d`\n", "/0", 0, 0, 0, 100644, 4);
  return made + header + "none";
}

// A grid's barrier from the device runtime, as Numba has it: the CPU device brings it itself, and the library is taken for that.
void gridBarrier() {
  if (!check::throughRouse() || !check::onCpuDevice()) return;
  char source[] = R"(
.version 7.0
.target sm_70
.address_size 64
.extern .func (.param .b64 h) cudaCGGetIntrinsicHandle(.param .b32 scope);
.extern .func (.param .b32 e) cudaCGSynchronize(.param .b64 h, .param .b32 flags);
.visible .entry rounds(.param .u64 p, .param .u64 errors)
{
  .reg .pred %p;
  .reg .b32 %r<12>;
  .reg .b64 %d<8>;
  ld.param.u64 %d1, [p];
  { .param .b32 a; .param .b64 b; mov.u32 %r1, 1; st.param.b32 [a], %r1; call.uni (b), cudaCGGetIntrinsicHandle, (a); ld.param.b64 %d2, [b]; }
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.u32 %r5, %r2, %r3, %r4;
  mov.u32 %r6, %nctaid.x; mul.lo.u32 %r6, %r6, %r3;
  mul.wide.u32 %d3, %r5, 4; add.u64 %d3, %d1, %d3;
  sub.u32 %r7, %r6, %r5; sub.u32 %r7, %r7, 1; mul.wide.u32 %d4, %r7, 4; add.u64 %d4, %d1, %d4;
  mov.u32 %r8, 0;
round:
  { .param .b64 a; .param .b32 b; .param .b32 c; st.param.b64 [a], %d2; mov.u32 %r1, 0; st.param.b32 [b], %r1; call.uni (c), cudaCGSynchronize, (a, b); ld.param.b32 %r9, [c]; }
  ld.global.u32 %r10, [%d4];
  { .param .b64 a; .param .b32 b; .param .b32 c; st.param.b64 [a], %d2; mov.u32 %r1, 0; st.param.b32 [b], %r1; call.uni (c), cudaCGSynchronize, (a, b); ld.param.b32 %r11, [c]; }
  add.u32 %r10, %r10, 1; st.global.u32 [%d3], %r10;
  or.b32 %r9, %r9, %r11; ld.param.u64 %d5, [errors]; st.global.u32 [%d5], %r9;
  add.u32 %r8, %r8, 1; setp.lt.u32 %p, %r8, 5; @%p bra round;
  ret;
}
)";
  CUlinkState state = nullptr;
  void* code = nullptr;
  std::size_t bytes = 0;
  std::string runtime = archiveOf("cuda_device_runtime.o"), other = archiveOf("somebody_elses_code.o");
  DRIVER(cuLinkCreate_v2, 0, nullptr, nullptr, &state);
  DRIVER(cuLinkAddData_v2, state, CU_JIT_INPUT_PTX, source, sizeof source, "rounds", 0, nullptr, nullptr);
  DRIVER(cuLinkAddData_v2, state, CU_JIT_INPUT_LIBRARY, runtime.data(), runtime.size(), "runtime", 0, nullptr, nullptr);
  DRIVER_ERROR(CUDA_ERROR_NOT_SUPPORTED, cuLinkAddData_v2, state, CU_JIT_INPUT_LIBRARY, other.data(), other.size(), "other", 0, nullptr, nullptr);
  DRIVER_ERROR(CUDA_ERROR_NOT_SUPPORTED, cuLinkAddData_v2, state, CU_JIT_INPUT_LIBRARY, runtime.data(), runtime.size() - 2, "cut off", 0, nullptr, nullptr);
  DRIVER(cuLinkComplete, state, &code, &bytes);
  CUmodule module = nullptr;
  CUfunction rounds = nullptr;
  CUdeviceptr memory = 0, errors = 0;
  const unsigned threads = 4 * 96;
  unsigned error = 9;
  DRIVER(cuModuleLoadData, &module, code);
  DRIVER(cuLinkDestroy, state);
  DRIVER(cuModuleGetFunction, &rounds, module, "rounds");
  DRIVER(cuMemAlloc_v2, &memory, threads * sizeof(unsigned));
  DRIVER(cuMemAlloc_v2, &errors, sizeof error);
  DRIVER(cuMemsetD32_v2, memory, 7, threads);
  void* arguments[] = {&memory, &errors};
  DRIVER(cuLaunchCooperativeKernel, rounds, 4, 1, 1, 96, 1, 1, 0, nullptr, arguments);
  std::vector<unsigned> got(threads);
  DRIVER(cuMemcpyDtoH_v2, got.data(), memory, threads * sizeof(unsigned));
  DRIVER(cuMemcpyDtoH_v2, &error, errors, sizeof error);
  check::equal("rounds", got, std::vector<unsigned>(threads, 12));
  EXPECT(error == 0);
  // Without a grid that is there as a whole there is none to wait for.
  DRIVER(cuLaunchKernel, rounds, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr);
  DRIVER(cuMemcpyDtoH_v2, &error, errors, sizeof error);
  EXPECT(error == 1);
  DRIVER(cuMemFree_v2, memory);
  DRIVER(cuMemFree_v2, errors);
  DRIVER(cuModuleUnload, module);
}

// What the linker makes is code that modules take.
void links(const std::string& path) {
  char log[4096] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, CU_JIT_MAX_REGISTERS};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log), reinterpret_cast<void*>(64)};
  CUlinkState state = nullptr;
  void* code = nullptr;
  std::size_t bytes = 0;
  for (const bool fromFile : {false, true}) {
    DRIVER(cuLinkCreate_v2, 3, options, values, &state);
    if (fromFile)
      DRIVER(cuLinkAddFile_v2, state, CU_JIT_INPUT_PTX, path.c_str(), 0, nullptr, nullptr);
    else
      DRIVER(cuLinkAddData_v2, state, CU_JIT_INPUT_PTX, const_cast<char*>(driver::source), std::strlen(driver::source) + 1, "scale", 0, nullptr, nullptr);
    DRIVER(cuLinkComplete, state, &code, &bytes);
    const std::vector<char> kept(static_cast<char*>(code), static_cast<char*>(code) + bytes);
    DRIVER(cuLinkDestroy, state);
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    CUdeviceptr memory = 0;
    DRIVER(cuModuleLoadData, &module, kept.data());
    DRIVER(cuModuleGetFunction, &function, module, "scale");
    DRIVER(cuMemAlloc_v2, &memory, n * sizeof(unsigned));
    DRIVER(cuMemsetD32_v2, memory, 2, n);
    unsigned elements = n, factor = 3;
    void* arguments[] = {&memory, &elements, &factor};
    DRIVER(cuLaunchKernel, function, 8, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr);
    near(memory, 1006, "what the linker made");
    DRIVER(cuMemFree_v2, memory);
    DRIVER(cuModuleUnload, module);
  }
  DRIVER(cuLinkCreate_v2, 0, nullptr, nullptr, &state);
  DRIVER_ERROR(CUDA_ERROR_FILE_NOT_FOUND, cuLinkAddFile_v2, state, CU_JIT_INPUT_PTX, "/nonexistent", 0, nullptr, nullptr);
  DRIVER(cuLinkDestroy, state);
  // Of several parts, on GPUs of the pool not.
  if (!check::throughRouse() || check::onCpuDevice()) {
    char caller[] = ".version 7.0\n.target sm_70\n.address_size 64\n.extern .func (.param .b32 out) answer ();\n.visible .entry asks(.param .u64 p)\n{\n  .reg .b64 %q;\n  .reg .b32 %r;\n"
                    "  ld.param.u64 %q, [p];\n  {\n  .param .b32 got;\n  call.uni (got), answer, ();\n  ld.param.b32 %r, [got];\n  }\n  st.global.u32 [%q], %r;\n  ret;\n}\n";
    char callee[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .func (.param .b32 out) answer ()\n{\n  .reg .b32 %r;\n  mov.u32 %r, 4242;\n  st.param.b32 [out], %r;\n  ret;\n}\n";
    DRIVER(cuLinkCreate_v2, 0, nullptr, nullptr, &state);
    DRIVER(cuLinkAddData_v2, state, CU_JIT_INPUT_PTX, caller, sizeof caller, "caller", 0, nullptr, nullptr);
    DRIVER(cuLinkAddData_v2, state, CU_JIT_INPUT_PTX, callee, sizeof callee, "callee", 0, nullptr, nullptr);
    DRIVER(cuLinkComplete, state, &code, &bytes);
    CUmodule module = nullptr;
    CUfunction asks = nullptr;
    CUdeviceptr memory = 0;
    unsigned got = 0;
    DRIVER(cuModuleLoadData, &module, code);
    DRIVER(cuLinkDestroy, state);
    DRIVER(cuModuleGetFunction, &asks, module, "asks");
    DRIVER(cuMemAlloc_v2, &memory, sizeof got);
    void* arguments[] = {&memory};
    DRIVER(cuLaunchKernel, asks, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr);
    DRIVER(cuMemcpyDtoH_v2, &got, memory, sizeof got);
    EXPECT(got == 4242);
    DRIVER(cuMemFree_v2, memory);
    DRIVER(cuModuleUnload, module);
  }
  gridBarrier();
  if (!check::throughRouse()) return;
  // Told when it is completed, with the reason.
  char broken[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry bad()\n{\n  mov.u32 ,;\n  ret;\n}\n";
  DRIVER(cuLinkCreate_v2, 2, options, values, &state);
  DRIVER(cuLinkAddData_v2, state, CU_JIT_INPUT_PTX, broken, sizeof broken, nullptr, 0, nullptr, nullptr);
  values[1] = reinterpret_cast<void*>(sizeof log);
  DRIVER_ERROR(CUDA_ERROR_INVALID_PTX, cuLinkComplete, state, &code, &bytes);
  DRIVER_ERROR(CUDA_ERROR_NOT_SUPPORTED, cuLinkAddData_v2, state, CU_JIT_INPUT_FATBINARY, broken, sizeof broken, nullptr, 0, nullptr, nullptr);
  DRIVER(cuLinkDestroy, state);
  DRIVER_ERROR(CUDA_ERROR_INVALID_HANDLE, cuLinkComplete, state, &code, &bytes);
  DRIVER_ERROR(CUDA_ERROR_INVALID_HANDLE, cuLinkDestroy, state);
  DRIVER(cuLinkCreate_v2, 0, nullptr, nullptr, &state);
  DRIVER_ERROR(CUDA_ERROR_NOT_SUPPORTED, cuLinkAddData_v2, state, CU_JIT_INPUT_CUBIN, broken, sizeof broken, nullptr, 0, nullptr, nullptr);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuLinkComplete, state, &code, &bytes);
  DRIVER(cuLinkDestroy, state);
}

// Loaded without a context, used in any.
void libraries(const std::string& path, CUcontext context) {
  CUlibrary library = nullptr, fromFile = nullptr, of = nullptr;
  CUkernel kernel = nullptr, all[2] = {};
  CUfunction function = nullptr;
  CUmodule module = nullptr;
  unsigned count = 0;
  const char* name = nullptr;
  std::size_t offset = 99, size = 99, bytes = 0;
  int value = 0;
  DRIVER(cuCtxPopCurrent_v2, nullptr);
  DRIVER(cuLibraryLoadData, &library, driver::source, nullptr, nullptr, 0, nullptr, nullptr, 0);
  DRIVER(cuLibraryLoadFromFile, &fromFile, path.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  CUcontext none = context;
  DRIVER(cuCtxGetCurrent, &none);
  EXPECT(none == nullptr);
  DRIVER(cuLibraryGetKernel, &kernel, library, "scale");
  DRIVER_ERROR(CUDA_ERROR_NOT_FOUND, cuLibraryGetKernel, &kernel, library, "scales");
  DRIVER(cuLibraryGetKernelCount, &count, library);
  EXPECT(count == 2);
  DRIVER(cuLibraryEnumerateKernels, all, 2, library);
  EXPECT(all[0] == kernel || all[1] == kernel);
  DRIVER(cuKernelGetName, &name, kernel);
  EXPECT(std::string(name) == "scale");
  DRIVER(cuKernelGetLibrary, &of, kernel);
  EXPECT(of == library);
  DRIVER(cuKernelGetAttribute, &value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, 0);
  EXPECT(value >= 128);
  DRIVER(cuKernelSetAttribute, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 2048, kernel, 0);
  DRIVER(cuKernelGetAttribute, &value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 0);
  EXPECT(value == 2048);
  DRIVER(cuKernelSetCacheConfig, kernel, CU_FUNC_CACHE_PREFER_L1, 0);
  DRIVER_ERROR(CUDA_ERROR_INVALID_DEVICE, cuKernelGetAttribute, &value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 1000);
  DRIVER_ERROR(CUDA_ERROR_INVALID_CONTEXT, cuKernelGetFunction, &function, kernel);

  DRIVER(cuCtxPushCurrent_v2, context);
  DRIVER(cuKernelGetParamInfo, kernel, 1, &offset, &size);
  EXPECT(offset == 8 && size == 4);
  CUdeviceptr variable = 0, memory = 0;
  DRIVER(cuLibraryGetGlobal, &variable, &bytes, library, "bias");
  EXPECT(bytes == 4 && variable != 0);
  DRIVER_ERROR(CUDA_ERROR_NOT_FOUND, cuLibraryGetGlobal, &variable, &bytes, library, "biases");
  DRIVER_ERROR(CUDA_ERROR_NOT_FOUND, cuLibraryGetManaged, &variable, &bytes, library, "bias");
  DRIVER(cuKernelGetFunction, &function, kernel);
  DRIVER(cuLibraryGetModule, &module, library);
  DRIVER_ERROR(CUDA_ERROR_NOT_PERMITTED, cuModuleUnload, module);
  CUfunction same = nullptr;
  DRIVER(cuModuleGetFunction, &same, module, "scale");
  DRIVER(cuMemAlloc_v2, &memory, n * sizeof(unsigned));
  unsigned elements = n, factor = 5;
  void* arguments[] = {&memory, &elements, &factor};
  DRIVER(cuMemsetD32_v2, memory, 1, n);
  DRIVER(cuLaunchKernel, function, 8, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr);
  near(memory, 1005, "a library's function");
  DRIVER(cuLaunchKernel, reinterpret_cast<CUfunction>(kernel), 8, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr);
  near(memory, 6025, "a library's kernel");
  DRIVER(cuMemFree_v2, memory);
  DRIVER(cuLibraryUnload, library);
  DRIVER(cuLibraryUnload, fromFile);
  if (check::throughRouse()) DRIVER_ERROR(CUDA_ERROR_INVALID_HANDLE, cuLibraryUnload, library);
}

std::size_t CUDA_CB sharedFor(int threads) { return static_cast<std::size_t>(threads) * 32; }

void launches() {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUdeviceptr memory = 0;
  CUstream stream = nullptr;
  DRIVER(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  DRIVER(cuModuleLoadData, &module, driver::source);
  DRIVER(cuModuleGetFunction, &function, module, "scale");
  DRIVER(cuMemAlloc_v2, &memory, n * sizeof(unsigned));
  DRIVER(cuMemsetD32Async, memory, 0, n, stream);
  unsigned elements = n, factor = 0;
  void* arguments[] = {&memory, &elements, &factor};
  DRIVER(cuLaunchKernel_ptsz, function, 8, 1, 1, 128, 1, 1, 0, stream, arguments, nullptr);
  DRIVER(cuStreamSynchronize, stream);
  near(memory, 1000, "cuLaunchKernel_ptsz");
  factor = 1;
  CUlaunchConfig config = {};
  config.gridDimX = 8;
  config.blockDimX = 128;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  DRIVER(cuLaunchKernelEx_ptsz, &config, function, arguments, nullptr);  // in the thread's own stream
  DRIVER(cuStreamSynchronize_ptsz, nullptr);
  near(memory, 2000, "cuLaunchKernelEx_ptsz");
  // In clusters, where the device has them (cudaDevAttrClusterLaunch).
  int clusters = 0, size = 0;
  DRIVER(cuDeviceGetAttribute, &clusters, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0);
  if (clusters != 0) {
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.clusterDim.x = 4;
    attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
    clusters = 0;
    DRIVER(cuOccupancyMaxActiveClusters, &clusters, function, &config);
    EXPECT(clusters >= 1);
    DRIVER(cuOccupancyMaxPotentialClusterSize, &size, function, &config);
    EXPECT(size == 8);
    DRIVER(cuFuncGetAttribute, &size, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, function);
    EXPECT(size == 0);
  }
  DRIVER(cuLaunchCooperativeKernel_ptsz, function, 8, 1, 1, 128, 1, 1, 0, stream, arguments);
  DRIVER(cuStreamSynchronize, stream);
  near(memory, 3000, "cuLaunchCooperativeKernel_ptsz");
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel, function, 0, 1, 1, 128, 1, 1, 0, stream, arguments, nullptr);

  int blocks = 0, grid = 0, threads = 0, fewer = 0;
  std::size_t shared = 0;
  DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, &blocks, function, 128, 0, CU_OCCUPANCY_DEFAULT);
  EXPECT(blocks >= 1);
  DRIVER(cuOccupancyAvailableDynamicSMemPerBlock, &shared, function, 1, 128);
  EXPECT(shared > 0);
  DRIVER(cuOccupancyMaxPotentialBlockSize, &grid, &threads, function, nullptr, 0, 0);
  EXPECT(grid >= 1 && threads >= 32);
  DRIVER(cuOccupancyMaxPotentialBlockSizeWithFlags, &grid, &fewer, function, nullptr, 0, 64, CU_OCCUPANCY_DEFAULT);
  EXPECT(fewer >= 1 && fewer <= 64);
  DRIVER(cuOccupancyMaxPotentialBlockSizeWithFlags, &grid, &fewer, function, sharedFor, 0, 0, CU_OCCUPANCY_DEFAULT);
  EXPECT(grid >= 1 && fewer >= 1);
  DRIVER(cuModuleUnload, module);
  DRIVER(cuMemFree_v2, memory);
  DRIVER(cuStreamDestroy_v2, stream);
}

// Shape and arguments set beforehand, one by one, as before CUDA 4; they stay with the function.
void classicLaunches() {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUdeviceptr memory = 0;
  DRIVER(cuModuleLoadData, &module, driver::source);
  DRIVER(cuModuleGetFunction, &function, module, "scale");
  DRIVER(cuMemAlloc_v2, &memory, n * sizeof(unsigned));
  DRIVER(cuMemsetD32_v2, memory, 2, n);
  DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuFuncSetBlockShape, function, 0, 1, 1);
  DRIVER(cuFuncSetBlockShape, function, 128, 1, 1);
  DRIVER(cuFuncSetSharedSize, function, 64);
  DRIVER(cuParamSetv, function, 0, &memory, sizeof memory);
  DRIVER(cuParamSeti, function, 8, n);
  DRIVER(cuParamSeti, function, 12, 3);
  if (check::throughRouse()) {
    DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuParamSetv, function, -1, &memory, sizeof memory);
    DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuParamSetv, function, 1 << 20, &memory, sizeof memory);
    DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuLaunchGrid, function, 8, 1);  // it has arguments
    DRIVER_ERROR(CUDA_ERROR_INVALID_HANDLE, cuFuncSetBlockShape, reinterpret_cast<CUfunction>(8), 1, 1, 1);
  }
  DRIVER(cuParamSetSize, function, 16);
  DRIVER(cuLaunchGrid, function, 8, 1);
  near(memory, 1006, "cuLaunchGrid");
  CUstream stream = nullptr;
  DRIVER(cuStreamCreate, &stream, CU_STREAM_DEFAULT);
  const float tiny = 1e-45f;  // the bits of 1
  DRIVER(cuParamSetf, function, 12, tiny);
  DRIVER(cuLaunchGridAsync, function, 8, 1, stream);
  DRIVER(cuStreamSynchronize, stream);
  near(memory, 2006, "cuLaunchGridAsync");
  DRIVER(cuParamSeti, function, 8, 0);
  DRIVER(cuLaunch, function);
  near(memory, 2006, "cuLaunch");
  DRIVER(cuStreamDestroy_v2, stream);
  DRIVER(cuMemFree_v2, memory);
  DRIVER(cuModuleUnload, module);
}

int main() {
  CUcontext context = nullptr;
  DRIVER(cuInit, 0);
  DRIVER(cuCtxCreate_v2, &context, 0, 0);
  const std::string path = file();
  modules(path);
  refusals();
  links(path);
  libraries(path, context);
  launches();
  classicLaunches();
  std::remove(path.c_str());
  DRIVER(cuCtxDestroy_v2, context);
  return check::done();
}
