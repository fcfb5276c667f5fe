// CUDA Runtime API, "Graph Management": memory of allocation nodes as a device counts it, and user objects.
#include <cstring>

#include "client-shim/cudart/graph/arguments.h"
#include "client-shim/cudart/implementations.h"

namespace rouse::cudart::impl {
namespace {

using namespace graph;  // NOLINT(google-build-using-namespace)

cudaError_t needObject(cudaUserObject_t handle, UserObject** object) {
  *object = findObject(handle);
  return *object != nullptr ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace

cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attr, void* value) {
  const auto lock = lockGraphs();
  client::Device* found = nullptr;
  if (const cudaError_t error = findDevice(device, &found); error != cudaSuccess) return error;
  const MemoryUse& use = memoryUse(*found);
  const std::uint64_t values[] = {use.used, use.usedHigh, use.reserved, use.reservedHigh};
  if (static_cast<unsigned>(attr) >= std::size(values)) return cudaErrorInvalidValue;
  std::memcpy(value, &values[attr], sizeof values[attr]);
  return cudaSuccess;
}

cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attr, void* value) {
  const auto lock = lockGraphs();
  client::Device* found = nullptr;
  std::uint64_t wanted = 0;
  if (const cudaError_t error = findDevice(device, &found); error != cudaSuccess) return error;
  std::memcpy(&wanted, value, sizeof wanted);
  MemoryUse& use = memoryUse(*found);
  if (wanted != 0) return cudaErrorInvalidValue;
  if (attr == cudaGraphMemAttrUsedMemHigh)
    use.usedHigh = use.used;
  else if (attr == cudaGraphMemAttrReservedMemHigh)
    use.reservedHigh = use.reserved;
  else
    return cudaErrorInvalidValue;
  return cudaSuccess;
}

// What graphs have they use: nothing is cached beyond them.
cudaError_t cudaDeviceGraphMemTrim(int device) {
  client::Device* found = nullptr;
  return findDevice(device, &found);
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t* object_out, void* ptr, cudaHostFn_t destroy, unsigned int initialRefcount,
                                 unsigned int flags) {
  if (destroy == nullptr || initialRefcount == 0 || flags != cudaUserObjectNoDestructorSync) return cudaErrorInvalidValue;
  const auto lock = lockGraphs();
  *object_out = reinterpret_cast<cudaUserObject_t>(makeObject(ptr, destroy, initialRefcount));
  return cudaSuccess;
}

cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned int count) {
  const auto lock = lockGraphs();
  UserObject* found = nullptr;
  if (const cudaError_t error = needObject(object, &found); error != cudaSuccess) return error;
  if (count == 0) return cudaErrorInvalidValue;
  retain(found, count);
  return cudaSuccess;
}

cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned int count) {
  const auto lock = lockGraphs();
  UserObject* found = nullptr;
  if (const cudaError_t error = needObject(object, &found); error != cudaSuccess) return error;
  if (count == 0) return cudaErrorInvalidValue;
  return release(found, count);
}

cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count, unsigned int flags) {
  const auto lock = lockGraphs();
  Graph* found = nullptr;
  UserObject* held = nullptr;
  if (const cudaError_t error = need(graph, &found); error != cudaSuccess) return error;
  if (const cudaError_t error = needObject(object, &held); error != cudaSuccess) return error;
  if (count == 0 || (flags & ~static_cast<unsigned>(cudaGraphUserObjectMove)) != 0) return cudaErrorInvalidValue;
  if ((flags & cudaGraphUserObjectMove) == 0)
    retain(held, count);
  else if (count > held->references)
    return cudaErrorInvalidValue;
  found->objects[held] += count;
  return cudaSuccess;
}

cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count) {
  const auto lock = lockGraphs();
  Graph* found = nullptr;
  UserObject* held = nullptr;
  if (const cudaError_t error = need(graph, &found); error != cudaSuccess) return error;
  if (const cudaError_t error = needObject(object, &held); error != cudaSuccess) return error;
  const auto entry = found->objects.find(held);
  if (count == 0 || entry == found->objects.end() || entry->second < count) return cudaErrorInvalidValue;
  entry->second -= count;
  if (entry->second == 0) found->objects.erase(entry);
  return release(held, count);
}

}  // namespace rouse::cudart::impl
