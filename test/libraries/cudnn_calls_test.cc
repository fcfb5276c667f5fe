// The classic API's calls: which graph each is, what cuDNN says to wrong ones, and that nothing waits.
#include <cstring>

#include "test/libraries/cudnn_fixture.h"

using namespace rouse;
using namespace rouse::test;
using dnn::kNoTensor;
using dnn::Operation;
using dnn::TensorKind;

namespace {

// A convolution of 2 x 8 x 9 x 9 by 6 filters of 4 x 3 x 3, in two groups.
struct Convolutions : Cudnn {
  Convolutions() {
    REQUIRE(cudnnCreateFilterDescriptor(&w) == CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnSetFilter4dDescriptor(w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 6, 4, 3, 3) == CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnCreateConvolutionDescriptor(&desc) == CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnSetConvolution2dDescriptor(desc, 1, 2, 2, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT) ==
            CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnSetConvolutionGroupCount(desc, 2) == CUDNN_STATUS_SUCCESS);
  }
  ~Convolutions() {
    CHECK(cudnnDestroyFilterDescriptor(w) == CUDNN_STATUS_SUCCESS);
    CHECK(cudnnDestroyConvolutionDescriptor(desc) == CUDNN_STATUS_SUCCESS);
  }
  cudnnStatus_t forward(const float* alpha, const float* beta) {
    return cudnnConvolutionForward(handle, alpha, x, memory, w, memory + 4096, desc, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM,
                                   nullptr, 0, beta, y, memory + 8192);
  }
  TensorOf x{2, 8, 9, 9}, y{2, 6, 5, 11};
  cudnnFilterDescriptor_t w = nullptr;
  cudnnConvolutionDescriptor_t desc = nullptr;
};

struct ActivationOf {
  ActivationOf(cudnnActivationMode_t mode, double coefficient = 0) {
    REQUIRE(cudnnCreateActivationDescriptor(&desc) == CUDNN_STATUS_SUCCESS);
    REQUIRE(cudnnSetActivationDescriptor(desc, mode, CUDNN_NOT_PROPAGATE_NAN, coefficient) == CUDNN_STATUS_SUCCESS);
  }
  ~ActivationOf() { CHECK(cudnnDestroyActivationDescriptor(desc) == CUDNN_STATUS_SUCCESS); }
  operator cudnnActivationDescriptor_t() const { return desc; }
  cudnnActivationDescriptor_t desc = nullptr;
};

}  // namespace

TEST_CASE_METHOD(Convolutions, "a convolution: one graph, no round trip", "[libraries][cudnn]") {
  const auto before = calls(), signals = count(wire::Opcode::SlotSignal);
  for (int i = 0; i < 100; ++i) REQUIRE(forward(&one, &zero) == CUDNN_STATUS_SUCCESS);
  cudnnConvolutionFwdAlgoPerf_t found;
  int algorithms = 0;
  std::size_t bytes = 99;
  REQUIRE(cudnnGetConvolutionForwardAlgorithm_v7(handle, x, w, desc, y, 1, &algorithms, &found) == CUDNN_STATUS_SUCCESS);
  CHECK((algorithms == 1 && found.status == CUDNN_STATUS_SUCCESS && found.memory == 0 && found.determinism == CUDNN_DETERMINISTIC));
  REQUIRE(cudnnGetConvolutionForwardWorkspaceSize(handle, x, w, desc, y, found.algo, &bytes) == CUDNN_STATUS_SUCCESS);
  CHECK(bytes == 0);
  CHECK(count(wire::Opcode::SlotSignal) == signals);
  CHECK(calls() == before + 100);
}

TEST_CASE_METHOD(Convolutions, "algorithms: one each, found without running it", "[libraries][cudnn]") {
  const auto before = calls();
  int most = 0, found = 0;
  cudnnConvolutionFwdAlgoPerf_t forwards;
  cudnnConvolutionBwdDataAlgoPerf_t datas;
  cudnnConvolutionBwdFilterAlgoPerf_t filters;
  CHECK((cudnnGetConvolutionForwardAlgorithmMaxCount(handle, &most) == CUDNN_STATUS_SUCCESS && most == 1));
  CHECK((cudnnGetConvolutionBackwardDataAlgorithmMaxCount(handle, &most) == CUDNN_STATUS_SUCCESS && most == 1));
  CHECK((cudnnGetConvolutionBackwardFilterAlgorithmMaxCount(handle, &most) == CUDNN_STATUS_SUCCESS && most == 1));
  CHECK(cudnnGetConvolutionForwardAlgorithmMaxCount(nullptr, &most) == CUDNN_STATUS_BAD_PARAM);
  CHECK((cudnnFindConvolutionForwardAlgorithm(handle, x, w, desc, y, 3, &found, &forwards) == CUDNN_STATUS_SUCCESS && found == 1));
  CHECK(forwards.time == -1);  // it has not been measured
  CHECK((cudnnFindConvolutionForwardAlgorithmEx(handle, x, memory, w, memory, desc, y, memory, 3, &found, &forwards, nullptr,
                                                0) == CUDNN_STATUS_SUCCESS &&
         found == 1));
  CHECK((cudnnFindConvolutionBackwardDataAlgorithm(handle, w, y, desc, x, 3, &found, &datas) == CUDNN_STATUS_SUCCESS &&
         found == 1 && datas.memory == 0));
  CHECK((cudnnFindConvolutionBackwardDataAlgorithmEx(handle, w, memory, y, memory, desc, x, memory, 3, &found, &datas, nullptr,
                                                     0) == CUDNN_STATUS_SUCCESS &&
         found == 1));
  CHECK((cudnnFindConvolutionBackwardFilterAlgorithm(handle, x, y, desc, w, 3, &found, &filters) == CUDNN_STATUS_SUCCESS &&
         found == 1 && filters.memory == 0));
  CHECK((cudnnFindConvolutionBackwardFilterAlgorithmEx(handle, x, memory, y, memory, desc, w, memory, 3, &found, &filters,
                                                       nullptr, 0) == CUDNN_STATUS_SUCCESS &&
         found == 1));
  CHECK(cudnnFindConvolutionBackwardFilterAlgorithm(handle, y, y, desc, w, 3, &found, &filters) == CUDNN_STATUS_BAD_PARAM);
  CHECK(found == 0);
  CHECK(calls() == before);
}

