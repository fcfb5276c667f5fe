// Stream capture (CUDA Programming Guide, "Creating a graph using stream capture"): what is submitted to a capturing stream becomes a node
// behind what the stream has captured last; events carry a capture to other streams and back.
//
// A call that submits work asks intercept() first: where nothing in the process captures, that is one load.
//
// Threads: any; the state is kept under lockGraphs().
#pragma once

#include <cuda_runtime_api.h>

#include <atomic>

#include "client-shim/core/stream.h"
#include "client-shim/cudart/graph/model.h"

namespace rouse::cudart::graph {

// Captures that have begun and not ended; events whose last record was captured count too.
extern std::atomic<unsigned> captures;
inline bool anyCapture() { return captures.load(std::memory_order_relaxed) != 0; }

// A capturing stream as a call finds it; adds nodes to it.
class Capturing {
 public:
  explicit operator bool() const { return stream_ != nullptr; }
  // The node comes behind what the stream has, and the stream's next behind it.
  Node* add(Params params);

 private:
  friend cudaError_t interceptSlowly(client::Stream& stream, Capturing* capturing);
  std::unique_lock<std::recursive_mutex> lock_;
  client::Stream* stream_ = nullptr;
};

// What becomes of work for this stream. Success and no capture: it is submitted. Success and a capture: it is to be a node. An error: of a
// capture that has been invalidated, or work for the legacy stream while a blocking stream captures, which invalidates that.
cudaError_t interceptSlowly(client::Stream& stream, Capturing* capturing);
inline cudaError_t intercept(client::Stream& stream, Capturing* capturing) {
  return anyCapture() ? interceptSlowly(stream, capturing) : cudaSuccess;
}

// For what a capturing stream cannot have: cudaErrorStreamCaptureUnsupported, and the capture is invalidated.
cudaError_t refuseSlowly(client::Stream& stream);
inline cudaError_t refuseCaptured(client::Stream& stream) { return anyCapture() ? refuseSlowly(stream) : cudaSuccess; }
// The same of calls that look at an event: cudaErrorCapturedEvent.
cudaError_t refuseEventSlowly(cudaEvent_t event);
inline cudaError_t refuseCaptured(cudaEvent_t event) { return anyCapture() ? refuseEventSlowly(event) : cudaSuccess; }

// cudaStreamCaptureUnsupported where the thread must not make potentially unsafe calls, or (wholeDevice) where any stream of
// the device captures; what forbids it is invalidated.
cudaError_t checkUnsafeSlowly(bool wholeDevice);
inline cudaError_t checkUnsafe() { return anyCapture() ? checkUnsafeSlowly(false) : cudaSuccess; }

// Events. `*done`: there is nothing left to do for the caller.
cudaError_t recordSlowly(cudaEvent_t event, client::Stream& stream, bool external, bool* done);
cudaError_t waitSlowly(client::Stream& stream, cudaEvent_t event, bool recorded, bool external, bool* done);
void forgetEvent(cudaEvent_t event);

cudaError_t begin(client::Stream& stream, cudaStreamCaptureMode mode, Graph* to, const std::vector<Edge>& dependencies);
cudaError_t end(client::Stream& stream, cudaGraph_t* graph);
struct CaptureInfo {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  Graph* graph = nullptr;
  // Valid until the next call that names the stream.
  const cudaGraphNode_t* dependencies = nullptr;
  const cudaGraphEdgeData* edges = nullptr;
  std::size_t count = 0;
};
// cudaErrorStreamCaptureImplicit: the legacy stream while a blocking one captures.
cudaError_t info(client::Stream& stream, CaptureInfo* info);
cudaError_t updateDependencies(client::Stream& stream, const std::vector<Edge>& dependencies, bool replace);
// The stream is about to be destroyed.
void leave(client::Stream& stream);

}  // namespace rouse::cudart::graph
