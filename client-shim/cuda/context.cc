#include "client-shim/cuda/context.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "client-shim/cuda/call.h"
#include "client-shim/cuda/checks.h"
#include "client-shim/library/driver_host.h"

namespace rouse::cuda {
namespace {

constexpr std::size_t kMostDevices = 64;

using Resource = std::pair<Owned, std::uint64_t>;

struct Owner {
  Context* context = nullptr;
  std::uint64_t memory = 0;  // what lies at the handle, where that is an address: the program may free it past us, and something else lie there then
};

// Made at the first use, never destroyed: programs call from exit handlers. What ended keeps its place, so that its handle is known to be stale.
struct Contexts {
  std::array<Context, kMostDevices> primary;
  std::mutex mutex;
  std::vector<std::unique_ptr<Context>> made;
  std::map<Resource, Owner> owners;
  std::uint64_t nextId = kMostDevices + 1;

  Contexts() {
    for (std::size_t i = 0; i < primary.size(); ++i) {
      primary[i].device = static_cast<int>(i);
      primary[i].primary = true;
      primary[i].id = i + 1;
    }
  }
};
Contexts& contexts() {
  static Contexts& all = *new Contexts;
  return all;
}

std::atomic<bool> anyMade{false};
thread_local std::vector<Context*> below;  // of the current one, the innermost last

// 0: the handle is no address, nor an array, or nothing lies there any more.
std::uint64_t memoryOf(Owned kind, std::uint64_t handle) {
  client::MemoryFacts facts;
  const client::DriverHost& host = *client::driverHost();
  // NOLINTBEGIN(performance-no-int-to-ptr): handles as they were given out
  if (kind == Owned::array) handle = host.arrayMemory(reinterpret_cast<const void*>(handle));
  if (kind == Owned::mipmappedArray) {
    cudaArray_t level = nullptr;
    (void)call([&] { return cudaGetMipmappedArrayLevel(&level, reinterpret_cast<cudaMipmappedArray_t>(handle), 0); });
    handle = level != nullptr ? host.arrayMemory(level) : 0;
  }
  // NOLINTEND(performance-no-int-to-ptr)
  return host.memory(handle, &facts) ? facts.id : 0;
}

cudaError_t end(Owned kind, std::uint64_t handle) {
  // NOLINTBEGIN(performance-no-int-to-ptr): handles as they were given out
  switch (kind) {
    case Owned::texture:
      return cudaDestroyTextureObject(handle);
    case Owned::surface:
      return cudaDestroySurfaceObject(handle);
    case Owned::module:
      return cudaLibraryUnload(reinterpret_cast<cudaLibrary_t>(handle));
    case Owned::event:
      return cudaEventDestroy(reinterpret_cast<cudaEvent_t>(handle));
    case Owned::stream:
      return cudaStreamDestroy(reinterpret_cast<cudaStream_t>(handle));
    case Owned::array:
      return cudaFreeArray(reinterpret_cast<cudaArray_t>(handle));
    case Owned::mipmappedArray:
      return cudaFreeMipmappedArray(reinterpret_cast<cudaMipmappedArray_t>(handle));
    case Owned::imported:
      return cudaIpcCloseMemHandle(reinterpret_cast<void*>(handle));
    case Owned::memory:
    case Owned::managedMemory:
      return cudaFree(reinterpret_cast<void*>(handle));
    case Owned::hostMemory:
      return cudaFreeHost(reinterpret_cast<void*>(handle));
    case Owned::registration:
      return cudaHostUnregister(reinterpret_cast<void*>(handle));
  }
  // NOLINTEND(performance-no-int-to-ptr)
  return cudaErrorInvalidValue;
}

}  // namespace

CUresult checkDriver() {
  const client::DriverHost* const host = client::driverHost();
  if (host == nullptr) return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
  return host->attached() ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult checkContext() {
  if (const CUresult error = checkDriver(); error != CUDA_SUCCESS) return error;
  const client::CurrentContext current = client::driverHost()->current();
  if (current.device < 0) return CUDA_ERROR_INVALID_CONTEXT;
  const auto* const made = static_cast<const Context*>(current.context);
  return made != nullptr && made->destroyed.load(std::memory_order_acquire) ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_SUCCESS;
}

CUresult primaryContext(CUdevice device, Context** context) {
  int count = 0;
  if (const CUresult error = call([&] { return cudaGetDeviceCount(&count); }); error != CUDA_SUCCESS) return error;
  if (device < 0 || device >= count || static_cast<std::size_t>(device) >= kMostDevices) return CUDA_ERROR_INVALID_DEVICE;
  *context = &contexts().primary[static_cast<std::size_t>(device)];
  return CUDA_SUCCESS;
}

Context* findContext(CUcontext handle) {
  Contexts& all = contexts();
  for (Context& primary : all.primary) {
    if (handleOf(&primary) != handle) continue;
    Context* found = nullptr;
    return primaryContext(primary.device, &found) == CUDA_SUCCESS ? found : nullptr;
  }
  const std::lock_guard lock(all.mutex);
  for (const auto& made : all.made)
    if (handleOf(made.get()) == handle) return made.get();
  return nullptr;
}

Context* makeContext(CUdevice device, unsigned flags) try {
  auto made = std::make_unique<Context>();
  made->device = device;
  made->flags = flags;
  Contexts& all = contexts();
  const std::lock_guard lock(all.mutex);
  made->id = all.nextId++;
  anyMade = true;
  return all.made.emplace_back(std::move(made)).get();
} catch (const std::bad_alloc&) {
  return nullptr;
}

Context* currentContext() {
  const client::DriverHost* const host = client::driverHost();
  if (host == nullptr) return nullptr;
  const client::CurrentContext current = host->current();
  if (current.device < 0) return nullptr;
  if (current.context != nullptr) return static_cast<Context*>(const_cast<void*>(current.context));
  return &contexts().primary[static_cast<std::size_t>(current.device)];
}

void setCurrentContext(Context* context) {
  const client::DriverHost* const host = client::driverHost();
  if (host == nullptr) return;
  if (context == nullptr) return host->setCurrent({.chosen = host->current().chosen});
  host->setCurrent({context->device, context->primary ? nullptr : context});
}

void pushContext(Context* context) {
  if (Context* const current = currentContext(); current != nullptr) below.push_back(current);
  setCurrentContext(context);
}

Context* popContext() {
  Context* const popped = currentContext();
  if (popped == nullptr) return nullptr;
  Context* next = nullptr;
  if (!below.empty()) {
    next = below.back();
    below.pop_back();
  }
  setCurrentContext(next);
  return popped;
}

void own(Owned kind, std::uint64_t handle) noexcept try {
  if (!anyMade.load(std::memory_order_relaxed)) return;
  Context* const current = currentContext();
  if (current == nullptr || current->primary) return;
  const Owner owner{current, memoryOf(kind, handle)};
  const std::lock_guard lock(contexts().mutex);
  contexts().owners.insert_or_assign({kind, handle}, owner);
} catch (...) {
  // It stays until the process ends.
}

void disown(Owned kind, std::uint64_t handle) noexcept {
  if (!anyMade.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(contexts().mutex);
  contexts().owners.erase({kind, handle});
}

Context* ownerOf(Owned kind, std::uint64_t handle) {
  if (!anyMade.load(std::memory_order_relaxed)) return nullptr;
  const std::lock_guard lock(contexts().mutex);
  const auto found = contexts().owners.find({kind, handle});
  return found != contexts().owners.end() ? found->second.context : nullptr;
}

void forgetOwned(int device) {
  const std::lock_guard lock(contexts().mutex);
  std::erase_if(contexts().owners, [&](const auto& owned) { return owned.second.context->device == device; });
}

CUresult destroyContext(Context* context) {
  if (context->destroyed.exchange(true)) return CUDA_ERROR_INVALID_CONTEXT;
  const CUresult finished = within(context, [] { return call([] { return cudaDeviceSynchronize(); }); });
  // Memory last: what uses it goes first.
  for (;;) {
    Resource next{};
    std::uint64_t memory = 0;
    {
      const std::lock_guard lock(contexts().mutex);
      auto& owners = contexts().owners;
      const auto found = std::find_if(owners.begin(), owners.end(), [&](const auto& owned) { return owned.second.context == context; });
      if (found == owners.end()) break;
      next = found->first;
      memory = found->second.memory;
      owners.erase(found);
    }
    if (memoryOf(next.first, next.second) == memory) (void)within(context, [&] { return call([&] { return end(next.first, next.second); }); });
  }
  return finished;
}

}  // namespace rouse::cuda
