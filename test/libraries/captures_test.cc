// Calls of libraries on a stream that is captured: nodes of the graph, of which nothing travels yet.
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "test/libraries/cublas_fixture.h"

using namespace rouse::test;

namespace {

struct Captures : Libraries {
  Captures() {
    REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
    REQUIRE(cublasSetStream(handle, stream) == CUBLAS_STATUS_SUCCESS);
  }
  ~Captures() { CHECK(cudaStreamDestroy(stream) == cudaSuccess); }
  cudaStreamCaptureStatus status() {
    cudaStreamCaptureStatus found = cudaStreamCaptureStatusNone;
    REQUIRE(cudaStreamIsCapturing(stream, &found) == cudaSuccess);
    return found;
  }
  // What a failed capture ends with; the stream and the handle serve on.
  void endsInvalidated() {
    CHECK(status() == cudaStreamCaptureStatusInvalidated);
    CHECK(multiply(handle) == CUBLAS_STATUS_EXECUTION_FAILED);
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
    CHECK(graph == nullptr);
    (void)cudaGetLastError();
    const auto calls = count(Opcode::LibraryCall);
    CHECK(multiply(handle) == CUBLAS_STATUS_SUCCESS);
    REQUIRE(cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(count(Opcode::LibraryCall) == calls + 1);
  }
  cudaStream_t stream = nullptr;
};

std::string dot(cudaGraph_t graph) {
  const std::string path = "/tmp/rouse-captures-" + std::to_string(::getpid()) + ".dot";
  REQUIRE(cudaGraphDebugDotPrint(graph, path.c_str(), 0) == cudaSuccess);
  std::string text(1 << 16, '\0');
  std::FILE* file = std::fopen(path.c_str(), "r");
  REQUIRE(file != nullptr);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  std::remove(path.c_str());
  return text;
}

}  // namespace

TEST_CASE_METHOD(Captures, "a captured call is a node, and nothing travels", "[libraries]") {
  cublasLtMatmulDesc_t desc;
  cublasLtMatrixLayout_t layout;
  REQUIRE(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 8, 8, 8) == CUBLAS_STATUS_SUCCESS);
  const auto calls = count(Opcode::LibraryCall);
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  REQUIRE(multiply(handle) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasLtMatmul(reinterpret_cast<cublasLtHandle_t>(handle), desc, &one, memory, layout, memory + 64, layout, &zero, memory + 128, layout,
                         memory + 128, layout, nullptr, nullptr, 0, stream) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasSaxpy(handle, 8, &one, memory, 1, memory + 64, 1) == CUBLAS_STATUS_SUCCESS);
  // What asks for nothing is no node; what is wrong is answered as it is outside, and the capture goes on.
  CHECK(cublasSaxpy(handle, 0, &one, memory, 1, memory + 64, 1) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasSaxpy(handle, 8, &one, nullptr, 1, memory + 64, 1) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(status() == cudaStreamCaptureStatusActive);
  cudaGraph_t graph = nullptr, clone = nullptr;
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  std::size_t nodes = 0, edges = 0;
  REQUIRE(cudaGraphGetNodes(graph, nullptr, &nodes) == cudaSuccess);
  REQUIRE(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges) == cudaSuccess);
  CHECK((nodes == 3 && edges == 2));
  REQUIRE(cudaGraphClone(&clone, graph) == cudaSuccess);
  CHECK(cudaGraphGetNodes(clone, nullptr, &nodes) == cudaSuccess);
  CHECK(nodes == 3);

  // A kernel's for those who ask, whose parameters are nobody's business.
  std::vector<cudaGraphNode_t> all(3);
  REQUIRE(cudaGraphGetNodes(graph, all.data(), &nodes) == cudaSuccess);
  cudaGraphNodeType type = cudaGraphNodeTypeCount;
  REQUIRE(cudaGraphNodeGetType(all[0], &type) == cudaSuccess);
  CHECK(type == cudaGraphNodeTypeKernel);
  cudaKernelNodeParams params{};
  cudaLaunchAttributeValue value{};
  CHECK(cudaGraphKernelNodeGetParams(all[0], &params) == cudaErrorNotSupported);
  CHECK(cudaGraphKernelNodeSetParams(all[0], &params) == cudaErrorNotSupported);
  CHECK(cudaGraphKernelNodeGetAttribute(all[0], cudaLaunchAttributePriority, &value) == cudaErrorNotSupported);
  CHECK(cudaGraphKernelNodeSetAttribute(all[0], cudaLaunchAttributePriority, &value) == cudaErrorNotSupported);
  CHECK(cudaGraphKernelNodeCopyAttributes(all[0], all[1]) == cudaErrorNotSupported);
  cudaGraphNodeParams any{};
  any.type = cudaGraphNodeTypeKernel;
  any.kernel.gridDim = any.kernel.blockDim = {1, 1, 1};
  CHECK(cudaGraphNodeSetParams(all[0], &any) == cudaErrorNotSupported);
  any.type = cudaGraphNodeTypeMemset;
  CHECK(cudaGraphNodeSetParams(all[0], &any) == cudaErrorInvalidValue);
  cudaMemsetParams fill{};
  CHECK(cudaGraphMemsetNodeGetParams(all[0], &fill) == cudaErrorInvalidValue);
  (void)cudaGetLastError();
  const std::string text = dot(graph);
  CHECK(text.find("LIBRARY\\n1.") != std::string::npos);
  CHECK(text.find("LIBRARY\\n2.") != std::string::npos);

  REQUIRE(cudaDeviceSynchronize() == cudaSuccess);
  CHECK(count(Opcode::LibraryCall) == calls);
  CHECK(cudaGraphDestroy(clone) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  cublasLtMatmulDescDestroy(desc);
  cublasLtMatrixLayoutDestroy(layout);
}

TEST_CASE_METHOD(Captures, "a result for the program's own memory cannot be captured", "[libraries]") {
  float result = -1;
  const auto calls = count(Opcode::LibraryCall);
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) == cudaSuccess);
  CHECK(cublasSdot(handle, 4, memory, 1, memory, 1, &result) == CUBLAS_STATUS_EXECUTION_FAILED);
  CHECK(result == -1);
  CHECK(count(Opcode::LibraryCall) == calls);
  endsInvalidated();
}

TEST_CASE_METHOD(Captures, "the legacy stream while a stream captures that waits for it", "[libraries]") {
  REQUIRE(cublasSetStream(handle, nullptr) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) == cudaSuccess);
  CHECK(multiply(handle) == CUBLAS_STATUS_EXECUTION_FAILED);
  REQUIRE(cublasSetStream(handle, stream) == CUBLAS_STATUS_SUCCESS);
  endsInvalidated();
}

TEST_CASE_METHOD(Captures, "calls on other streams run meanwhile, and do not disturb a capture", "[libraries]") {
  cudaStream_t other;
  REQUIRE(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking) == cudaSuccess);
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  cublasHandle_t fresh;  // which has no memory for results yet
  REQUIRE(cublasCreate(&fresh) == CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublasSetStream(fresh, other) == CUBLAS_STATUS_SUCCESS);
  const auto calls = count(Opcode::LibraryCall);
  float result = -1;
  CHECK(cublasSdot(fresh, 4, memory, 1, memory, 1, &result) == CUBLAS_STATUS_SUCCESS);
  CHECK(count(Opcode::LibraryCall) == calls + 1);
  CHECK(status() == cudaStreamCaptureStatusActive);
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  CHECK(cublasDestroy(fresh) == CUBLAS_STATUS_SUCCESS);
  CHECK(cudaStreamDestroy(other) == cudaSuccess);
}
