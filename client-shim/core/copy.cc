#include "client-shim/core/copy.h"

#include "client-shim/core/callback_thread.h"
#include "client-shim/core/command_queue.h"
#include "client-shim/core/copy_engines.h"
#include "client-shim/core/copy_plan.h"
#include "client-shim/core/device.h"
#include "client-shim/core/session.h"
#include "client-shim/core/stream.h"

namespace rouse::client {

namespace {

// CUDA Programming Guide, "Implicit asynchronous execution": copies of up to 64 KB from host to device need not have
// completed.
constexpr std::uint64_t kLargestUnawaited = 64 << 10;

CudaError copyOnHost(Stream& stream, const Box& box, const CopyShape& shape) {
  if (const CudaError error = stream.synchronize(); error != CudaError::success) return error;
  copyRows(box, static_cast<std::byte*>(shape.destination), shape.destinationPitch, shape.destinationSlicePitch,
           static_cast<const std::byte*>(shape.source), shape.sourcePitch, shape.sourceSlicePitch);
  return CudaError::success;
}

// On a stream of the device whose memory it touches.
CudaError copyOn(Stream& stream, const Box& box, const Side& destination, const Side& source, Completion completion) {
  const bool finished = completion == Completion::finished;
  if (source.kind == MemoryKind::pageable) {
    // A synchronous copy reads its source after the stream's earlier work, and of that only host functions write
    // pageable memory.
    if (finished && stream.device().session().callbacks().pending(stream.device().index()) != 0) {
      if (const CudaError error = stream.synchronize(); error != CudaError::success) return error;
    }
    const CudaError error = upload(stream, box, destination, source);
    if (error != CudaError::success || !finished) return error;
    // A stream that does not wait for this one could see memory as it was before. On a GPU of one's own that takes less time than a launch, and
    // programs rely on it; here the memory may have to come back first.
    if (box.bytes() <= kLargestUnawaited && !stream.device().hasNonBlocking()) return error;
    return stream.synchronize();
  }
  if (destination.kind == MemoryKind::pageable) {
    if (const CudaError error = download(stream, box, destination, source); error != CudaError::success) return error;
    stream.device().drainOutput();
    return stream.device().asyncError();
  }
  queueCopy(stream, box, destination, source);
  // CUDA Runtime API, "API synchronization behavior": between device memory nothing waits on the host's side.
  const bool awaited = finished && (source.onHost() || destination.onHost());
  return awaited ? stream.synchronize() : CudaError::success;
}

}  // namespace

CudaError copy(Stream& stream, void* destination, const void* source, std::uint64_t bytes, CopyKind kind,
               Completion completion) {
  return copy(stream,
              CopyShape{.destination = destination,
                        .destinationPitch = bytes,
                        .destinationSlicePitch = bytes,
                        .source = source,
                        .sourcePitch = bytes,
                        .sourceSlicePitch = bytes,
                        .width = bytes},
              kind, completion);
}

CudaError copy(Stream& stream, const CopyShape& shape, CopyKind kind, Completion completion) {
  Device& device = stream.device();
  if (const CudaError error = device.asyncError(); error != CudaError::success) return error;
  Session& session = device.session();
  Box box;
  Side destination, source;
  if (const CudaError error = planCopy(session, shape, kind, &box, &destination, &source); error != CudaError::success) {
    return error;
  }
  if (box.empty()) return CudaError::success;
  if (destination.onHost() && source.onHost()) return copyOnHost(stream, box, shape);

  simplify(box, destination, source);
  if (destination.device != nullptr && source.device != nullptr && destination.device != source.device) {
    return copyAcross(stream, box, destination, source);
  }
  Device& owner = destination.device != nullptr ? *destination.device : *source.device;
  if (&owner == &device) return copyOn(stream, box, destination, source, completion);

  Stream* taken = nullptr;
  if (const CudaError error = detour(stream, owner, &taken); error != CudaError::success) return error;
  if (completion == Completion::finished && session.callbacks().pending(device.index()) != 0) {
    if (const CudaError error = stream.synchronize(); error != CudaError::success) return error;
  }
  const CudaError error = copyOn(*taken, box, destination, source, completion);
  rejoin(stream, *taken);
  return error;
}

}  // namespace rouse::client
