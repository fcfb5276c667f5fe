// Functions of the driver as programs find them that name the version of CUDA they were written for (cuGetProcAddress): of several versions of a name the
// one that was asked for, of per-thread default streams those, nothing that is refused when it is called.
#include "driver.h"

using CreateSince3020 = CUresult (*)(CUcontext*, unsigned, CUdevice);

void* find(const char* name, int version, cuuint64_t flags, CUdriverProcAddressQueryResult wanted) {
  void* function = &wanted;
  CUdriverProcAddressQueryResult status = static_cast<CUdriverProcAddressQueryResult>(99);
  DRIVER(cuGetProcAddress_v2, name, &function, version, flags, &status);
  if (status != wanted || (function != nullptr) != (wanted == CU_GET_PROC_ADDRESS_SUCCESS)) {
    std::printf("%s in %d: status %d instead of %d\n", name, version, static_cast<int>(status), static_cast<int>(wanted));
    ++check::failures;
  }
  return function;
}

int main() {
  const auto there = CU_GET_PROC_ADDRESS_SUCCESS;
  void* const init = find("cuInit", 2000, CU_GET_PROC_ADDRESS_DEFAULT, there);
  EXPECT(init == dlsym(driver::library(), "cuInit"));
  EXPECT(reinterpret_cast<decltype(&cuInit)>(init)(0) == CUDA_SUCCESS);
  const auto create = reinterpret_cast<CreateSince3020>(find("cuCtxCreate", 11000, CU_GET_PROC_ADDRESS_DEFAULT, there));
  CUcontext context = nullptr;
  EXPECT(create(&context, 0, 0) == CUDA_SUCCESS);
  EXPECT(find("cuCtxCreate", 12000, 0, there) != reinterpret_cast<void*>(create));
  EXPECT(find("cuCtxCreate", 13000, 0, there) == dlsym(driver::library(), "cuCtxCreate_v4"));

  // The functions of per-thread default streams where there are some, the plain ones elsewhere.
  EXPECT(find("cuMemcpyHtoD", 13000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, there) == dlsym(driver::library(), "cuMemcpyHtoD_v2"));
  EXPECT(find("cuMemcpyHtoD", 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, there) == dlsym(driver::library(), "cuMemcpyHtoD_v2_ptds"));
  EXPECT(find("cuMemAlloc", 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, there) == dlsym(driver::library(), "cuMemAlloc_v2"));
  EXPECT(find("cuGetProcAddress", 12000, 0, there) == dlsym(driver::library(), "cuGetProcAddress_v2"));

  find("cuNoSuchFunction", 13000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  find("cuCtxSetFlags", 12000, 0, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  void* function = nullptr;
  if (check::throughRouse()) DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2, nullptr, &function, 13000, 0, nullptr);  // NVIDIA's driver dies of it
  if (check::throughRouse()) {  // NVIDIA's driver looks among what it has all the same
    DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2, "cuInit", &function, 13000, 3, nullptr);
    DRIVER_ERROR(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2, "cuInit", &function, 990000, 0, nullptr);
  }
  DRIVER(cuGetProcAddress, "cuInit", &function, 11030, 0);
  EXPECT(function == init);
  DRIVER_ERROR(CUDA_ERROR_NOT_FOUND, cuGetProcAddress, "cuNoSuchFunction", &function, 11030, 0);
  if (check::throughRouse()) {
    find("cuGetExportTable", 13000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    EXPECT(find("cuMemExportToShareableHandle", 13000, 0, there) != nullptr);  // refuses, and is looked up by who maps memory
    find("cuTensorMapEncodeIm2colWide", 13000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    find("cuMemAlloc", 3000, 0, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    const void* table = nullptr;
    const CUuuid id = {};
    EXPECT(CALL(cuGetExportTable, &table, &id) == CUDA_ERROR_NOT_SUPPORTED);
  }
  // What was found does what it should.
  CUdeviceptr memory = 0;
  EXPECT(reinterpret_cast<decltype(&cuMemAlloc_v2)>(find("cuMemAlloc", 13000, 0, there))(&memory, 64) == CUDA_SUCCESS);
  DRIVER(cuMemFree_v2, memory);
  DRIVER(cuCtxDestroy_v2, context);
  return check::done();
}