TEST_CASE_METHOD(Convolutions, "a convolution's graph", "[libraries][cudnn]") {
  const float half = 0.5f, three = 3;
  REQUIRE(forward(&half, &three) == CUDNN_STATUS_SUCCESS);
  dnn::Parts parts = last();
  REQUIRE(parts.nodes.size() == 1);
  const dnn::Node node = parts.nodes[0];
  CHECK(node.operation == Operation::convolutionForward);
  CHECK(node.mode == CUDNN_CROSS_CORRELATION);
  CHECK((node.alpha == 0.5 && node.beta == 3 && node.compute == dnn::Type::f32 && node.spatial == 2));
  CHECK((node.padBefore[0] == 1 && node.padBefore[1] == 2 && node.padAfter[1] == 2 && node.stride[0] == 2 &&
         node.dilation[1] == 1));
  const dnn::Tensor &image = parts.tensors[node.inputs[0]], &filter = parts.tensors[node.inputs[1]],
                    &result = parts.tensors[node.outputs[0]];
  CHECK(dimsOf(image) == std::vector<std::int64_t>{2, 8, 9, 9});
  CHECK(stridesOf(image) == std::vector<std::int64_t>{648, 81, 9, 1});
  CHECK(dimsOf(filter) == std::vector<std::int64_t>{6, 4, 3, 3});
  CHECK((image.address == at(0) && filter.address == at(4096) && result.address == at(8192)));
  CHECK(parts.graph.workspaceBytes == 0);

  // Halves in the other layout, a workspace, and the gradients.
  TensorOf hx(2, 8, 9, 9, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF), hy(2, 6, 5, 11, CUDNN_TENSOR_NHWC, CUDNN_DATA_HALF);
  REQUIRE(cudnnSetFilter4dDescriptor(w, CUDNN_DATA_HALF, CUDNN_TENSOR_NHWC, 6, 4, 3, 3) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnConvolutionBackwardData(handle, &half, w, memory, hy, memory + 4096, desc, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1,
                                       memory + 9000, 512, &zero, hx, memory + 8192) == CUDNN_STATUS_SUCCESS);
  parts = last();
  REQUIRE(parts.nodes.size() == 1);
  CHECK(parts.nodes[0].operation == Operation::convolutionBackwardData);
  CHECK(parts.tensors[parts.nodes[0].inputs[0]].address == at(4096));
  CHECK(parts.tensors[parts.nodes[0].outputs[0]].address == at(8192));
  CHECK(parts.tensors[parts.nodes[0].inputs[1]].type == dnn::Type::f16);
  CHECK(stridesOf(parts.tensors[parts.nodes[0].inputs[1]]) == std::vector<std::int64_t>{36, 1, 12, 4});
  CHECK(stridesOf(parts.tensors[parts.nodes[0].outputs[0]]) == std::vector<std::int64_t>{648, 1, 72, 8});
  CHECK((parts.graph.workspace == at(9000) && parts.graph.workspaceBytes == 512));
  REQUIRE(cudnnConvolutionBackwardFilter(handle, &one, hx, memory, hy, memory + 4096, desc, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0,
                                         nullptr, 0, &one, w, memory + 8192) == CUDNN_STATUS_SUCCESS);
  parts = last();
  CHECK(parts.nodes[0].operation == Operation::convolutionBackwardFilter);
  CHECK(parts.nodes[0].beta == 1);
  CHECK(dimsOf(parts.tensors[parts.nodes[0].outputs[0]]) == std::vector<std::int64_t>{6, 4, 3, 3});
  TensorOf bias(1, 6, 1, 1);
  REQUIRE(cudnnConvolutionBackwardBias(handle, &one, y, memory, &zero, bias, memory + 4096) == CUDNN_STATUS_SUCCESS);
  parts = last();
  CHECK(parts.nodes[0].operation == Operation::reduction);
  CHECK(parts.nodes[0].mode == CUDNN_REDUCE_TENSOR_ADD);
  CHECK(cudnnConvolutionBackwardBias(handle, &one, y, memory, &zero, x, memory + 4096) == CUDNN_STATUS_BAD_PARAM);
}

