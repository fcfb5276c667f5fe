// CUDA Runtime API, "Event Management".
#include "client-shim/core/event.h"
#include "client-shim/core/stream.h"
#include "client-shim/cudart/graph/capture.h"
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/session.h"

namespace rouse::cudart::impl {

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned int flags) {
  constexpr unsigned kKnown = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
  if ((flags & ~kKnown) != 0) return cudaErrorInvalidValue;
  // An event for other processes cannot be timed.
  if ((flags & cudaEventInterprocess) != 0 && (flags & cudaEventDisableTiming) == 0) return cudaErrorInvalidValue;
  client::Event* made = nullptr;
  const client::EventOptions options{(flags & cudaEventDisableTiming) != 0, (flags & cudaEventBlockingSync) != 0,
                                     (flags & cudaEventInterprocess) != 0};
  const cudaError_t error = toCuda(client::createEvent(currentDevice(), options, &made));
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an opaque number
  if (error == cudaSuccess) *event = reinterpret_cast<cudaEvent_t>(made->handle());
  return error;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return impl::cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  client::Event* found = nullptr;
  if (const cudaError_t error = findEvent(event, &found); error != cudaSuccess) return error;
  if (graph::anyCapture()) graph::forgetEvent(event);
  return toCuda(client::destroyEvent(*found));
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
  if (flags != cudaEventRecordDefault && flags != cudaEventRecordExternal) return cudaErrorInvalidValue;
  client::Event* found = nullptr;
  client::Stream* recorded = nullptr;
  if (const cudaError_t error = findEvent(event, &found); error != cudaSuccess) return error;
  if (const cudaError_t error = findStream(stream, &recorded); error != cudaSuccess) return error;
  if (graph::anyCapture()) {
    bool done = false;
    const cudaError_t error = graph::recordSlowly(event, *recorded, flags == cudaEventRecordExternal, &done);
    if (error != cudaSuccess || done) return error;
  }
  if (flags == cudaEventRecordExternal) return cudaErrorIllegalState;  // it is for captures only
  return toCuda(found->record(*recorded));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return impl::cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  client::Event* found = nullptr;
  if (const cudaError_t error = findEvent(event, &found); error != cudaSuccess) return error;
  if (const cudaError_t error = graph::refuseCaptured(event); error != cudaSuccess) return error;
  return toCuda(found->query());
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  client::Event* found = nullptr;
  if (const cudaError_t error = findEvent(event, &found); error != cudaSuccess) return error;
  if (const cudaError_t error = graph::refuseCaptured(event); error != cudaSuccess) return error;
  return toCuda(found->synchronize());
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  client::Event* first = nullptr;
  client::Event* second = nullptr;
  if (const cudaError_t error = findEvent(start, &first); error != cudaSuccess) return error;
  if (const cudaError_t error = findEvent(end, &second); error != cudaSuccess) return error;
  for (const cudaEvent_t event : {start, end})
    if (const cudaError_t error = graph::refuseCaptured(event); error != cudaSuccess) return error;
  return toCuda(client::Event::elapsed(*first, *second, ms));
}

}  // namespace rouse::cudart::impl
