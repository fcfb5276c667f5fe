// cuDNN's convolutions.
#include "client-shim/cudnn/convolution.h"

#include <algorithm>

#include "client-shim/cudnn/implementations.h"

namespace rouse::cudnn {
namespace {

// Pads, strides, dilations and the mode.
void describe(Call& call, const Convolution& convolution, const Tensor& image, const Filter& filter, dnn::Node& node) {
  node.mode = static_cast<std::uint16_t>(convolution.mode);
  node.math = static_cast<dnn::MathType>(convolution.math);
  node.flags = dnn::kReproducible;  // as the only algorithm is said to be
  node.spatial = static_cast<std::uint8_t>(convolution.spatial);
  if (!computeOf(convolution.compute, node.compute)) call.unsupported("the convolution's compute type");
  if (convolution.spatial > static_cast<int>(dnn::kMaxSpatial)) {
    call.unsupported("more than 3 spatial dimensions");
    return;
  }
  call.require(image.dims[1] == static_cast<std::int64_t>(filter.dims[1]) * convolution.groups,
               "the image's channels are not the filter's times the groups");
  for (int i = 0; i < convolution.spatial; ++i) {
    node.padBefore[i] = node.padAfter[i] = convolution.pad[i];
    node.stride[i] = convolution.stride[i];
    node.dilation[i] = convolution.dilation[i];
  }
}

}  // namespace

dnn::Node& convolve(Call& call, Direction direction, cudnnConvolutionDescriptor_t convDesc, const ConvolutionOperands& operands) {
  const Convolution& convolution = call.get<Convolution>(convDesc);
  const Tensor &image = call.get<Tensor>(operands.image), &response = call.get<Tensor>(operands.response);
  const Filter& filter = call.get<Filter>(operands.filter);
  const std::uint16_t x = call.memory(image, operands.imageAddress), w = call.memory(filter, operands.filterAddress),
                      y = call.memory(response, operands.responseAddress);
  dnn::Node& node = direction == Direction::forward ? call.node(dnn::Operation::convolutionForward, {}, {x, w}, {y})
                    : direction == Direction::data  ? call.node(dnn::Operation::convolutionBackwardData, {}, {y, w}, {x})
                                                    : call.node(dnn::Operation::convolutionBackwardFilter, {}, {x, y}, {w});
  describe(call, convolution, image, filter, node);
  return node;
}

namespace impl {

cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t xDesc, const void* x,
                                      const cudnnFilterDescriptor_t wDesc, const void* w,
                                      const cudnnConvolutionDescriptor_t convDesc, cudnnConvolutionFwdAlgo_t algo,
                                      void* workSpace, size_t workSpaceSizeInBytes, const void* beta,
                                      const cudnnTensorDescriptor_t yDesc, void* y) {
  return guarded([&] {
    Call call(handle, "cudnnConvolutionForward");
    call.require(algo >= CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM && algo < CUDNN_CONVOLUTION_FWD_ALGO_COUNT, "algo");
    dnn::Node& node = convolve(call, Direction::forward, convDesc, {xDesc, wDesc, yDesc, x, w, y});
    node.alpha = call.factor(alpha, call.get<Tensor>(yDesc).type);
    node.beta = call.factor(beta, call.get<Tensor>(yDesc).type);
    call.workspace(workSpace, workSpaceSizeInBytes);
    return call.submit();
  });
}

cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t handle, const void* alpha, const cudnnFilterDescriptor_t wDesc,
                                           const void* w, const cudnnTensorDescriptor_t dyDesc, const void* dy,
                                           const cudnnConvolutionDescriptor_t convDesc, cudnnConvolutionBwdDataAlgo_t algo,
                                           void* workSpace, size_t workSpaceSizeInBytes, const void* beta,
                                           const cudnnTensorDescriptor_t dxDesc, void* dx) {
  return guarded([&] {
    Call call(handle, "cudnnConvolutionBackwardData");
    call.require(algo >= CUDNN_CONVOLUTION_BWD_DATA_ALGO_0 && algo < CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT, "algo");
    dnn::Node& node = convolve(call, Direction::data, convDesc, {dxDesc, wDesc, dyDesc, dx, w, dy});
    node.alpha = call.factor(alpha, call.get<Tensor>(dxDesc).type);
    node.beta = call.factor(beta, call.get<Tensor>(dxDesc).type);
    call.workspace(workSpace, workSpaceSizeInBytes);
    return call.submit();
  });
}

cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t xDesc,
                                             const void* x, const cudnnTensorDescriptor_t dyDesc, const void* dy,
                                             const cudnnConvolutionDescriptor_t convDesc, cudnnConvolutionBwdFilterAlgo_t algo,
                                             void* workSpace, size_t workSpaceSizeInBytes, const void* beta,
                                             const cudnnFilterDescriptor_t dwDesc, void* dw) {
  return guarded([&] {
    Call call(handle, "cudnnConvolutionBackwardFilter");
    call.require(algo >= CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0 && algo < CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT, "algo");
    dnn::Node& node = convolve(call, Direction::filter, convDesc, {xDesc, dwDesc, dyDesc, x, dw, dy});
    node.alpha = call.factor(alpha, call.get<Filter>(dwDesc).type);
    node.beta = call.factor(beta, call.get<Filter>(dwDesc).type);
    call.workspace(workSpace, workSpaceSizeInBytes);
    return call.submit();
  });
}

// db: sums of dy over images and places.
cudnnStatus_t cudnnConvolutionBackwardBias(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t dyDesc,
                                           const void* dy, const void* beta, const cudnnTensorDescriptor_t dbDesc, void* db) {
  return guarded([&] {
    Call call(handle, "cudnnConvolutionBackwardBias");
    const Tensor &response = call.get<Tensor>(dyDesc), &bias = call.get<Tensor>(dbDesc);
    for (int i = 0; i < bias.rank; ++i)
      call.require(i == 1 ? bias.dims[1] == response.dims[1] : bias.dims[i] == 1, "the bias's shape is not 1 x C x 1 x ...");
    dnn::Node& node =
        call.node(dnn::Operation::reduction, computeOf(response.type), {call.memory(response, dy)}, {call.memory(bias, db)});
    node.mode = CUDNN_REDUCE_TENSOR_ADD;
    node.alpha = call.factor(alpha, response.type);
    node.beta = call.factor(beta, response.type);
    return call.submit();
  });
}

// y = act(alpha1 * conv(x, w) + alpha2 * z + bias)
cudnnStatus_t cudnnConvolutionBiasActivationForward(cudnnHandle_t handle, const void* alpha1, const cudnnTensorDescriptor_t xDesc,
                                                    const void* x, const cudnnFilterDescriptor_t wDesc, const void* w,
                                                    const cudnnConvolutionDescriptor_t convDesc, cudnnConvolutionFwdAlgo_t algo,
                                                    void* workSpace, size_t workSpaceSizeInBytes, const void* alpha2,
                                                    const cudnnTensorDescriptor_t zDesc, const void* z,
                                                    const cudnnTensorDescriptor_t biasDesc, const void* bias,
                                                    const cudnnActivationDescriptor_t activationDesc,
                                                    const cudnnTensorDescriptor_t yDesc, void* y) {
  return guarded([&] {
    Call call(handle, "cudnnConvolutionBiasActivationForward");
    call.require(algo >= CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM && algo < CUDNN_CONVOLUTION_FWD_ALGO_COUNT, "algo");
    const Tensor &result = call.get<Tensor>(yDesc), &image = call.get<Tensor>(xDesc);
    const Filter& filter = call.get<Filter>(wDesc);
    const Convolution& convolution = call.get<Convolution>(convDesc);
    const Activation& activation = call.get<Activation>(activationDesc);
    if (activation.mode != CUDNN_ACTIVATION_RELU && activation.mode != CUDNN_ACTIVATION_IDENTITY)
      call.unsupported("an activation other than RELU and IDENTITY");
    const double alpha = call.factor(alpha1, result.type), residual = call.factor(alpha2, result.type);
    const dnn::Type compute = computeOf(result.type);
    const std::uint16_t product = call.passing(result);
    dnn::Node& node = call.node(dnn::Operation::convolutionForward, {}, {call.memory(image, x), call.memory(filter, w)}, {product});
    node.alpha = alpha;
    describe(call, convolution, image, filter, node);
    std::uint16_t sum = product;
    if (residual != 0) {
      const std::uint16_t next = call.passing(result);
      call.pointwise(CUDNN_POINTWISE_ADD, compute, {sum, call.memory(call.get<Tensor>(zDesc), z)}, next).numbers[dnn::kScaleB] =
          residual;
      sum = next;
    }
    const std::uint16_t biased = call.passing(result);
    call.pointwise(CUDNN_POINTWISE_ADD, compute, {sum, call.memory(call.get<Tensor>(biasDesc), bias)}, biased);
    call.activate(activation, compute, biased, call.memory(result, y), 1, 0);
    call.workspace(workSpace, workSpaceSizeInBytes);
    return call.submit();
  });
}

}  // namespace impl
}  // namespace rouse::cudnn