TEST_CASE_METHOD(Convolutions, "a convolution with what follows it", "[libraries][cudnn]") {
  const ActivationOf relu(CUDNN_ACTIVATION_RELU), tanh(CUDNN_ACTIVATION_TANH);
  TensorOf bias(1, 6, 1, 1);
  const auto run = [&](const float* residual, cudnnActivationDescriptor_t activation, const float* z) {
    return cudnnConvolutionBiasActivationForward(handle, &one, x, memory, w, memory + 4096, desc,
                                                 CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, nullptr, 0, residual, y, z,
                                                 bias, memory + 6000, activation, y, memory + 8192);
  };
  const float two = 2;
  REQUIRE(run(&two, relu, memory + 8192) == CUDNN_STATUS_SUCCESS);
  dnn::Parts parts = last();
  REQUIRE(parts.nodes.size() == 4);
  CHECK(parts.nodes[0].operation == Operation::convolutionForward);
  CHECK(parts.tensors[parts.nodes[0].outputs[0]].kind == TensorKind::passing);
  CHECK((parts.nodes[1].mode == CUDNN_POINTWISE_ADD && parts.nodes[1].numbers[dnn::kScaleX] == 1 &&
         parts.nodes[1].numbers[dnn::kScaleB] == 2));
  CHECK(parts.tensors[parts.nodes[1].inputs[1]].address == at(8192));
  CHECK((parts.nodes[2].mode == CUDNN_POINTWISE_ADD && parts.tensors[parts.nodes[2].inputs[1]].address == at(6000)));
  CHECK((parts.nodes[3].mode == CUDNN_POINTWISE_RELU_FWD && parts.tensors[parts.nodes[3].outputs[0]].address == at(8192)));
  REQUIRE(run(&zero, relu, nullptr) == CUDNN_STATUS_SUCCESS);
  CHECK(last().nodes.size() == 3);
  CHECK(run(&two, relu, nullptr) == CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  const auto before = unsupportedCalls("cudnnConvolutionBiasActivationForward");
  CHECK(run(&zero, tanh, nullptr) == CUDNN_STATUS_NOT_SUPPORTED);
  CHECK(unsupportedCalls("cudnnConvolutionBiasActivationForward") == before + 1);
}

TEST_CASE_METHOD(Convolutions, "wrong convolutions are answered at the call, and nothing travels", "[libraries][cudnn]") {
  const auto before = calls();
  const auto with = [&](cudnnHandle_t h, cudnnTensorDescriptor_t image, const void* at, cudnnConvolutionDescriptor_t how,
                        cudnnTensorDescriptor_t to, int algorithm = 0, const void* alpha = nullptr) {
    return cudnnConvolutionForward(h, alpha != nullptr ? alpha : &one, image, at, w, memory + 4096, how,
                                   static_cast<cudnnConvolutionFwdAlgo_t>(algorithm), nullptr, 0, &zero, to, memory + 8192);
  };
  TensorOf wrong(2, 7, 9, 9), small(2, 6, 5, 10), doubles(2, 8, 9, 9, CUDNN_TENSOR_NCHW, CUDNN_DATA_INT64);
  CHECK(with(nullptr, x, memory, desc, y) == CUDNN_STATUS_BAD_PARAM);
  CHECK(with(handle, wrong, memory, desc, y) == CUDNN_STATUS_BAD_PARAM);
  CHECK(with(handle, x, memory, desc, small) == CUDNN_STATUS_BAD_PARAM);
  CHECK(with(handle, x, nullptr, desc, y) == CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  CHECK(with(handle, x, reinterpret_cast<const char*>(memory) + 1, desc, y) == CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
  CHECK(with(handle, nullptr, memory, desc, y) == CUDNN_STATUS_BAD_PARAM);
  CHECK(with(handle, x, memory, nullptr, y) == CUDNN_STATUS_BAD_PARAM);
  CHECK(with(handle, x, memory, desc, y, 8) == CUDNN_STATUS_BAD_PARAM);
  CHECK(with(handle, x, memory, desc, y, -1) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnConvolutionForward(handle, nullptr, x, memory, w, memory, desc, CUDNN_CONVOLUTION_FWD_ALGO_GEMM, nullptr, 0, &zero,
                                y, memory) == CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  const auto refusals = unsupportedCalls("cudnnConvolutionForward");
  CHECK(with(handle, doubles, memory, desc, y) == CUDNN_STATUS_NOT_SUPPORTED);
  CHECK(unsupportedCalls("cudnnConvolutionForward") == refusals + 1);
  int algorithms = 7;
  cudnnConvolutionFwdAlgoPerf_t found;
  CHECK(cudnnGetConvolutionForwardAlgorithm_v7(handle, wrong, w, desc, y, 1, &algorithms, &found) == CUDNN_STATUS_BAD_PARAM);
  CHECK(algorithms == 0);
  CHECK(cudnnGetConvolutionForwardAlgorithm_v7(handle, x, w, desc, y, 0, &algorithms, &found) == CUDNN_STATUS_BAD_PARAM);
  CHECK(calls() == before);
}

TEST_CASE_METHOD(Convolutions, "streams: a handle's, one that is gone, another device's, one that captures", "[libraries][cudnn]") {
  cudaStream_t stream = nullptr;
  REQUIRE(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  REQUIRE(cudnnSetStream(handle, stream) == CUDNN_STATUS_SUCCESS);
  CHECK(forward(&one, &zero) == CUDNN_STATUS_SUCCESS);
  const auto before = calls();
  // A captured call is a node, and does not travel; one on the legacy stream ends the capture of a stream that waits for that.
  cudaGraph_t graph = nullptr;
  std::size_t nodes = 0;
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  CHECK(forward(&one, &zero) == CUDNN_STATUS_SUCCESS);
  CHECK(forward(&one, nullptr) == CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  CHECK(forward(&one, &one) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  CHECK((cudaGraphGetNodes(graph, nullptr, &nodes) == cudaSuccess && nodes == 2));
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  cudaStream_t blocking = nullptr;
  REQUIRE(cudaStreamCreate(&blocking) == cudaSuccess);
  REQUIRE(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed) == cudaSuccess);
  REQUIRE(cudnnSetStream(handle, nullptr) == CUDNN_STATUS_SUCCESS);
  CHECK(forward(&one, &zero) == CUDNN_STATUS_EXECUTION_FAILED);
  CHECK(cudaStreamEndCapture(blocking, &graph) == cudaErrorStreamCaptureInvalidated);
  (void)cudaGetLastError();
  REQUIRE(cudaStreamDestroy(blocking) == cudaSuccess);
  REQUIRE(cudnnSetStream(handle, stream) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(forward(&one, &zero) == CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH);
  REQUIRE(cudaSetDevice(1) == cudaSuccess);
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  REQUIRE(cudnnSetStream(handle, stream) == CUDNN_STATUS_SUCCESS);
  CHECK(forward(&one, &zero) == CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH);
  REQUIRE(cudaStreamDestroy(stream) == cudaSuccess);
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  REQUIRE(cudnnSetStream(handle, nullptr) == CUDNN_STATUS_SUCCESS);
  CHECK(calls() == before);
}

TEST_CASE_METHOD(Cudnn, "activations", "[libraries][cudnn]") {
  TensorOf x(1, 2, 3, 4);
  const float two = 2;
  const auto forward = [&](cudnnActivationDescriptor_t activation) {
    return cudnnActivationForward(handle, activation, &two, x, memory, &one, x, memory + 64);
  };
  const ActivationOf clipped(CUDNN_ACTIVATION_CLIPPED_RELU, 6), sigmoid(CUDNN_ACTIVATION_SIGMOID), elu(CUDNN_ACTIVATION_ELU, 0.5);
  REQUIRE(forward(clipped) == CUDNN_STATUS_SUCCESS);
  dnn::Parts parts = last();
  CHECK((parts.nodes[0].mode == CUDNN_POINTWISE_RELU_FWD && parts.nodes[0].numbers[dnn::kUpperClip] == 6));
  CHECK((parts.nodes[0].alpha == 2 && parts.nodes[0].beta == 1));
  REQUIRE(forward(elu) == CUDNN_STATUS_SUCCESS);
  parts = last();
  CHECK((parts.nodes[0].mode == CUDNN_POINTWISE_ELU_FWD && parts.nodes[0].numbers[dnn::kEluAlpha] == 0.5));
  REQUIRE(cudnnActivationBackward(handle, elu, &one, x, memory, x, memory + 64, x, memory + 128, &zero, x, memory + 192) ==
          CUDNN_STATUS_SUCCESS);
  parts = last();
  REQUIRE(parts.nodes.size() == 1);
  CHECK(parts.nodes[0].mode == CUDNN_POINTWISE_ELU_BWD);
  CHECK((parts.tensors[parts.nodes[0].inputs[0]].address == at(64) && parts.tensors[parts.nodes[0].inputs[1]].address == at(128)));
  REQUIRE(cudnnActivationBackward(handle, sigmoid, &two, x, memory, x, memory + 64, x, memory + 128, &one, x, memory + 192) ==
          CUDNN_STATUS_SUCCESS);
  parts = last();
  REQUIRE(parts.nodes.size() == 3);
  CHECK((parts.nodes[0].mode == CUDNN_POINTWISE_MUL && parts.nodes[2].mode == CUDNN_POINTWISE_SUB && parts.nodes[2].alpha == 2 &&
         parts.nodes[2].beta == 1));
  CHECK(parts.nodes[2].inputs[0] == parts.nodes[0].outputs[0]);
}

TEST_CASE_METHOD(Cudnn, "operations on elements, and reductions", "[libraries][cudnn]") {
  TensorOf a(2, 3, 4, 5), b(1, 3, 1, 1), wide(2, 3, 4, 5, CUDNN_TENSOR_NHWC);
  cudnnOpTensorDescriptor_t op;
  REQUIRE(cudnnCreateOpTensorDescriptor(&op) == CUDNN_STATUS_SUCCESS);
  const float two = 2, three = 3;
  const auto run = [&](cudnnOpTensorOp_t mode) {
    REQUIRE(cudnnSetOpTensorDescriptor(op, mode, CUDNN_DATA_FLOAT, CUDNN_NOT_PROPAGATE_NAN) == CUDNN_STATUS_SUCCESS);
    return cudnnOpTensor(handle, op, &two, a, memory, &three, b, memory + 200, &one, a, memory + 400);
  };
  REQUIRE(run(CUDNN_OP_TENSOR_MAX) == CUDNN_STATUS_SUCCESS);
  dnn::Parts parts = last();
  CHECK((parts.nodes[0].mode == CUDNN_POINTWISE_MAX && parts.nodes[0].numbers[dnn::kScaleX] == 2 &&
         parts.nodes[0].numbers[dnn::kScaleB] == 3));
  CHECK((parts.nodes[0].alpha == 1 && parts.nodes[0].beta == 1));
  REQUIRE(run(CUDNN_OP_TENSOR_SQRT) == CUDNN_STATUS_SUCCESS);
  CHECK(last().nodes[0].mode == CUDNN_POINTWISE_SQRT);
  REQUIRE(run(CUDNN_OP_TENSOR_NOT) == CUDNN_STATUS_SUCCESS);
  parts = last();
  CHECK((parts.nodes[0].mode == CUDNN_POINTWISE_SUB && parts.nodes[0].numbers[dnn::kScaleB] == 2));
  CHECK(parts.tensors[parts.nodes[0].inputs[0]].kind == TensorKind::scalar);
  CHECK(cudnnOpTensor(handle, op, &two, b, memory, &three, a, memory + 200, &one, a, memory + 400) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnDestroyOpTensorDescriptor(op) == CUDNN_STATUS_SUCCESS);

  REQUIRE(cudnnAddTensor(handle, &two, b, memory, &one, a, memory + 400) == CUDNN_STATUS_SUCCESS);
  parts = last();
  CHECK((parts.nodes[0].mode == CUDNN_POINTWISE_IDENTITY && parts.nodes[0].alpha == 2 && parts.nodes[0].beta == 1));
  CHECK(cudnnAddTensor(handle, &two, a, memory, &one, b, memory + 400) == CUDNN_STATUS_BAD_PARAM);
  REQUIRE(cudnnScaleTensor(handle, a, memory, &three) == CUDNN_STATUS_SUCCESS);
  parts = last();
  CHECK((parts.nodes[0].inputs[0] == parts.nodes[0].outputs[0] && parts.nodes[0].alpha == 3));
  const float value = 2.5f;
  REQUIRE(cudnnSetTensor(handle, a, memory, &value) == CUDNN_STATUS_SUCCESS);
  parts = last();
  CHECK(std::memcmp(parts.tensors[parts.nodes[0].inputs[0]].scalar, &value, sizeof value) == 0);
  CHECK(cudnnSetTensor(handle, a, memory, nullptr) == CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  // Of halves a float is read, as NVIDIA's library does.
  const int dims[] = {1, 2, 3, 4}, strides[] = {24, 12, 4, 1};
  cudnnTensorDescriptor_t halves;
  REQUIRE(cudnnCreateTensorDescriptor(&halves) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetTensorNdDescriptor(halves, CUDNN_DATA_HALF, 4, dims, strides) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetTensor(handle, halves, memory, &value) == CUDNN_STATUS_SUCCESS);
  parts = last();
  const dnn::Tensor& set = parts.tensors[parts.nodes[0].inputs[0]];
  CHECK((set.type == dnn::Type::f32 && std::memcmp(set.scalar, &value, sizeof value) == 0));
  CHECK(cudnnDestroyTensorDescriptor(halves) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnTransformTensor(handle, &one, a, memory, &zero, wide, memory + 400) == CUDNN_STATUS_SUCCESS);
  CHECK(last().nodes[0].operation == Operation::copy);

  TensorOf bits(2, 3, 4, 5, CUDNN_TENSOR_NCHW, CUDNN_DATA_BOOLEAN), small(2, 3, 4, 5, CUDNN_TENSOR_NCHW, CUDNN_DATA_FP8_E4M3);
  CHECK(cudnnTransformTensor(handle, &one, bits, memory, &zero, wide, memory + 400) == CUDNN_STATUS_NOT_SUPPORTED);
  CHECK(cudnnTransformTensor(handle, &one, a, memory, &zero, small, memory + 400) == CUDNN_STATUS_NOT_SUPPORTED);

  cudnnReduceTensorDescriptor_t reduce;
  REQUIRE(cudnnCreateReduceTensorDescriptor(&reduce) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetReduceTensorDescriptor(reduce, CUDNN_REDUCE_TENSOR_NORM2, CUDNN_DATA_FLOAT, CUDNN_PROPAGATE_NAN,
                                         CUDNN_REDUCE_TENSOR_NO_INDICES, CUDNN_32BIT_INDICES) == CUDNN_STATUS_SUCCESS);
  std::size_t bytes = 9;
  CHECK((cudnnGetReductionWorkspaceSize(handle, reduce, a, b, &bytes) == CUDNN_STATUS_SUCCESS && bytes == 0));
  REQUIRE(cudnnReduceTensor(handle, reduce, nullptr, 0, nullptr, 0, &two, a, memory, &zero, b, memory + 400) ==
          CUDNN_STATUS_SUCCESS);
  parts = last();
  CHECK((parts.nodes[0].operation == Operation::reduction && parts.nodes[0].mode == CUDNN_REDUCE_TENSOR_NORM2 &&
         parts.nodes[0].flags == dnn::kPropagateNan));
  CHECK(cudnnReduceTensor(handle, reduce, nullptr, 0, nullptr, 0, &two, b, memory, &zero, a, memory + 400) ==
        CUDNN_STATUS_BAD_PARAM);
  REQUIRE(cudnnSetReduceTensorDescriptor(reduce, CUDNN_REDUCE_TENSOR_MAX, CUDNN_DATA_FLOAT, CUDNN_PROPAGATE_NAN,
                                         CUDNN_REDUCE_TENSOR_FLATTENED_INDICES, CUDNN_32BIT_INDICES) == CUDNN_STATUS_SUCCESS);
  CHECK(cudnnReduceTensor(handle, reduce, memory, 99, nullptr, 0, &two, a, memory, &zero, b, memory + 400) ==
        CUDNN_STATUS_NOT_SUPPORTED);
  CHECK(cudnnDestroyReduceTensorDescriptor(reduce) == CUDNN_STATUS_SUCCESS);
}

TEST_CASE_METHOD(Cudnn, "pools, softmax, response normalisation", "[libraries][cudnn]") {
  TensorOf x(2, 3, 8, 8), y(2, 3, 4, 4);
  cudnnPoolingDescriptor_t pooling;
  REQUIRE(cudnnCreatePoolingDescriptor(&pooling) == CUDNN_STATUS_SUCCESS);
  CHECK(cudnnPoolingForward(handle, pooling, &one, x, memory, &zero, y, memory + 400) == CUDNN_STATUS_BAD_PARAM);  // not set
  REQUIRE(cudnnSetPooling2dDescriptor(pooling, CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING, CUDNN_PROPAGATE_NAN, 3, 3, 1, 1, 2,
                                      2) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnPoolingForward(handle, pooling, &one, x, memory, &zero, y, memory + 400) == CUDNN_STATUS_SUCCESS);
  dnn::Parts parts = last();
  CHECK((parts.nodes[0].operation == Operation::poolForward && parts.nodes[0].mode == 2 && parts.nodes[0].window[1] == 3 &&
         parts.nodes[0].flags == dnn::kPropagateNan));
  REQUIRE(cudnnPoolingBackward(handle, pooling, &one, y, memory, y, memory + 100, x, memory + 200, &zero, x, memory + 600) ==
          CUDNN_STATUS_SUCCESS);
  parts = last();
  CHECK(parts.nodes[0].operation == Operation::poolBackward);
  CHECK((parts.tensors[parts.nodes[0].inputs[0]].address == at(200) && parts.tensors[parts.nodes[0].inputs[1]].address == at(0) &&
         parts.tensors[parts.nodes[0].inputs[2]].address == at(100)));
  CHECK(cudnnPoolingForward(handle, pooling, &one, x, memory, &zero, x, memory + 400) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnDestroyPoolingDescriptor(pooling) == CUDNN_STATUS_SUCCESS);

  REQUIRE(cudnnSoftmaxForward(handle, CUDNN_SOFTMAX_LOG, CUDNN_SOFTMAX_MODE_CHANNEL, &one, x, memory, &zero, x, memory + 400) ==
          CUDNN_STATUS_SUCCESS);
  parts = last();
  CHECK((parts.nodes[0].operation == Operation::softmaxForward && parts.nodes[0].mode == 2 &&
         parts.nodes[0].flags == dnn::kOverChannels));
  REQUIRE(cudnnSoftmaxBackward(handle, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_INSTANCE, &one, x, memory, x, memory + 400,
                               &zero, x, memory + 400) == CUDNN_STATUS_SUCCESS);
  parts = last();
  CHECK((parts.nodes[0].operation == Operation::softmaxBackward && parts.nodes[0].flags == 0));
  CHECK(cudnnSoftmaxForward(handle, static_cast<cudnnSoftmaxAlgorithm_t>(3), CUDNN_SOFTMAX_MODE_CHANNEL, &one, x, memory, &zero,
                            x, memory) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnSoftmaxForward(handle, CUDNN_SOFTMAX_FAST, static_cast<cudnnSoftmaxMode_t>(3), &one, x, memory, &zero, x, memory) ==
        CUDNN_STATUS_BAD_PARAM);

  cudnnLRNDescriptor_t norm;
  REQUIRE(cudnnCreateLRNDescriptor(&norm) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnSetLRNDescriptor(norm, 3, 0.5, 0.75, 1) == CUDNN_STATUS_SUCCESS);
  REQUIRE(cudnnLRNCrossChannelForward(handle, norm, CUDNN_LRN_CROSS_CHANNEL_DIM1, &one, x, memory, &zero, x, memory + 400) ==
          CUDNN_STATUS_SUCCESS);
  parts = last();
  CHECK((parts.nodes[0].numbers[dnn::kWindow] == 3 && parts.nodes[0].numbers[dnn::kAlpha] == 0.5 &&
         parts.nodes[0].numbers[dnn::kK] == 1));
  REQUIRE(cudnnLRNCrossChannelBackward(handle, norm, CUDNN_LRN_CROSS_CHANNEL_DIM1, &one, x, memory, x, memory + 400, x,
                                       memory + 800, &zero, x, memory + 1200) == CUDNN_STATUS_SUCCESS);
  CHECK(last().nodes[0].operation == Operation::responseNormBackward);
  CHECK(cudnnDestroyLRNDescriptor(norm) == CUDNN_STATUS_SUCCESS);
}

TEST_CASE_METHOD(Cudnn, "batch normalisation", "[libraries][cudnn]") {
  TensorOf x(4, 3, 5, 5), p(1, 3, 1, 1), wrong(1, 4, 1, 1), each(1, 3, 5, 5);
  const auto infer = [&](cudnnBatchNormMode_t mode, cudnnTensorDescriptor_t parameters, double epsilon) {
    return cudnnBatchNormalizationForwardInference(handle, mode, &one, &zero, x, memory, x, memory + 400, parameters,
                                                   memory + 800, memory + 900, memory + 1000, memory + 1100, epsilon);
  };
  REQUIRE(infer(CUDNN_BATCHNORM_SPATIAL, p, 1e-3) == CUDNN_STATUS_SUCCESS);
  dnn::Parts parts = last();
  CHECK((parts.nodes[0].operation == Operation::normForward && parts.nodes[0].mode == 2 && parts.nodes[0].flags == 0));
  CHECK(parts.nodes[0].numbers[dnn::kEpsilon] == 1e-3);
  CHECK(parts.tensors[parts.nodes[0].inputs[3]].address == at(1000));
  CHECK(infer(CUDNN_BATCHNORM_SPATIAL, wrong, 1e-3) == CUDNN_STATUS_BAD_PARAM);
  CHECK(infer(CUDNN_BATCHNORM_SPATIAL, each, 1e-3) == CUDNN_STATUS_BAD_PARAM);
  CHECK(infer(CUDNN_BATCHNORM_PER_ACTIVATION, each, 1e-3) == CUDNN_STATUS_SUCCESS);
  CHECK(infer(CUDNN_BATCHNORM_SPATIAL, p, -1) == CUDNN_STATUS_BAD_PARAM);
  CHECK(infer(static_cast<cudnnBatchNormMode_t>(5), p, 1e-3) == CUDNN_STATUS_BAD_PARAM);

  const ActivationOf relu(CUDNN_ACTIVATION_RELU), tanh(CUDNN_ACTIVATION_TANH);
  std::size_t bytes = 9;
  CHECK((cudnnGetBatchNormalizationTrainingExReserveSpaceSize(
             handle, CUDNN_BATCHNORM_SPATIAL, CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION, relu, x, &bytes) == CUDNN_STATUS_SUCCESS &&
         bytes == 0));
  const auto train = [&](cudnnBatchNormOps_t ops, void* mean, void* variance) {
    return cudnnBatchNormalizationForwardTrainingEx(handle, CUDNN_BATCHNORM_SPATIAL_PERSISTENT, ops, &one, &zero, x, memory, x,
                                                    memory + 2000, x, memory + 400, p, memory + 800, memory + 900, 0.25, mean,
                                                    variance, 1e-5, memory + 1200, memory + 1300, relu, nullptr, 0, nullptr, 0);
  };
  REQUIRE(train(CUDNN_BATCHNORM_OPS_BN, memory + 1000, memory + 1100) == CUDNN_STATUS_SUCCESS);
  parts = last();
  REQUIRE(parts.nodes.size() == 1);
  CHECK(parts.nodes[0].flags == dnn::kTraining);
  CHECK((parts.nodes[0].numbers[dnn::kAverageFactor] == 0.25 && parts.nodes[0].inputs[3] == kNoTensor));
  CHECK(parts.nodes[0].inputs[5] == parts.nodes[0].outputs[3]);  // in place
  CHECK(parts.tensors[parts.nodes[0].outputs[2]].address == at(1300));
  REQUIRE(train(CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION, nullptr, nullptr) == CUDNN_STATUS_SUCCESS);
  parts = last();
  REQUIRE(parts.nodes.size() == 3);
  CHECK((parts.nodes[0].inputs[5] == kNoTensor && parts.nodes[1].mode == CUDNN_POINTWISE_ADD &&
         parts.nodes[2].mode == CUDNN_POINTWISE_RELU_FWD));
  CHECK(parts.tensors[parts.nodes[1].inputs[1]].address == at(2000));
  CHECK(train(CUDNN_BATCHNORM_OPS_BN, memory + 1000, nullptr) == CUDNN_STATUS_BAD_PARAM);

  const float two = 2;
  const auto differentiate = [&](cudnnBatchNormOps_t ops, cudnnActivationDescriptor_t activation) {
    return cudnnBatchNormalizationBackwardEx(handle, CUDNN_BATCHNORM_SPATIAL, ops, &one, &zero, &two, &one, x, memory, x,
                                             memory + 400, x, memory + 2000, x, memory + 2400, x, memory + 2800, p, memory + 800,
                                             memory + 900, memory + 1000, memory + 1100, 1e-5, memory + 1200, memory + 1300,
                                             activation, nullptr, 0, nullptr, 0);
  };
  REQUIRE(differentiate(CUDNN_BATCHNORM_OPS_BN, nullptr) == CUDNN_STATUS_SUCCESS);
  parts = last();
  REQUIRE(parts.nodes.size() == 1);
  CHECK((parts.nodes[0].numbers[dnn::kParameterAlpha] == 2 && parts.nodes[0].numbers[dnn::kParameterBeta] == 1));
  REQUIRE(differentiate(CUDNN_BATCHNORM_OPS_BN_ADD_ACTIVATION, relu) == CUDNN_STATUS_SUCCESS);
  parts = last();
  REQUIRE(parts.nodes.size() == 2);
  CHECK(parts.tensors[parts.nodes[0].outputs[0]].address == at(2400));
  CHECK(parts.nodes[1].inputs[1] == parts.nodes[0].outputs[0]);
  CHECK(differentiate(CUDNN_BATCHNORM_OPS_BN_ACTIVATION, tanh) == CUDNN_STATUS_NOT_SUPPORTED);

  // The other interface.
  REQUIRE(cudnnNormalizationForwardTraining(handle, CUDNN_NORM_PER_CHANNEL, CUDNN_NORM_OPS_NORM, CUDNN_NORM_ALGO_STANDARD, &one,
                                            &zero, x, memory, p, memory + 800, memory + 900, 0.5, p, memory + 1000, memory + 1100,
                                            1e-5, memory + 1200, memory + 1300, nullptr, nullptr, nullptr, x, memory + 400,
                                            nullptr, 0, nullptr, 0, 1) == CUDNN_STATUS_SUCCESS);
  CHECK(last().nodes[0].numbers[dnn::kAverageFactor] == 0.5);
  CHECK(cudnnNormalizationForwardTraining(handle, CUDNN_NORM_PER_CHANNEL, CUDNN_NORM_OPS_NORM, CUDNN_NORM_ALGO_STANDARD, &one,
                                          &zero, x, memory, p, memory + 800, memory + 900, 0.5, p, memory + 1000, memory + 1100,
                                          1e-5, memory + 1200, memory + 1300, nullptr, nullptr, nullptr, x, memory + 400, nullptr,
                                          0, nullptr, 0, 2) == CUDNN_STATUS_BAD_PARAM);
}

TEST_CASE_METHOD(Cudnn, "normalisation by its other names", "[libraries][cudnn]") {
  TensorOf x(4, 3, 5, 5), p(1, 3, 1, 1), mean(1, 3, 1, 1);
  const ActivationOf relu(CUDNN_ACTIVATION_RELU);
  std::size_t bytes = 9;
  const auto mode = CUDNN_NORM_PER_CHANNEL;
  const auto ops = CUDNN_NORM_OPS_NORM_ADD_ACTIVATION;
  const auto algo = CUDNN_NORM_ALGO_PERSIST;
  CHECK((cudnnGetNormalizationForwardTrainingWorkspaceSize(handle, mode, ops, algo, x, x, x, p, relu, p, &bytes, 1) ==
             CUDNN_STATUS_SUCCESS &&
         bytes == 0));
  CHECK((cudnnGetNormalizationBackwardWorkspaceSize(handle, mode, ops, algo, x, x, x, x, x, p, relu, p, &bytes, 1) ==
             CUDNN_STATUS_SUCCESS &&
         bytes == 0));
  CHECK((cudnnGetNormalizationTrainingReserveSpaceSize(handle, mode, ops, algo, relu, x, &bytes, 1) == CUDNN_STATUS_SUCCESS &&
         bytes == 0));
  CHECK(cudnnGetNormalizationTrainingReserveSpaceSize(handle, mode, ops, algo, relu, x, &bytes, 3) == CUDNN_STATUS_BAD_PARAM);
  CHECK(cudnnDeriveNormTensorDescriptor(p, mean, x, mode, 1) == CUDNN_STATUS_SUCCESS);
  CHECK(cudnnDeriveNormTensorDescriptor(p, mean, x, mode, 2) == CUDNN_STATUS_BAD_PARAM);
  REQUIRE(cudnnNormalizationForwardInference(handle, mode, ops, algo, &one, &zero, x, memory, p, memory + 800, memory + 900, mean,
                                             memory + 1000, memory + 1100, x, memory + 2000, relu, x, memory + 400, 1e-4,
                                             1) == CUDNN_STATUS_SUCCESS);
  dnn::Parts parts = last();
  REQUIRE(parts.nodes.size() == 3);
  CHECK((parts.nodes[0].flags == 0 && parts.nodes[0].numbers[dnn::kEpsilon] == 1e-4 && parts.nodes[1].mode == CUDNN_POINTWISE_ADD));
  REQUIRE(cudnnNormalizationBackward(handle, mode, CUDNN_NORM_OPS_NORM, algo, &one, &zero, &one, &zero, x, memory, nullptr,
                                     nullptr, x, memory + 2000, nullptr, nullptr, x, memory + 2400, p, memory + 800, nullptr,
                                     memory + 900, memory + 1000, 1e-4, mean, memory + 1100, memory + 1200, nullptr, nullptr, 0,
                                     nullptr, 0, 1) == CUDNN_STATUS_SUCCESS);
  parts = last();
  REQUIRE(parts.nodes.size() == 1);
  CHECK((parts.nodes[0].operation == Operation::normBackward && parts.tensors[parts.nodes[0].inputs[3]].address == at(1100)));
}

TEST_CASE_METHOD(Cudnn, "doubles bring doubles", "[libraries][cudnn]") {
  TensorOf x(1, 2, 3, 4, CUDNN_TENSOR_NCHW, CUDNN_DATA_DOUBLE);
  const double alpha = 0.1, beta = 0.7;
  REQUIRE(cudnnSoftmaxForward(handle, CUDNN_SOFTMAX_FAST, CUDNN_SOFTMAX_MODE_CHANNEL, &alpha, x, memory, &beta, x,
                              memory + 400) == CUDNN_STATUS_SUCCESS);
  const dnn::Parts parts = last();
  CHECK((parts.nodes[0].alpha == 0.1 && parts.nodes[0].beta == 0.7 && parts.nodes[0].compute == dnn::Type::f64));
}
