#include "server/device/cuda/work_memory.h"

#include "schemas/base/range.h"
#include "server/device/cuda/driver/error.h"

namespace rouse::cuda {
namespace {

std::uint64_t wholeGranules(std::uint64_t bytes) { return (bytes + kGranuleBytes - 1) / kGranuleBytes * kGranuleBytes; }

}  // namespace

Result<std::uint64_t> LibraryMemory::take(std::uint64_t bytes) {
  bytes = wholeGranules(bytes);
  CUmemAllocationProp property{};
  property.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  property.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device_};
  CUmemAccessDesc access{};
  access.location = property.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CUdeviceptr address = 0;
  if (const CUresult result = driver_.cuMemAddressReserve(&address, bytes, 0, 0, 0); result != CUDA_SUCCESS)
    return driverError(driver_, result, "cuMemAddressReserve", "memory for libraries");
  CUmemGenericAllocationHandle handle{};
  CUresult result = driver_.cuMemCreate(&handle, bytes, &property, 0);
  const char* call = "cuMemCreate";
  if (result == CUDA_SUCCESS) {
    result = driver_.cuMemMap(address, bytes, 0, handle, 0);
    call = "cuMemMap";
    const bool mapped = result == CUDA_SUCCESS;
    driver_.cuMemRelease(handle);  // the mapping keeps it
    if (mapped) {
      result = driver_.cuMemSetAccess(address, bytes, &access, 1);
      call = "cuMemSetAccess";
      if (result == CUDA_SUCCESS) return static_cast<std::uint64_t>(address);
      driver_.cuMemUnmap(address, bytes);
    }
  }
  driver_.cuMemAddressFree(address, bytes);
  return driverError(driver_, result, call, "memory for libraries");
}

void LibraryMemory::give(std::uint64_t address, std::uint64_t bytes) {
  bytes = wholeGranules(bytes);
  driver_.cuMemUnmap(address, bytes);
  driver_.cuMemAddressFree(address, bytes);
}

Status LibraryMemory::copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes, CUstream stream) {
  if (const CUresult result = driver_.cuMemcpyAsync(to, from, bytes, stream); result != CUDA_SUCCESS) return driverError(driver_, result, "cuMemcpyAsync", "a library's matrix");
  if (const CUresult result = driver_.cuStreamSynchronize(stream); result != CUDA_SUCCESS) return driverError(driver_, result, "cuStreamSynchronize", "a library's matrix");
  return {};
}

}  // namespace rouse::cuda
