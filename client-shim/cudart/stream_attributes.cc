#include "client-shim/cudart/stream_attributes.h"

#include <cstring>

#include "client-shim/core/stream.h"
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/session.h"

namespace rouse::cudart {

StreamHints StreamAttributes::read(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto found = hints_.find(id);
  return found != hints_.end() ? found->second : StreamHints();
}

void StreamAttributes::write(std::uint64_t id, const StreamHints& hints) {
  const std::lock_guard lock(mutex_);
  hints_.insert_or_assign(id, hints);
}

void StreamAttributes::forget(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  hints_.erase(id);
}

namespace impl {

cudaError_t cudaStreamGetAttribute(cudaStream_t hStream, cudaLaunchAttributeID attr,
                                   cudaLaunchAttributeValue* value_out) {
  client::Stream* stream = nullptr;
  if (const cudaError_t error = findStream(hStream, &stream); error != cudaSuccess) return error;
  const StreamHints hints = StreamAttributes::get().read(stream->id());
  cudaLaunchAttributeValue value{};
  switch (attr) {
    case cudaLaunchAttributeAccessPolicyWindow:
      value.accessPolicyWindow = hints.window;
      break;
    case cudaLaunchAttributeSynchronizationPolicy:
      value.syncPolicy = hints.synchronization;
      break;
    case cudaLaunchAttributePriority:
      value.priority = stream->priority();
      break;
    case cudaLaunchAttributeMemSyncDomain:
      value.memSyncDomain = hints.syncDomain;
      break;
    case cudaLaunchAttributeMemSyncDomainMap:
      value.memSyncDomainMap = hints.syncDomainMap;
      break;
    default:
      return cudaErrorInvalidValue;
  }
  std::memcpy(value_out, &value, sizeof(value));
  return cudaSuccess;
}

cudaError_t cudaStreamSetAttribute(cudaStream_t hStream, cudaLaunchAttributeID attr,
                                   const cudaLaunchAttributeValue* value) {
  client::Stream* stream = nullptr;
  if (const cudaError_t error = findStream(hStream, &stream); error != cudaSuccess) return error;
  StreamHints hints = StreamAttributes::get().read(stream->id());
  switch (attr) {
    case cudaLaunchAttributeAccessPolicyWindow:
      hints.window = value->accessPolicyWindow;
      break;
    case cudaLaunchAttributeSynchronizationPolicy:
      hints.synchronization = value->syncPolicy;
      break;
    case cudaLaunchAttributePriority:
      // A stream's priority is settled when it is made.
      return value->priority == stream->priority() ? cudaSuccess : cudaErrorNotSupported;
    case cudaLaunchAttributeMemSyncDomain:
      hints.syncDomain = value->memSyncDomain;
      break;
    case cudaLaunchAttributeMemSyncDomainMap:
      hints.syncDomainMap = value->memSyncDomainMap;
      break;
    default:
      return cudaErrorInvalidValue;
  }
  StreamAttributes::get().write(stream->id(), hints);
  return cudaSuccess;
}

cudaError_t cudaStreamCopyAttributes(cudaStream_t dst, cudaStream_t src) {
  client::Stream* to = nullptr;
  client::Stream* from = nullptr;
  if (const cudaError_t error = findStream(dst, &to); error != cudaSuccess) return error;
  if (const cudaError_t error = findStream(src, &from); error != cudaSuccess) return error;
  StreamAttributes::get().write(to->id(), StreamAttributes::get().read(from->id()));
  return cudaSuccess;
}

}  // namespace impl
}  // namespace rouse::cudart
