// CUDA Runtime API, "Memory Management": managed memory. It lies in the host window, where every device and the
// processor reach the same bytes, so migrating, discarding and attaching have nothing to do; their arguments are
// checked all the same.
#include <algorithm>
#include <cstring>

#include "client-shim/core/allocation.h"
#include "client-shim/core/host_memory.h"
#include "client-shim/cudart/graph/capture.h"
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/memory_advice.h"
#include "client-shim/cudart/session.h"

namespace rouse::cudart::impl {
namespace {

// The range must lie in one managed allocation.
cudaError_t managedRange(const void* pointer, std::size_t bytes, AddressRange* range) {
  if (pointer == nullptr || bytes == 0) return cudaErrorInvalidValue;
  client::Allocation allocation;
  const auto address = reinterpret_cast<std::uint64_t>(pointer);
  if (!client::Process::get().findAllocation(pointer, &allocation) || allocation.kind != client::MemoryKind::managed ||
      !allocation.range.contains(address, bytes)) {
    return cudaErrorInvalidValue;
  }
  *range = {address, bytes};
  return cudaSuccess;
}

cudaError_t checkLocation(cudaMemLocation location) {
  switch (location.type) {
    case cudaMemLocationTypeDevice: {
      client::Device* device = nullptr;
      return findDevice(location.id, &device);
    }
    case cudaMemLocationTypeHost:
    case cudaMemLocationTypeHostNuma:
    case cudaMemLocationTypeHostNumaCurrent:
      return cudaSuccess;
    default:
      return cudaErrorInvalidValue;
  }
}

int processorOf(cudaMemLocation location) {
  return location.type == cudaMemLocationTypeDevice ? location.id : cudaCpuDeviceId;
}

// The three batch calls: each entry of `prefetchLocs` holds for the ranges from its index to the next one's.
cudaError_t checkBatch(void** pointers, const size_t* sizes, size_t count, const cudaMemLocation* locations,
                       const size_t* indices, size_t locationCount, unsigned long long flags, cudaStream_t handle,
                       bool prefetch) {
  if (count == 0 || flags != 0) return cudaErrorInvalidValue;
  if (prefetch) {
    if (locationCount == 0 || locationCount > count || indices[0] != 0) return cudaErrorInvalidValue;
    for (size_t i = 0; i < locationCount; ++i) {
      if (indices[i] >= count || (i > 0 && indices[i] <= indices[i - 1])) return cudaErrorInvalidValue;
      if (const cudaError_t error = checkLocation(locations[i]); error != cudaSuccess) return error;
    }
  }
  client::Stream* stream = nullptr;
  if (const cudaError_t error = findStream(handle, &stream); error != cudaSuccess) return error;
  AddressRange range;
  for (size_t i = 0; i < count; ++i) {
    if (const cudaError_t error = managedRange(pointers[i], sizes[i], &range); error != cudaSuccess) return error;
  }
  for (size_t i = 0, location = 0; prefetch && i < count; ++i) {
    if (location + 1 < locationCount && indices[location + 1] == i) ++location;
    (void)managedRange(pointers[i], sizes[i], &range);
    MemoryAdvice::get().update(range, [&](Advice& advice) { advice.lastPrefetch = locations[location]; });
  }
  return cudaSuccess;
}

template <class T>
cudaError_t put(void* data, std::size_t size, T value) {
  if (size != sizeof(T)) return cudaErrorInvalidValue;
  std::memcpy(data, &value, sizeof(T));
  return cudaSuccess;
}

bool same(cudaMemLocation a, cudaMemLocation b) { return a.type == b.type && a.id == b.id; }

// One answer for a whole range: the common one, or that there is none.
cudaMemLocation common(const std::vector<Advice>& pieces, cudaMemLocation Advice::* member) {
  const cudaMemLocation first = pieces.front().*member;
  const bool agreed =
      std::all_of(pieces.begin(), pieces.end(), [&](const Advice& a) { return same(a.*member, first); });
  return agreed ? first : kNowhere;
}

cudaError_t rangeAttribute(void* data, size_t size, cudaMemRangeAttribute attribute,
                           const std::vector<Advice>& pieces) {
  const auto processor = [](cudaMemLocation l) {
    return l.type == cudaMemLocationTypeInvalid ? cudaInvalidDeviceId : processorOf(l);
  };
  switch (attribute) {
    case cudaMemRangeAttributeReadMostly:
      return put<int>(data, size,
                      std::all_of(pieces.begin(), pieces.end(), [](const Advice& a) { return a.readMostly; }));
    case cudaMemRangeAttributePreferredLocation:
      return put<int>(data, size, processor(common(pieces, &Advice::preferred)));
    case cudaMemRangeAttributeLastPrefetchLocation:
      return put<int>(data, size, processor(common(pieces, &Advice::lastPrefetch)));
    case cudaMemRangeAttributePreferredLocationType:
      return put<cudaMemLocationType>(data, size, common(pieces, &Advice::preferred).type);
    case cudaMemRangeAttributePreferredLocationId:
      return put<int>(data, size, common(pieces, &Advice::preferred).id);
    case cudaMemRangeAttributeLastPrefetchLocationType:
      return put<cudaMemLocationType>(data, size, common(pieces, &Advice::lastPrefetch).type);
    case cudaMemRangeAttributeLastPrefetchLocationId:
      return put<int>(data, size, common(pieces, &Advice::lastPrefetch).id);
    case cudaMemRangeAttributeAccessedBy: {
      if (size == 0 || size % sizeof(int) != 0) return cudaErrorInvalidValue;
      std::vector<int> processors;
      for (const int processorIndex : pieces.front().accessedBy) {
        const bool everywhere = std::all_of(pieces.begin(), pieces.end(), [&](const Advice& a) {
          return std::binary_search(a.accessedBy.begin(), a.accessedBy.end(), processorIndex);
        });
        if (everywhere) processors.push_back(processorIndex);
      }
      processors.resize(size / sizeof(int), cudaInvalidDeviceId);
      std::memcpy(data, processors.data(), size);
      return cudaSuccess;
    }
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace

cudaError_t cudaMallocManaged(void** devPtr, size_t size, unsigned int flags) {
  if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost) return cudaErrorInvalidValue;
  return toCuda(client::Process::get().hostMemory().allocate(size, client::MemoryKind::managed, flags,
                                                             currentDevice().index(), devPtr));
}

cudaError_t cudaMemPrefetchAsync(const void* devPtr, size_t count, cudaMemLocation location, unsigned int flags,
                                 cudaStream_t stream) {
  if (flags != 0) return cudaErrorInvalidValue;
  AddressRange range;
  client::Stream* found = nullptr;
  if (const cudaError_t error = managedRange(devPtr, count, &range); error != cudaSuccess) return error;
  if (const cudaError_t error = checkLocation(location); error != cudaSuccess) return error;
  if (const cudaError_t error = findStream(stream, &found); error != cudaSuccess) return error;
  MemoryAdvice::get().update(range, [&](Advice& advice) { advice.lastPrefetch = location; });
  return cudaSuccess;
}

cudaError_t cudaMemPrefetchBatchAsync(void** dptrs, size_t* sizes, size_t count, cudaMemLocation* prefetchLocs,
                                      size_t* prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags,
                                      cudaStream_t stream) {
  return checkBatch(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, stream, true);
}

// What a discarded range holds afterwards is undefined: also what it held before.
cudaError_t cudaMemDiscardBatchAsync(void** dptrs, size_t* sizes, size_t count, unsigned long long flags,
                                     cudaStream_t stream) {
  return checkBatch(dptrs, sizes, count, nullptr, nullptr, 0, flags, stream, false);
}

cudaError_t cudaMemDiscardAndPrefetchBatchAsync(void** dptrs, size_t* sizes, size_t count,
                                                cudaMemLocation* prefetchLocs, size_t* prefetchLocIdxs,
                                                size_t numPrefetchLocs, unsigned long long flags, cudaStream_t stream) {
  return checkBatch(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags, stream, true);
}

cudaError_t cudaMemAdvise(const void* devPtr, size_t count, cudaMemoryAdvise advice, cudaMemLocation location) {
  AddressRange range;
  if (const cudaError_t error = managedRange(devPtr, count, &range); error != cudaSuccess) return error;
  const bool located = advice == cudaMemAdviseSetPreferredLocation || advice == cudaMemAdviseSetAccessedBy ||
                       advice == cudaMemAdviseUnsetAccessedBy;
  if (located) {
    if (const cudaError_t error = checkLocation(location); error != cudaSuccess) return error;
  }
  const int processor = processorOf(location);
  MemoryAdvice& known = MemoryAdvice::get();
  switch (advice) {
    case cudaMemAdviseSetReadMostly:
      known.update(range, [](Advice& a) { a.readMostly = true; });
      return cudaSuccess;
    case cudaMemAdviseUnsetReadMostly:
      known.update(range, [](Advice& a) { a.readMostly = false; });
      return cudaSuccess;
    case cudaMemAdviseSetPreferredLocation:
      known.update(range, [&](Advice& a) { a.preferred = location; });
      return cudaSuccess;
    case cudaMemAdviseUnsetPreferredLocation:
      known.update(range, [](Advice& a) { a.preferred = kNowhere; });
      return cudaSuccess;
    case cudaMemAdviseSetAccessedBy:
      known.update(range, [&](Advice& a) {
        const auto at = std::lower_bound(a.accessedBy.begin(), a.accessedBy.end(), processor);
        if (at == a.accessedBy.end() || *at != processor) a.accessedBy.insert(at, processor);
      });
      return cudaSuccess;
    case cudaMemAdviseUnsetAccessedBy:
      known.update(range, [&](Advice& a) { std::erase(a.accessedBy, processor); });
      return cudaSuccess;
    default:
      return cudaErrorInvalidValue;
  }
}

cudaError_t cudaMemRangeGetAttribute(void* data, size_t dataSize, cudaMemRangeAttribute attribute, const void* devPtr,
                                     size_t count) {
  AddressRange range;
  if (const cudaError_t error = managedRange(devPtr, count, &range); error != cudaSuccess) return error;
  return rangeAttribute(data, dataSize, attribute, MemoryAdvice::get().pieces(range));
}

cudaError_t cudaMemRangeGetAttributes(void** data, size_t* dataSizes, cudaMemRangeAttribute* attributes,
                                      size_t numAttributes, const void* devPtr, size_t count) {
  if (numAttributes == 0) return cudaErrorInvalidValue;
  AddressRange range;
  if (const cudaError_t error = managedRange(devPtr, count, &range); error != cudaSuccess) return error;
  const std::vector<Advice> pieces = MemoryAdvice::get().pieces(range);
  for (size_t i = 0; i < numAttributes; ++i) {
    if (data[i] == nullptr) return cudaErrorInvalidValue;
    const cudaError_t error = rangeAttribute(data[i], dataSizes[i], attributes[i], pieces);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* devPtr, size_t length, unsigned int flags) {
  if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost && flags != cudaMemAttachSingle)
    return cudaErrorInvalidValue;
  client::Stream* found = nullptr;
  if (const cudaError_t error = findStream(stream, &found); error != cudaSuccess) return error;
  if (const cudaError_t error = graph::refuseCaptured(*found); error != cudaSuccess) return error;
  // Attaching to one stream names one: the default streams are everybody's.
  if (flags == cudaMemAttachSingle && reinterpret_cast<std::uintptr_t>(stream) <= 1) return cudaErrorInvalidValue;
  AddressRange range;
  // Length 0 stands for the whole allocation.
  return managedRange(devPtr, length != 0 ? length : 1, &range);
}

}  // namespace rouse::cudart::impl
