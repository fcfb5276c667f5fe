// Virtual memory management: arguments here, the books in virtual_memory.
#include "test/cuda-double/implementations.h"
#include "test/cuda-double/state.h"

namespace rouse::cuda_double::impl {
namespace {

// The current context's device, else the first: reservations belong to none.
Gpu* reserver() {
  if (currentContext != nullptr) {
    if (const auto context = here()) return &context->gpu;
  }
  return state().gpu(0);
}

CUresult check(const CUmemAllocationProp& properties) {
  if (properties.type != CU_MEM_ALLOCATION_TYPE_PINNED) {
    return violation(CUDA_ERROR_INVALID_VALUE, "properties", "type " + std::to_string(properties.type));
  }
  if (properties.location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    note("memory of location type " + std::to_string(properties.location.type) + ": the double has devices' only");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if ((properties.requestedHandleTypes != 0 && properties.requestedHandleTypes != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) || properties.allocFlags.compressionType != 0 ||
      properties.allocFlags.usage != 0) {
    note("compressible memory, or such to be shared by other means than descriptors: the double has none");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  if (properties.win32HandleMetaData != nullptr) {
    return violation(CUDA_ERROR_INVALID_VALUE, "properties", "win32HandleMetaData is not null");
  }
  return CUDA_SUCCESS;
}

CUresult noFlags(unsigned long long flags) {
  return flags == 0 ? CUDA_SUCCESS : violation(CUDA_ERROR_INVALID_VALUE, "flags", "must be 0, is " + hex(flags));
}

}  // namespace

CUresult cuMemGetInfo(size_t* free, size_t* total) {
  Gpu& gpu = here()->gpu;
  *free = gpu.freeBytes();
  *total = gpu.memoryBytes;
  return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop,
                                       CUmemAllocationGranularity_flags option) {
  if (const CUresult result = check(*prop); result != CUDA_SUCCESS) return result;
  if (state().gpu(prop->location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  *granularity = kGranuleBytes;
  return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr* ptr, size_t size, size_t alignment, CUdeviceptr addr,
                             unsigned long long flags) {
  if (const CUresult result = noFlags(flags); result != CUDA_SUCCESS) return result;
  Gpu* gpu = reserver();
  return gpu != nullptr ? state().memory.reserve(*gpu, ptr, size, alignment, addr) : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuMemAddressFree(CUdeviceptr ptr, size_t size) { return state().memory.free({ptr, size}); }

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size, const CUmemAllocationProp* prop,
                     unsigned long long flags) {
  if (const CUresult result = noFlags(flags); result != CUDA_SUCCESS) return result;
  if (const CUresult result = check(*prop); result != CUDA_SUCCESS) return result;
  Gpu* gpu = state().gpu(prop->location.id);
  return gpu != nullptr ? state().memory.create(*gpu, handle, size, prop->requestedHandleTypes != 0) : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuMemExportToShareableHandle(void* shareableHandle, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType handleType, unsigned long long flags) {
  if (const CUresult result = noFlags(flags); result != CUDA_SUCCESS) return result;
  if (handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    note("sharing by handles of type " + std::to_string(handleType) + ": the double has descriptors");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return state().memory.share(handle, static_cast<int*>(shareableHandle));
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* osHandle,
                                        CUmemAllocationHandleType shHandleType) {
  if (shHandleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
    note("sharing by handles of type " + std::to_string(shHandleType) + ": the double has descriptors");
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  Gpu* gpu = reserver();
  return gpu != nullptr ? state().memory.import(*gpu, handle, static_cast<int>(reinterpret_cast<std::intptr_t>(osHandle))) : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) { return state().memory.release(handle); }

CUresult cuMemMap(CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  if (const CUresult result = noFlags(flags); result != CUDA_SUCCESS) return result;
  if (offset != 0) return violation(CUDA_ERROR_INVALID_VALUE, "offset", "must be 0, is " + hex(offset));
  return state().memory.map({ptr, size}, handle);
}

CUresult cuMemUnmap(CUdeviceptr ptr, size_t size) {
  for (const auto& [handle, context] : state().contexts.all()) {
    if (context->uses({ptr, size})) {
      return violation(CUDA_ERROR_INVALID_VALUE, "in-use", "queued work uses memory at " + hex(ptr));
    }
  }
  return state().memory.unmap({ptr, size});
}

CUresult cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc, size_t count) {
  if (count == 0) return violation(CUDA_ERROR_INVALID_VALUE, "count", "no descriptions");
  for (size_t i = 0; i < count; ++i) {
    if (desc[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
      note("access of location type " + std::to_string(desc[i].location.type) + ": the double knows devices'");
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
        desc[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
      return violation(CUDA_ERROR_INVALID_VALUE, "flags", std::to_string(desc[i].flags));
    }
    if (state().gpu(desc[i].location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    using Access = VirtualMemory::Access;
    const CUresult result = state().memory.setAccess({ptr, size}, desc[i].location.id,
                                                     desc[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE   ? Access::none
                                                     : desc[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READ ? Access::read
                                                                                                      : Access::readWrite);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

}  // namespace rouse::cuda_double::impl
