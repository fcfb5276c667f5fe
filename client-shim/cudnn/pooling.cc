// cuDNN's pools, softmax and local response normalisation.
#include "client-shim/cudnn/graph.h"
#include "client-shim/cudnn/implementations.h"

namespace rouse::cudnn {
namespace {

void describe(Call& call, const Pooling& pooling, dnn::Node& node) {
  node.mode = static_cast<std::uint16_t>(pooling.mode);
  node.spatial = static_cast<std::uint8_t>(pooling.spatial);
  if (pooling.nan == CUDNN_PROPAGATE_NAN) node.flags |= dnn::kPropagateNan;
  call.require(pooling.spatial != 0, "a pooling descriptor that has not been set");
  if (pooling.spatial > static_cast<int>(dnn::kMaxSpatial)) {
    call.unsupported("more than 3 spatial dimensions");
    return;
  }
  for (int i = 0; i < pooling.spatial; ++i) {
    node.window[i] = pooling.window[i];
    node.padBefore[i] = node.padAfter[i] = pooling.pad[i];
    node.stride[i] = pooling.stride[i];
    node.dilation[i] = 1;
  }
}

void describe(Call& call, cudnnSoftmaxAlgorithm_t algo, cudnnSoftmaxMode_t mode, dnn::Node& node) {
  call.require(algo >= CUDNN_SOFTMAX_FAST && algo <= CUDNN_SOFTMAX_LOG, "algo");
  call.require(mode == CUDNN_SOFTMAX_MODE_INSTANCE || mode == CUDNN_SOFTMAX_MODE_CHANNEL, "mode");
  node.mode = static_cast<std::uint16_t>(algo);
  if (mode == CUDNN_SOFTMAX_MODE_CHANNEL) node.flags |= dnn::kOverChannels;
}

void describe(Call& call, const ResponseNorm& norm, cudnnLRNMode_t mode, dnn::Node& node) {
  call.require(mode == CUDNN_LRN_CROSS_CHANNEL_DIM1, "lrnMode");
  node.numbers[dnn::kWindow] = norm.window;
  node.numbers[dnn::kAlpha] = norm.alpha;
  node.numbers[dnn::kBeta] = norm.beta;
  node.numbers[dnn::kK] = norm.k;
}

}  // namespace

namespace impl {

cudnnStatus_t cudnnPoolingForward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t poolingDesc, const void* alpha,
                                  const cudnnTensorDescriptor_t xDesc, const void* x, const void* beta,
                                  const cudnnTensorDescriptor_t yDesc, void* y) {
  return guarded([&] {
    Call call(handle, "cudnnPoolingForward");
    const Tensor& image = call.get<Tensor>(xDesc);
    dnn::Node& node = call.node(dnn::Operation::poolForward, computeOf(image.type), {call.memory(image, x)},
                                {call.memory(call.get<Tensor>(yDesc), y)});
    describe(call, call.get<Pooling>(poolingDesc), node);
    node.alpha = call.factor(alpha, image.type);
    node.beta = call.factor(beta, image.type);
    return call.submit();
  });
}

cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t handle, const cudnnPoolingDescriptor_t poolingDesc, const void* alpha,
                                   const cudnnTensorDescriptor_t yDesc, const void* y, const cudnnTensorDescriptor_t dyDesc,
                                   const void* dy, const cudnnTensorDescriptor_t xDesc, const void* x, const void* beta,
                                   const cudnnTensorDescriptor_t dxDesc, void* dx) {
  return guarded([&] {
    Call call(handle, "cudnnPoolingBackward");
    const Tensor& image = call.get<Tensor>(xDesc);
    const std::uint16_t in = call.memory(image, x), out = call.memory(call.get<Tensor>(yDesc), y),
                        gradient = call.memory(call.get<Tensor>(dyDesc), dy);
    dnn::Node& node = call.node(dnn::Operation::poolBackward, computeOf(image.type), {in, out, gradient},
                                {call.memory(call.get<Tensor>(dxDesc), dx)});
    describe(call, call.get<Pooling>(poolingDesc), node);
    node.alpha = call.factor(alpha, image.type);
    node.beta = call.factor(beta, image.type);
    return call.submit();
  });
}

cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algo, cudnnSoftmaxMode_t mode, const void* alpha,
                                  const cudnnTensorDescriptor_t xDesc, const void* x, const void* beta,
                                  const cudnnTensorDescriptor_t yDesc, void* y) {
  return guarded([&] {
    Call call(handle, "cudnnSoftmaxForward");
    const Tensor& image = call.get<Tensor>(xDesc);
    dnn::Node& node = call.node(dnn::Operation::softmaxForward, computeOf(image.type), {call.memory(image, x)},
                                {call.memory(call.get<Tensor>(yDesc), y)});
    describe(call, algo, mode, node);
    node.alpha = call.factor(alpha, image.type);
    node.beta = call.factor(beta, image.type);
    return call.submit();
  });
}

cudnnStatus_t cudnnSoftmaxBackward(cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algo, cudnnSoftmaxMode_t mode, const void* alpha,
                                   const cudnnTensorDescriptor_t yDesc, const void* y, const cudnnTensorDescriptor_t dyDesc,
                                   const void* dy, const void* beta, const cudnnTensorDescriptor_t dxDesc, void* dx) {
  return guarded([&] {
    Call call(handle, "cudnnSoftmaxBackward");
    const Tensor& result = call.get<Tensor>(yDesc);
    const std::uint16_t out = call.memory(result, y), gradient = call.memory(call.get<Tensor>(dyDesc), dy);
    dnn::Node& node = call.node(dnn::Operation::softmaxBackward, computeOf(result.type), {out, gradient},
                                {call.memory(call.get<Tensor>(dxDesc), dx)});
    describe(call, algo, mode, node);
    node.alpha = call.factor(alpha, result.type);
    node.beta = call.factor(beta, result.type);
    return call.submit();
  });
}

cudnnStatus_t cudnnLRNCrossChannelForward(cudnnHandle_t handle, cudnnLRNDescriptor_t normDesc, cudnnLRNMode_t lrnMode,
                                          const void* alpha, const cudnnTensorDescriptor_t xDesc, const void* x, const void* beta,
                                          const cudnnTensorDescriptor_t yDesc, void* y) {
  return guarded([&] {
    Call call(handle, "cudnnLRNCrossChannelForward");
    const Tensor& image = call.get<Tensor>(xDesc);
    dnn::Node& node = call.node(dnn::Operation::responseNormForward, computeOf(image.type), {call.memory(image, x)},
                                {call.memory(call.get<Tensor>(yDesc), y)});
    describe(call, call.get<ResponseNorm>(normDesc), lrnMode, node);
    node.alpha = call.factor(alpha, image.type);
    node.beta = call.factor(beta, image.type);
    return call.submit();
  });
}

cudnnStatus_t cudnnLRNCrossChannelBackward(cudnnHandle_t handle, cudnnLRNDescriptor_t normDesc, cudnnLRNMode_t lrnMode,
                                           const void* alpha, const cudnnTensorDescriptor_t yDesc, const void* y,
                                           const cudnnTensorDescriptor_t dyDesc, const void* dy,
                                           const cudnnTensorDescriptor_t xDesc, const void* x, const void* beta,
                                           const cudnnTensorDescriptor_t dxDesc, void* dx) {
  return guarded([&] {
    Call call(handle, "cudnnLRNCrossChannelBackward");
    const Tensor& image = call.get<Tensor>(xDesc);
    const std::uint16_t in = call.memory(image, x), out = call.memory(call.get<Tensor>(yDesc), y),
                        gradient = call.memory(call.get<Tensor>(dyDesc), dy);
    dnn::Node& node = call.node(dnn::Operation::responseNormBackward, computeOf(image.type), {in, out, gradient},
                                {call.memory(call.get<Tensor>(dxDesc), dx)});
    describe(call, call.get<ResponseNorm>(normDesc), lrnMode, node);
    node.alpha = call.factor(alpha, image.type);
    node.beta = call.factor(beta, image.type);
    return call.submit();
  });
}

}  // namespace impl
}  // namespace rouse::cudnn
