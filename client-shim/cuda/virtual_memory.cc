// CUDA Driver API, "Virtual Memory Management". What it means is decided in client-shim/core/virtual_memory.h; here is what the driver checks.
#include "client-shim/cuda/call.h"
#include "client-shim/cuda/implementations.h"
#include "client-shim/library/driver_host.h"

namespace rouse::cuda::impl {
namespace {

CUresult result(CudaError error) { return toDriver(static_cast<cudaError_t>(error)); }

// Memory of a device of ours, nothing special about it. Compression is a wish, which is not granted. A file descriptor may be asked for, as PyTorch always
// does: what exports one refuses.
CUresult check(const CUmemAllocationProp* prop) {
  if (prop == nullptr || prop->allocFlags.compressionType > CU_MEM_ALLOCATION_COMP_GENERIC) return CUDA_ERROR_INVALID_VALUE;
  if (prop->type != CU_MEM_ALLOCATION_TYPE_PINNED) return prop->type == CU_MEM_ALLOCATION_TYPE_MANAGED ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_INVALID_VALUE;
  switch (prop->location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      break;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
      return CUDA_ERROR_NOT_SUPPORTED;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  int count = 0;
  if (const CUresult error = call([&] { return cudaGetDeviceCount(&count); }); error != CUDA_SUCCESS) return error;
  if (prop->location.id < 0 || prop->location.id >= count) return CUDA_ERROR_INVALID_DEVICE;
  if ((static_cast<unsigned>(prop->requestedHandleTypes) & ~static_cast<unsigned>(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)) != 0) return CUDA_ERROR_NOT_SUPPORTED;
  return prop->allocFlags.gpuDirectRDMACapable != 0 || prop->allocFlags.usage != 0 ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

// Whose window addresses are reserved in: CUDA's are every device's.
int currentDevice() {
  const client::CurrentContext current = client::driverHost()->current();
  if (current.device >= 0) return current.device;
  return current.chosen > 0 ? current.chosen - 1 : 0;
}

// The driver can be initialised while nothing has needed a device yet.
CUresult attach() {
  int count = 0;
  return call([&] { return cudaGetDeviceCount(&count); });
}

}  // namespace

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop, CUmemAllocationGranularity_flags option) {
  if (granularity == nullptr || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM && option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = check(prop); error != CUDA_SUCCESS) return error;
  *granularity = client::driverHost()->granularity();
  return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr* ptr, size_t size, size_t alignment, CUdeviceptr addr, unsigned long long flags) {
  constexpr std::size_t kHostPage = 4096;
  if (ptr == nullptr || flags != 0 || size == 0 || size % kHostPage != 0 || addr % kHostPage != 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = attach(); error != CUDA_SUCCESS) return error;
  std::uint64_t address = 0;
  const CudaError error = client::driverHost()->reserveAddresses(currentDevice(), size, alignment, addr, &address);
  if (error == CudaError::success) *ptr = address;
  return result(error);
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size) { return result(client::driverHost()->releaseAddresses(ptr, size)); }

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size, const CUmemAllocationProp* prop, unsigned long long flags) {
  if (handle == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = check(prop); error != CUDA_SUCCESS) return error;
  std::uint64_t made = 0;
  const CudaError error = client::driverHost()->createMemory(prop->location.id, size, prop->requestedHandleTypes, &made);
  if (error == CudaError::success) *handle = made;
  return result(error);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) { return result(client::driverHost()->dropMemory(handle)); }

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* addr) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::uint64_t found = 0;
  const CudaError error = client::driverHost()->retainMemory(address(addr), &found);
  if (error == CudaError::success) *handle = found;
  return result(error);
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* prop, CUmemGenericAllocationHandle handle) {
  if (prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
  int device = 0;
  std::uint64_t types = 0;
  if (const CudaError error = client::driverHost()->memoryNote(handle, &device, &types); error != CudaError::success) return result(error);
  *prop = {};
  prop->type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop->requestedHandleTypes = static_cast<CUmemAllocationHandleType>(types);
  prop->location = {};
  prop->location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop->location.id = device;
  return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags) {
  if (offset != 0 || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return result(client::driverHost()->mapMemory(ptr, size, handle));
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size) { return result(client::driverHost()->unmapMemory(ptr, size)); }

// All is checked before any of it is set. A device reaches another's memory by copies alone, so access from there can only be denied.
CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc, size_t count) {
  if (desc == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
  int devices = 0;
  if (const CUresult error = call([&] { return cudaGetDeviceCount(&devices); }); error != CUDA_SUCCESS) return error;
  client::MappingFacts mapping;
  if (!client::driverHost()->mapping(ptr, &mapping)) return CUDA_ERROR_INVALID_VALUE;
  bool sets = false;
  std::uint32_t access = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const CUmemAccess_flags flags = desc[i].flags;
    if (flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && flags != CU_MEM_ACCESS_FLAGS_PROT_READ && flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) return CUDA_ERROR_INVALID_VALUE;
    if (desc[i].location.type == CU_MEM_LOCATION_TYPE_INVALID) return CUDA_ERROR_INVALID_VALUE;
    if (desc[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
    if (desc[i].location.id < 0 || desc[i].location.id >= devices) return CUDA_ERROR_INVALID_DEVICE;
    if (desc[i].location.id == mapping.device) {
      sets = true;
      access = flags;
    } else if (flags != CU_MEM_ACCESS_FLAGS_PROT_NONE) {
      return CUDA_ERROR_NOT_SUPPORTED;
    }
  }
  return result(client::driverHost()->setAccess(ptr, size, sets ? &access : nullptr));
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr ptr) {
  if (flags == nullptr || location == nullptr || location->type == CU_MEM_LOCATION_TYPE_INVALID) return CUDA_ERROR_INVALID_VALUE;
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  int devices = 0;
  if (const CUresult error = call([&] { return cudaGetDeviceCount(&devices); }); error != CUDA_SUCCESS) return error;
  if (location->id < 0 || location->id >= devices) return CUDA_ERROR_INVALID_DEVICE;
  client::MappingFacts mapping;
  if (!client::driverHost()->mapping(ptr, &mapping)) return CUDA_ERROR_INVALID_VALUE;
  *flags = location->id == mapping.device ? mapping.access : 0;
  return CUDA_SUCCESS;
}

}  // namespace rouse::cuda::impl
