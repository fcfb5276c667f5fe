// CUDA Runtime API, "Stream Management": stream capture.
#include <utility>

#include "client-shim/cudart/graph/arguments.h"
#include "client-shim/cudart/graph/capture.h"
#include "client-shim/cudart/implementations.h"
#include "client-shim/cudart/thread_state.h"

namespace rouse::cudart::impl {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  client::Stream* found = nullptr;
  if (const cudaError_t error = findStream(stream, &found); error != cudaSuccess) return error;
  return graph::begin(*found, mode, nullptr, {});
}

cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                          const cudaGraphEdgeData* dependencyData, size_t numDependencies, cudaStreamCaptureMode mode) {
  client::Stream* found = nullptr;
  if (const cudaError_t error = findStream(stream, &found); error != cudaSuccess) return error;
  const auto lock = graph::lockGraphs();
  graph::Graph* to = nullptr;
  std::vector<graph::Edge> edges;
  if (const cudaError_t error = graph::need(graph, &to); error != cudaSuccess) return error;
  if (const cudaError_t error = graph::readEdges(*to, dependencies, dependencyData, numDependencies, &edges); error != cudaSuccess) return error;
  return graph::begin(*found, mode, to, edges);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* pGraph) {
  client::Stream* found = nullptr;
  if (const cudaError_t error = findStream(stream, &found); error != cudaSuccess) return error;
  return graph::end(*found, pGraph);
}

cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies, const cudaGraphEdgeData* dependencyData,
                                                size_t numDependencies, unsigned int flags) {
  client::Stream* found = nullptr;
  if (const cudaError_t error = findStream(stream, &found); error != cudaSuccess) return error;
  if (flags != cudaStreamAddCaptureDependencies && flags != cudaStreamSetCaptureDependencies) return cudaErrorInvalidValue;
  if (numDependencies != 0 && dependencies == nullptr) return cudaErrorInvalidValue;
  const auto lock = graph::lockGraphs();
  std::vector<graph::Edge> edges;
  for (size_t i = 0; i < numDependencies; ++i) {
    graph::Node* node = nullptr;
    if (const cudaError_t error = graph::need(dependencies[i], &node); error != cudaSuccess) return error;
    edges.push_back({node, dependencyData != nullptr ? dependencyData[i] : cudaGraphEdgeData{}});
  }
  return graph::updateDependencies(*found, edges, flags == cudaStreamSetCaptureDependencies);
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* pCaptureStatus) {
  client::Stream* found = nullptr;
  graph::CaptureInfo info;
  if (const cudaError_t error = findStream(stream, &found); error != cudaSuccess) return error;
  const cudaError_t error = graph::info(*found, &info);
  *pCaptureStatus = info.status;
  return error;
}

// Of a stream that is not capturing CUDA sets nothing but the status.
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* captureStatus_out, unsigned long long* id_out,
                                     cudaGraph_t* graph_out, const cudaGraphNode_t** dependencies_out, const cudaGraphEdgeData** edgeData_out,
                                     size_t* numDependencies_out) {
  client::Stream* found = nullptr;
  graph::CaptureInfo info;
  if (const cudaError_t error = findStream(stream, &found); error != cudaSuccess) return error;
  if (const cudaError_t error = graph::info(*found, &info); error != cudaSuccess) return error;
  *captureStatus_out = info.status;
  if (info.status != cudaStreamCaptureStatusActive) return cudaSuccess;
  if (id_out != nullptr) *id_out = info.id;
  if (graph_out != nullptr) *graph_out = info.graph->handle();
  if (dependencies_out != nullptr) *dependencies_out = info.dependencies;
  if (edgeData_out != nullptr) *edgeData_out = info.edges;
  if (numDependencies_out != nullptr) *numDependencies_out = info.count;
  return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  if (*mode < cudaStreamCaptureModeGlobal || *mode > cudaStreamCaptureModeRelaxed) return cudaErrorInvalidValue;
  std::swap(*mode, threadState.captureMode);
  return cudaSuccess;
}

}  // namespace rouse::cudart::impl
