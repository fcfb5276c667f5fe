// CUDA Runtime API, "Stream Management".
#include "client-shim/core/event.h"
#include "client-shim/core/stream.h"
#include "client-shim/cudart/graph/capture.h"
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/session.h"
#include "client-shim/cudart/stream_attributes.h"

namespace rouse::cudart::impl {
namespace {

cudaError_t create(cudaStream_t* handle, unsigned flags, int priority) {
  if ((flags & ~static_cast<unsigned>(cudaStreamNonBlocking)) != 0) return cudaErrorInvalidValue;
  client::Stream* stream = nullptr;
  const client::StreamOptions options{(flags & cudaStreamNonBlocking) != 0, priority};
  const cudaError_t error = toCuda(currentDevice().createStream(options, &stream));
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an opaque number
  if (error == cudaSuccess) *handle = reinterpret_cast<cudaStream_t>(stream->handle());
  return error;
}

}  // namespace

cudaError_t cudaStreamCreate(cudaStream_t* pStream) {
  return create(pStream, cudaStreamDefault, client::kLeastPriority);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* pStream, unsigned int flags) {
  return create(pStream, flags, client::kLeastPriority);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* pStream, unsigned int flags, int priority) {
  return create(pStream, flags, priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  client::Stream* found = nullptr;
  if (reinterpret_cast<std::uintptr_t>(stream) <= 2) return cudaErrorInvalidResourceHandle;  // the default ones stay
  if (const cudaError_t error = findStream(stream, &found); error != cudaSuccess) return error;
  graph::leave(*found);
  StreamAttributes::get().forget(found->id());
  return toCuda(found->device().destroyStream(*found));
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  client::Stream* found = nullptr;
  if (const cudaError_t error = findStream(stream, &found); error != cudaSuccess) return error;
  if (const cudaError_t error = graph::refuseCaptured(*found); error != cudaSuccess) return error;
  return toCuda(found->query());
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  client::Stream* found = nullptr;
  if (const cudaError_t error = findStream(stream, &found); error != cudaSuccess) return error;
  if (const cudaError_t error = graph::refuseCaptured(*found); error != cudaSuccess) return error;
  return toCuda(found->synchronize());
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags) {
  // The one flag there is concerns captures: it changes nothing outside them.
  if ((flags & ~static_cast<unsigned>(cudaEventWaitExternal)) != 0) return cudaErrorInvalidValue;
  client::Stream* found = nullptr;
  client::Event* awaited = nullptr;
  if (const cudaError_t error = findStream(stream, &found); error != cudaSuccess) return error;
  if (const cudaError_t error = findEvent(event, &awaited); error != cudaSuccess) return error;
  if (graph::anyCapture()) {
    bool done = false;
    const bool recorded = awaited->latest().value != 0;
    const cudaError_t error = graph::waitSlowly(*found, event, recorded, (flags & cudaEventWaitExternal) != 0, &done);
    if (error != cudaSuccess || done) return error;
  }
  return toCuda(found->waitEvent(*awaited));
}

cudaError_t cudaStreamGetFlags(cudaStream_t hStream, unsigned int* flags) {
  client::Stream* found = nullptr;
  if (const cudaError_t error = findStream(hStream, &found); error != cudaSuccess) return error;
  *flags = found->nonBlocking() ? cudaStreamNonBlocking : cudaStreamDefault;
  return cudaSuccess;
}

cudaError_t cudaStreamGetPriority(cudaStream_t hStream, int* priority) {
  client::Stream* found = nullptr;
  if (const cudaError_t error = findStream(hStream, &found); error != cudaSuccess) return error;
  *priority = found->priority();
  return cudaSuccess;
}

cudaError_t cudaStreamGetId(cudaStream_t hStream, unsigned long long* streamId) {
  client::Stream* found = nullptr;
  if (const cudaError_t error = findStream(hStream, &found); error != cudaSuccess) return error;
  *streamId = found->id();
  return cudaSuccess;
}

cudaError_t cudaStreamGetDevice(cudaStream_t hStream, int* device) {
  client::Stream* found = nullptr;
  if (const cudaError_t error = findStream(hStream, &found); error != cudaSuccess) return error;
  *device = static_cast<int>(found->device().index());
  return cudaSuccess;
}

}  // namespace rouse::cudart::impl
