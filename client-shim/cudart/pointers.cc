// CUDA Runtime API, "Unified Addressing".
#include <cstring>

#include "client-shim/core/allocation.h"
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/session.h"

namespace rouse::cudart::impl {

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* ptr) {
  std::memset(attributes, 0, sizeof(*attributes));
  void* pointer = const_cast<void*>(ptr);
  client::Allocation allocation;
  if (!client::Process::get().findAllocation(ptr, &allocation)) {
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->device = cudaInvalidDeviceId;
    attributes->hostPointer = pointer;
    return cudaSuccess;
  }
  attributes->device = static_cast<int>(allocation.deviceIndex);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the window's addresses are the program's
  attributes->devicePointer = reinterpret_cast<void*>(allocation.deviceAddress(reinterpret_cast<std::uint64_t>(ptr)));
  switch (allocation.kind) {
    case client::MemoryKind::device:
      attributes->type = cudaMemoryTypeDevice;
      break;
    case client::MemoryKind::managed:
      attributes->type = cudaMemoryTypeManaged;
      attributes->hostPointer = pointer;
      break;
    default:
      attributes->type = cudaMemoryTypeHost;
      attributes->hostPointer = pointer;
      break;
  }
  return cudaSuccess;
}

}  // namespace rouse::cudart::impl
