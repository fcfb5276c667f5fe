// CUDA Driver API, "Unified Addressing": what an address is.
#include <cstring>

#include "client-shim/cuda/call.h"
#include "client-shim/cuda/context.h"
#include "client-shim/cuda/implementations.h"
#include "client-shim/library/driver_host.h"

namespace rouse::cuda::impl {
namespace {

struct Described {
  cudaPointerAttributes attributes{};
  client::MemoryFacts facts;
  client::MappingFacts mapping;  // where facts.mapped: what is mapped at the address, and the reservation around it
};

// Memory that CUDA knows nothing of has no attributes.
CUresult describe(CUdeviceptr ptr, Described* memory) {
  if (const CUresult error = call([&] { return cudaPointerGetAttributes(&memory->attributes, pointer(ptr)); }); error != CUDA_SUCCESS) return error;
  if (memory->attributes.type == cudaMemoryTypeUnregistered || !client::driverHost()->memory(ptr, &memory->facts)) return CUDA_ERROR_INVALID_VALUE;
  if (memory->facts.mapped && !client::driverHost()->mapping(ptr, &memory->mapping)) return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

Owned kindOf(const cudaPointerAttributes& memory) {
  if (memory.type == cudaMemoryTypeManaged) return Owned::managedMemory;
  return memory.type == cudaMemoryTypeHost ? Owned::hostMemory : Owned::memory;
}

CUresult contextOf(const Described& memory, CUcontext* handle) {
  Context* context = ownerOf(kindOf(memory.attributes), memory.facts.base);
  if (context == nullptr && memory.attributes.type == cudaMemoryTypeHost) context = ownerOf(Owned::registration, memory.facts.base);
  if (context == nullptr && memory.facts.imported) context = ownerOf(Owned::imported, memory.facts.base);
  if (context == nullptr) {
    if (const CUresult error = primaryContext(memory.attributes.device, &context); error != CUDA_SUCCESS) return error;
  }
  *handle = handleOf(context);
  return CUDA_SUCCESS;
}

CUresult tell(const Described& memory, CUpointer_attribute attribute, void* data) {
  const cudaPointerAttributes& found = memory.attributes;
  const client::MemoryFacts& facts = memory.facts;
  const auto write = [&](auto value) {
    std::memcpy(data, &value, sizeof value);
    return CUDA_SUCCESS;
  };
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: {
      CUcontext context = nullptr;
      // Of pools, memory is the device's and no context's; so is what is mapped.
      const CUresult error = facts.pool != 0 || facts.mapped ? CUDA_SUCCESS : contextOf(memory, &context);
      return error == CUDA_SUCCESS ? write(context) : error;
    }
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      // Managed memory counts as the device's.
      return write(found.type == cudaMemoryTypeHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE);
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return found.devicePointer != nullptr ? write(address(found.devicePointer)) : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return found.hostPointer != nullptr ? write(found.hostPointer) : CUDA_ERROR_INVALID_VALUE;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return write(static_cast<unsigned long long>(facts.id));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return write(static_cast<unsigned>(found.type == cudaMemoryTypeManaged));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return write(found.device);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return write(static_cast<unsigned>(facts.onDevice && facts.pool == 0 && !facts.imported && !facts.mapped));
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return write(static_cast<CUdeviceptr>(facts.mapped ? memory.mapping.reservation : facts.deviceBase));
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return write(static_cast<CUdeviceptr>(facts.mapped ? memory.mapping.base : facts.deviceBase));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return write(static_cast<std::size_t>(facts.mapped ? memory.mapping.reservedBytes : facts.bytes));
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return write(static_cast<std::size_t>(facts.mapped ? memory.mapping.bytes : facts.bytes));
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return write(1u);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return write(0ull);  // none but those of cuIpcGetMemHandle
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
      return write(0u);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      // Read is 1 and both are 3 here as in cuMemSetAccess.
      return write(facts.mapped ? static_cast<CUDA_POINTER_ATTRIBUTE_ACCESS_FLAGS>(memory.mapping.access) : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE);
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return write(facts.pool);
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

// What cuPointerGetAttributes says of an address that is none of CUDA's, or has not what is asked for.
CUresult tellNothing(CUpointer_attribute attribute, void* data) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      std::memset(data, 0, 4);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: {
      const int none = CU_DEVICE_INVALID;
      std::memcpy(data, &none, sizeof none);
      return CUDA_SUCCESS;
    }
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      std::memset(data, 0, 8);
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

}  // namespace

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr ptr) {
  Described memory;
  if (data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = describe(ptr, &memory); error != CUDA_SUCCESS) return error;
  return tell(memory, attribute, data);
}

CUresult cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute* attributes, void** data, CUdeviceptr ptr) {
  Described memory;
  if (numAttributes == 0 || attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult described = describe(ptr, &memory);
  if (described != CUDA_SUCCESS && described != CUDA_ERROR_INVALID_VALUE) return described;
  for (unsigned i = 0; i < numAttributes; ++i) {
    if (data[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUresult told = described == CUDA_SUCCESS ? tell(memory, attributes[i], data[i]) : CUDA_ERROR_INVALID_VALUE;
    if (told == CUDA_ERROR_INVALID_VALUE) told = tellNothing(attributes[i], data[i]);
    if (told != CUDA_SUCCESS) return told;
  }
  return CUDA_SUCCESS;
}

}  // namespace rouse::cuda::impl
