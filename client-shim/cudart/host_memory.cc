// CUDA Runtime API, "Memory Management": page-locked host memory. It is shared with the executors at one address, so it
// is always mapped and portable, whatever the flags say.
#include "client-shim/core/host_memory.h"

#include "client-shim/core/allocation.h"
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/session.h"

namespace rouse::cudart::impl {
namespace {

constexpr unsigned kAllocFlags = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
constexpr unsigned kRegisterFlags =
    cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterIoMemory | cudaHostRegisterReadOnly;

bool findHost(const void* pointer, client::Allocation* allocation) {
  return client::Process::get().findAllocation(pointer, allocation) && allocation->kind != client::MemoryKind::device;
}

}  // namespace

cudaError_t cudaHostAlloc(void** pHost, size_t size, unsigned int flags) {
  if ((flags & ~kAllocFlags) != 0) return cudaErrorInvalidValue;
  return toCuda(client::Process::get().hostMemory().allocate(size, client::MemoryKind::pinned, flags,
                                                             currentDevice().index(), pHost));
}

cudaError_t cudaMallocHost(void** ptr, size_t size) { return cudaHostAlloc(ptr, size, cudaHostAllocDefault); }

cudaError_t cudaFreeHost(void* ptr) {
  if (ptr == nullptr) return cudaSuccess;
  client::Allocation allocation;
  if (!findHost(ptr, &allocation) || allocation.kind != client::MemoryKind::pinned) return cudaErrorInvalidValue;
  return toCuda(client::Process::get().hostMemory().release(ptr));
}

cudaError_t cudaHostRegister(void* ptr, size_t size, unsigned int flags) {
  if (ptr == nullptr || size == 0 || (flags & ~kRegisterFlags) != 0) return cudaErrorInvalidValue;
  if ((flags & (cudaHostRegisterIoMemory | cudaHostRegisterReadOnly)) != 0) return cudaErrorNotSupported;
  return toCuda(client::Process::get().hostMemory().registerRange(ptr, size, flags, currentDevice().index()));
}

cudaError_t cudaHostUnregister(void* ptr) {
  if (ptr == nullptr) return cudaErrorInvalidValue;
  return toCuda(client::Process::get().hostMemory().unregisterRange(ptr));
}

cudaError_t cudaHostGetDevicePointer(void** pDevice, void* pHost, unsigned int flags) {
  if (flags != 0) return cudaErrorInvalidValue;
  client::Allocation allocation;
  if (!findHost(pHost, &allocation)) return cudaErrorInvalidValue;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the window's addresses are the program's
  *pDevice = reinterpret_cast<void*>(allocation.deviceAddress(reinterpret_cast<std::uint64_t>(pHost)));
  return cudaSuccess;
}

cudaError_t cudaHostGetFlags(unsigned int* pFlags, void* pHost) {
  client::Allocation allocation;
  if (!findHost(pHost, &allocation) || allocation.kind == client::MemoryKind::managed) return cudaErrorInvalidValue;
  *pFlags = allocation.flags | cudaHostAllocMapped;
  return cudaSuccess;
}

}  // namespace rouse::cudart::impl
