#include "client-shim/core/tensor_map.h"

#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <span>
#include <string>

#include "client-shim/core/command_queue.h"
#include "client-shim/core/device.h"
#include "client-shim/core/host_heap.h"
#include "client-shim/core/session.h"

namespace rouse::client {
namespace {

// Programs make some for each product that they launch, mostly the same ones.
constexpr std::size_t kMostKnown = 4096;

struct Known {
  std::mutex mutex;
  std::map<std::string, wire::TensorMap> maps;
};

Known& known() {
  static Known* const all = new Known;  // for as long as there is a thread
  return *all;
}

std::string keyOf(const Device& device, const wire::TensorMapRequest& request) {
  const std::uint32_t index = device.index();
  std::string key(sizeof index + sizeof request, '\0');
  std::memcpy(key.data(), &index, sizeof index);
  std::memcpy(key.data() + sizeof index, &request, sizeof request);
  return key;
}

CudaError ask(Device& device, const wire::TensorMapRequest& request, wire::TensorMap* map) {
  Session& session = device.session();
  std::uint64_t answer = 0;
  if (const CudaError error = session.hostHeap().allocateVariable(map->size(), device.index(), &answer); error != CudaError::success) return error;
  CudaError error = CudaError::memoryAllocation;
  if (const auto lease = session.slots().take()) {
    const Mark reply{lease->index, lease->value + 1};
    {
      CommandQueue::Batch batch(device.queue());
      batch.put(wire::TensorMapEncode{.destination = answer, .value = reply.value, .slot = reply.slot}, std::as_bytes(std::span(&request, 1)));
      batch.flush();
    }
    error = session.wait(device.index(), reply);
    if (error == CudaError::success) error = static_cast<CudaError>(session.slot(reply.slot).result.load(std::memory_order_relaxed));
    // NOLINTNEXTLINE(performance-no-int-to-ptr): of this process
    if (error == CudaError::success) std::memcpy(map->data(), reinterpret_cast<const void*>(answer), map->size());
    session.slots().give({reply.slot, reply.value});
  }
  (void)session.hostHeap().releaseVariable(answer);
  return error;
}

}  // namespace

CudaError encodeTensorMap(Device& device, const wire::TensorMapRequest& request, wire::TensorMap* map) try {
  const std::string key = keyOf(device, request);
  {
    const std::lock_guard lock(known().mutex);
    if (const auto found = known().maps.find(key); found != known().maps.end()) {
      *map = found->second;
      return CudaError::success;
    }
  }
  if (const CudaError error = ask(device, request, map); error != CudaError::success) return error;
  const std::lock_guard lock(known().mutex);
  if (known().maps.size() >= kMostKnown) known().maps.clear();
  known().maps.emplace(key, *map);
  return CudaError::success;
} catch (const std::bad_alloc&) {
  return CudaError::memoryAllocation;
}

}  // namespace rouse::client
