// Memory of allocation nodes, and objects of the program that graphs keep alive.
#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "client-shim/core/device_memory.h"
#include "client-shim/cudart/graph/model.h"
#include "client-shim/cudart/session.h"

namespace rouse::cudart::graph {
namespace {

// All under lockGraphs().
struct Allocations {
  std::unordered_map<std::uint64_t, std::weak_ptr<Allocation>> all;      // by address
  std::unordered_map<std::uint64_t, std::shared_ptr<Allocation>> live;  // what the program still has to free
  std::array<MemoryUse, wire::kMaxDevices> use;
  std::unordered_set<const void*> objects;
};
Allocations& allocations() {
  static Allocations& all = *new Allocations;
  return all;
}

void raise(std::uint64_t& value, std::uint64_t& high, std::uint64_t by) { high = std::max(high, value += by); }

}  // namespace

MemoryUse& memoryUse(const client::Device& device) { return allocations().use[device.index()]; }

cudaError_t allocate(client::Device& device, std::uint64_t bytes, std::shared_ptr<Allocation>* allocation) {
  if (bytes == 0) return cudaErrorInvalidValue;
  std::uint64_t address = 0;
  if (const cudaError_t error = toCuda(device.memory().allocate(bytes, &address)); error != cudaSuccess) return error;
  *allocation = std::make_shared<Allocation>(device, address, bytes);
  allocations().all[address] = *allocation;
  MemoryUse& use = memoryUse(device);
  raise(use.reserved, use.reservedHigh, bytes);
  return cudaSuccess;
}

Allocation::~Allocation() {
  const auto lock = lockGraphs();
  // After a reset the address may be another allocation's.
  const auto known = allocations().all.find(address);
  if (known != allocations().all.end() && known->second.expired()) allocations().all.erase(known);
  memoryUse(device).reserved -= bytes;
  if (device.incarnation() == incarnation) (void)device.memory().release(address);
}

std::shared_ptr<Allocation> findAllocation(const void* pointer) {
  const auto found = allocations().all.find(reinterpret_cast<std::uint64_t>(pointer));
  if (found == allocations().all.end()) return nullptr;
  auto allocation = found->second.lock();
  return allocation && allocation->incarnation == allocation->device.incarnation() ? allocation : nullptr;
}

void setLive(const std::shared_ptr<Allocation>& allocation, bool live) {
  if (allocation->live == live) return;
  allocation->live = live;
  MemoryUse& use = memoryUse(allocation->device);
  if (live) {
    allocations().live[allocation->address] = allocation;
    raise(use.used, use.usedHigh, allocation->bytes);
  } else {
    use.used -= allocation->bytes;
    allocations().live.erase(allocation->address);
  }
}

UserObject* makeObject(void* pointer, cudaHostFn_t destroy, unsigned references) {
  auto* object = new UserObject{pointer, destroy, references};
  allocations().objects.insert(object);
  return object;
}

UserObject* findObject(cudaUserObject_t handle) {
  return allocations().objects.contains(handle) ? reinterpret_cast<UserObject*>(handle) : nullptr;
}

void retain(UserObject* object, unsigned count) { object->references += count; }

cudaError_t release(UserObject* object, unsigned count) {
  if (count > object->references) return cudaErrorInvalidValue;
  object->references -= count;
  if (object->references != 0) return cudaSuccess;
  const UserObject last = *object;
  allocations().objects.erase(object);
  delete object;
  last.destroy(last.pointer);
  return cudaSuccess;
}

}  // namespace rouse::cudart::graph
