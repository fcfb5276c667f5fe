// CUDA Driver API, "Stream Management": stream capture. Modes, states, graphs and edges are the runtime's.
#include "client-shim/cuda/call.h"
#include "client-shim/cuda/implementations.h"

namespace rouse::cuda::impl {
namespace {

static_assert(sizeof(CUgraphEdgeData) == sizeof(cudaGraphEdgeData) && sizeof(CUstreamCaptureStatus) == sizeof(cudaStreamCaptureStatus));
static_assert(sizeof(cuuint64_t) == sizeof(unsigned long long));

const cudaGraphEdgeData* edges(const CUgraphEdgeData* data) { return reinterpret_cast<const cudaGraphEdgeData*>(data); }

}  // namespace

CUresult cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode) {
  return call([&] { return cudaStreamBeginCapture(hStream, static_cast<cudaStreamCaptureMode>(mode)); });
}

// Of before there were modes: forbids nothing, as on an H100 with driver 580.
CUresult cuStreamBeginCapture(CUstream hStream) { return impl::cuStreamBeginCapture_v2(hStream, CU_STREAM_CAPTURE_MODE_RELAXED); }

CUresult cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph, const CUgraphNode* dependencies, const CUgraphEdgeData* dependencyData,
                                     size_t numDependencies, CUstreamCaptureMode mode) {
  return call([&] {
    return cudaStreamBeginCaptureToGraph(hStream, hGraph, dependencies, edges(dependencyData), numDependencies, static_cast<cudaStreamCaptureMode>(mode));
  });
}

CUresult cuStreamEndCapture(CUstream hStream, CUgraph* phGraph) {
  return call([&] { return cudaStreamEndCapture(hStream, phGraph); });
}

CUresult cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus* captureStatus) {
  return call([&] { return cudaStreamIsCapturing(hStream, reinterpret_cast<cudaStreamCaptureStatus*>(captureStatus)); });
}

CUresult cuStreamGetCaptureInfo_v3(CUstream hStream, CUstreamCaptureStatus* captureStatus_out, cuuint64_t* id_out, CUgraph* graph_out,
                                   const CUgraphNode** dependencies_out, const CUgraphEdgeData** edgeData_out, size_t* numDependencies_out) {
  return call([&] {
    return cudaStreamGetCaptureInfo(hStream, reinterpret_cast<cudaStreamCaptureStatus*>(captureStatus_out), reinterpret_cast<unsigned long long*>(id_out),
                                    graph_out, dependencies_out, reinterpret_cast<const cudaGraphEdgeData**>(edgeData_out), numDependencies_out);
  });
}

// These cannot tell what edges say.
CUresult cuStreamGetCaptureInfo_v2(CUstream hStream, CUstreamCaptureStatus* captureStatus_out, cuuint64_t* id_out, CUgraph* graph_out,
                                   const CUgraphNode** dependencies_out, size_t* numDependencies_out) {
  return impl::cuStreamGetCaptureInfo_v3(hStream, captureStatus_out, id_out, graph_out, dependencies_out, nullptr, numDependencies_out);
}

CUresult cuStreamGetCaptureInfo(CUstream hStream, CUstreamCaptureStatus* captureStatus_out, cuuint64_t* id_out) {
  return impl::cuStreamGetCaptureInfo_v3(hStream, captureStatus_out, id_out, nullptr, nullptr, nullptr, nullptr);
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream hStream, CUgraphNode* dependencies, const CUgraphEdgeData* dependencyData, size_t numDependencies,
                                              unsigned int flags) {
  return call([&] { return cudaStreamUpdateCaptureDependencies(hStream, dependencies, edges(dependencyData), numDependencies, flags); });
}

CUresult cuStreamUpdateCaptureDependencies(CUstream hStream, CUgraphNode* dependencies, size_t numDependencies, unsigned int flags) {
  return impl::cuStreamUpdateCaptureDependencies_v2(hStream, dependencies, nullptr, numDependencies, flags);
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return call([&] { return cudaThreadExchangeStreamCaptureMode(reinterpret_cast<cudaStreamCaptureMode*>(mode)); });
}

}  // namespace rouse::cuda::impl
