// cuDNN's descriptors of pools and convolutions, and the shapes that follow from them. All local.
#include <algorithm>
#include <limits>

#include "client-shim/cudnn/descriptors.h"
#include "client-shim/cudnn/implementations.h"

namespace rouse::cudnn {
namespace {

cudnnStatus_t set(cudnnPoolingDescriptor_t poolingDesc, const char* function, cudnnPoolingMode_t mode, cudnnNanPropagation_t nan,
                  int spatial, const int* window, const int* pad, const int* stride) {
  return with<Pooling>(poolingDesc, function, [&](Pooling& pooling) {
    if (window == nullptr || pad == nullptr || stride == nullptr) return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, function);
    if (mode < CUDNN_POOLING_MAX || mode > CUDNN_POOLING_MAX_DETERMINISTIC || !valid(nan) || spatial < 1)
      return fail(CUDNN_STATUS_BAD_PARAM, function);
    if (spatial > kMaxSpatial) return refuse(function, "more than 6 spatial dimensions");
    for (int i = 0; i < spatial; ++i)
      if (window[i] <= 0 || pad[i] < 0 || stride[i] <= 0) return fail(CUDNN_STATUS_BAD_PARAM, function);
    pooling.mode = mode;
    pooling.nan = nan;
    pooling.spatial = spatial;
    std::copy_n(window, spatial, pooling.window);
    std::copy_n(pad, spatial, pooling.pad);
    std::copy_n(stride, spatial, pooling.stride);
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t set(cudnnConvolutionDescriptor_t convDesc, const char* function, int spatial, const int* pad, const int* stride,
                  const int* dilation, cudnnConvolutionMode_t mode, cudnnDataType_t compute) {
  return with<Convolution>(convDesc, function, [&](Convolution& convolution) {
    if (pad == nullptr || stride == nullptr || dilation == nullptr) return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, function);
    if (spatial < 1 || (mode != CUDNN_CONVOLUTION && mode != CUDNN_CROSS_CORRELATION) || !rouse::cudnn::valid(compute))
      return fail(CUDNN_STATUS_BAD_PARAM, function);
    if (spatial > kMaxSpatial) return refuse(function, "more than 6 spatial dimensions");
    for (int i = 0; i < spatial; ++i)
      if (pad[i] < 0 || stride[i] <= 0 || dilation[i] <= 0) return fail(CUDNN_STATUS_BAD_PARAM, function);
    convolution.mode = mode;
    convolution.compute = compute;
    convolution.spatial = spatial;
    std::copy_n(pad, spatial, convolution.pad);
    std::copy_n(stride, spatial, convolution.stride);
    std::copy_n(dilation, spatial, convolution.dilation);
    return CUDNN_STATUS_SUCCESS;
  });
}

// "outputDim = 1 + (inputDim + 2*pad - windowDim) / stride". 0: the window is larger.
int outputOf(std::int64_t input, std::int64_t pad, std::int64_t window, std::int64_t stride) {
  const std::int64_t room = input + 2 * pad - window;
  return room < 0 ? 0 : static_cast<int>(std::min<std::int64_t>(1 + room / stride, std::numeric_limits<int>::max()));
}

cudnnStatus_t outputDims(cudnnPoolingDescriptor_t poolingDesc, cudnnTensorDescriptor_t inputDesc, int rank, int* dims,
                         const char* function) {
  const Pooling* pooling = find<Pooling>(poolingDesc);
  const Tensor* input = find<Tensor>(inputDesc);
  if (pooling == nullptr || input == nullptr || dims == nullptr || input->rank != pooling->spatial + 2 || rank != input->rank)
    return fail(CUDNN_STATUS_BAD_PARAM, function);
  dims[0] = input->dims[0];
  dims[1] = input->dims[1];
  for (int i = 0; i < pooling->spatial; ++i) {
    dims[i + 2] = outputOf(input->dims[i + 2], pooling->pad[i], pooling->window[i], pooling->stride[i]);
    if (dims[i + 2] <= 0) return fail(CUDNN_STATUS_BAD_PARAM, function);
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t outputDims(cudnnConvolutionDescriptor_t convDesc, cudnnTensorDescriptor_t inputDesc,
                         cudnnFilterDescriptor_t filterDesc, int rank, int* dims, const char* function) {
  const Convolution* convolution = find<Convolution>(convDesc);
  const Tensor* input = find<Tensor>(inputDesc);
  const Filter* filter = find<Filter>(filterDesc);
  if (convolution == nullptr || input == nullptr || filter == nullptr || dims == nullptr)
    return fail(CUDNN_STATUS_BAD_PARAM, function);
  if (input->rank != convolution->spatial + 2 || filter->rank != input->rank || rank != input->rank ||
      input->dims[1] != static_cast<std::int64_t>(filter->dims[1]) * convolution->groups)
    return fail(CUDNN_STATUS_BAD_PARAM, function);
  dims[0] = input->dims[0];
  dims[1] = filter->dims[0];
  for (int i = 0; i < convolution->spatial; ++i) {
    const std::int64_t window = static_cast<std::int64_t>(filter->dims[i + 2] - 1) * convolution->dilation[i] + 1;
    dims[i + 2] = outputOf(input->dims[i + 2], convolution->pad[i], window, convolution->stride[i]);
    if (dims[i + 2] <= 0) return fail(CUDNN_STATUS_BAD_PARAM, function);
  }
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

namespace impl {

cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* poolingDesc) {
  return create<Pooling>(poolingDesc, "cudnnCreatePoolingDescriptor");
}
cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t poolingDesc) {
  return destroy<Pooling>(poolingDesc, "cudnnDestroyPoolingDescriptor");
}
cudnnStatus_t cudnnSetPooling2dDescriptor(cudnnPoolingDescriptor_t poolingDesc, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t maxpoolingNanOpt, int windowHeight, int windowWidth,
                                          int verticalPadding, int horizontalPadding, int verticalStride, int horizontalStride) {
  const int window[] = {windowHeight, windowWidth}, pad[] = {verticalPadding, horizontalPadding},
            stride[] = {verticalStride, horizontalStride};
  return set(poolingDesc, "cudnnSetPooling2dDescriptor", mode, maxpoolingNanOpt, 2, window, pad, stride);
}
cudnnStatus_t cudnnGetPooling2dDescriptor(const cudnnPoolingDescriptor_t poolingDesc, cudnnPoolingMode_t* mode,
                                          cudnnNanPropagation_t* maxpoolingNanOpt, int* windowHeight, int* windowWidth,
                                          int* verticalPadding, int* horizontalPadding, int* verticalStride,
                                          int* horizontalStride) {
  return with<Pooling>(poolingDesc, "cudnnGetPooling2dDescriptor", [&](const Pooling& pooling) {
    if (pooling.spatial != 2) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetPooling2dDescriptor: it has not 2 spatial dimensions");
    tell(mode, pooling.mode);
    tell(maxpoolingNanOpt, pooling.nan);
    tell(windowHeight, pooling.window[0]);
    tell(windowWidth, pooling.window[1]);
    tell(verticalPadding, pooling.pad[0]);
    tell(horizontalPadding, pooling.pad[1]);
    tell(verticalStride, pooling.stride[0]);
    tell(horizontalStride, pooling.stride[1]);
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t poolingDesc, const cudnnPoolingMode_t mode,
                                          const cudnnNanPropagation_t maxpoolingNanOpt, int nbDims, const int windowDimA[],
                                          const int paddingA[], const int strideA[]) {
  return set(poolingDesc, "cudnnSetPoolingNdDescriptor", mode, maxpoolingNanOpt, nbDims, windowDimA, paddingA, strideA);
}
cudnnStatus_t cudnnGetPoolingNdDescriptor(const cudnnPoolingDescriptor_t poolingDesc, int nbDimsRequested,
                                          cudnnPoolingMode_t* mode, cudnnNanPropagation_t* maxpoolingNanOpt, int* nbDims,
                                          int windowDimA[], int paddingA[], int strideA[]) {
  return with<Pooling>(poolingDesc, "cudnnGetPoolingNdDescriptor", [&](const Pooling& pooling) {
    if (nbDimsRequested < 0 || nbDimsRequested > CUDNN_DIM_MAX)
      return fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetPoolingNdDescriptor: nbDimsRequested");
    tell(mode, pooling.mode);
    tell(maxpoolingNanOpt, pooling.nan);
    tell(nbDims, pooling.spatial);
    const int count = std::min(nbDimsRequested, pooling.spatial);
    if (windowDimA != nullptr) std::copy_n(pooling.window, count, windowDimA);
    if (paddingA != nullptr) std::copy_n(pooling.pad, count, paddingA);
    if (strideA != nullptr) std::copy_n(pooling.stride, count, strideA);
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnGetPoolingNdForwardOutputDim(const cudnnPoolingDescriptor_t poolingDesc,
                                                const cudnnTensorDescriptor_t inputTensorDesc, int nbDims,
                                                int outputTensorDimA[]) {
  return outputDims(poolingDesc, inputTensorDesc, nbDims, outputTensorDimA, "cudnnGetPoolingNdForwardOutputDim");
}
cudnnStatus_t cudnnGetPooling2dForwardOutputDim(const cudnnPoolingDescriptor_t poolingDesc,
                                                const cudnnTensorDescriptor_t inputTensorDesc, int* n, int* c, int* h, int* w) {
  int dims[CUDNN_DIM_MAX];
  const cudnnStatus_t status = outputDims(poolingDesc, inputTensorDesc, 4, dims, "cudnnGetPooling2dForwardOutputDim");
  if (status != CUDNN_STATUS_SUCCESS) return status;
  int* to[] = {n, c, h, w};
  for (int i = 0; i < 4; ++i) tell(to[i], dims[i]);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* convDesc) {
  return create<Convolution>(convDesc, "cudnnCreateConvolutionDescriptor");
}
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t convDesc) {
  return destroy<Convolution>(convDesc, "cudnnDestroyConvolutionDescriptor");
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t convDesc, cudnnMathType_t mathType) {
  return with<Convolution>(convDesc, "cudnnSetConvolutionMathType", [&](Convolution& convolution) {
    if (mathType < CUDNN_DEFAULT_MATH || mathType > CUDNN_FMA_MATH)
      return fail(CUDNN_STATUS_BAD_PARAM, "cudnnSetConvolutionMathType: mathType");
    convolution.math = mathType;
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnGetConvolutionMathType(cudnnConvolutionDescriptor_t convDesc, cudnnMathType_t* mathType) {
  return with<Convolution>(convDesc, "cudnnGetConvolutionMathType", [&](const Convolution& convolution) {
    tell(mathType, convolution.math);
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t convDesc, int groupCount) {
  return with<Convolution>(convDesc, "cudnnSetConvolutionGroupCount", [&](Convolution& convolution) {
    if (groupCount < 1) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnSetConvolutionGroupCount: groupCount");
    convolution.groups = groupCount;
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnGetConvolutionGroupCount(cudnnConvolutionDescriptor_t convDesc, int* groupCount) {
  return with<Convolution>(convDesc, "cudnnGetConvolutionGroupCount", [&](const Convolution& convolution) {
    tell(groupCount, convolution.groups);
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnSetConvolutionReorderType(cudnnConvolutionDescriptor_t convDesc, cudnnReorderType_t reorderType) {
  return with<Convolution>(convDesc, "cudnnSetConvolutionReorderType", [&](Convolution& convolution) {
    if (reorderType != CUDNN_DEFAULT_REORDER && reorderType != CUDNN_NO_REORDER)
      return fail(CUDNN_STATUS_BAD_PARAM, "cudnnSetConvolutionReorderType: reorderType");
    convolution.reorder = reorderType;
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnGetConvolutionReorderType(cudnnConvolutionDescriptor_t convDesc, cudnnReorderType_t* reorderType) {
  return with<Convolution>(convDesc, "cudnnGetConvolutionReorderType", [&](const Convolution& convolution) {
    tell(reorderType, convolution.reorder);
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t convDesc, int pad_h, int pad_w, int u, int v,
                                              int dilation_h, int dilation_w, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t computeType) {
  const int pad[] = {pad_h, pad_w}, stride[] = {u, v}, dilation[] = {dilation_h, dilation_w};
  return set(convDesc, "cudnnSetConvolution2dDescriptor", 2, pad, stride, dilation, mode, computeType);
}
cudnnStatus_t cudnnGetConvolution2dDescriptor(const cudnnConvolutionDescriptor_t convDesc, int* pad_h, int* pad_w, int* u, int* v,
                                              int* dilation_h, int* dilation_w, cudnnConvolutionMode_t* mode,
                                              cudnnDataType_t* computeType) {
  return with<Convolution>(convDesc, "cudnnGetConvolution2dDescriptor", [&](const Convolution& convolution) {
    if (convolution.spatial != 2)
      return fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetConvolution2dDescriptor: it has not 2 spatial dimensions");
    tell(pad_h, convolution.pad[0]);
    tell(pad_w, convolution.pad[1]);
    tell(u, convolution.stride[0]);
    tell(v, convolution.stride[1]);
    tell(dilation_h, convolution.dilation[0]);
    tell(dilation_w, convolution.dilation[1]);
    tell(mode, convolution.mode);
    tell(computeType, convolution.compute);
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t convDesc, int arrayLength, const int padA[],
                                              const int filterStrideA[], const int dilationA[], cudnnConvolutionMode_t mode,
                                              cudnnDataType_t computeType) {
  return set(convDesc, "cudnnSetConvolutionNdDescriptor", arrayLength, padA, filterStrideA, dilationA, mode, computeType);
}
cudnnStatus_t cudnnGetConvolutionNdDescriptor(const cudnnConvolutionDescriptor_t convDesc, int arrayLengthRequested,
                                              int* arrayLength, int padA[], int strideA[], int dilationA[],
                                              cudnnConvolutionMode_t* mode, cudnnDataType_t* computeType) {
  return with<Convolution>(convDesc, "cudnnGetConvolutionNdDescriptor", [&](const Convolution& convolution) {
    if (arrayLengthRequested < 0 || arrayLengthRequested > CUDNN_DIM_MAX)
      return fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetConvolutionNdDescriptor: arrayLengthRequested");
    tell(arrayLength, convolution.spatial);
    tell(mode, convolution.mode);
    tell(computeType, convolution.compute);
    const int count = std::min(arrayLengthRequested, convolution.spatial);
    if (padA != nullptr) std::copy_n(convolution.pad, count, padA);
    if (strideA != nullptr) std::copy_n(convolution.stride, count, strideA);
    if (dilationA != nullptr) std::copy_n(convolution.dilation, count, dilationA);
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnGetConvolution2dForwardOutputDim(const cudnnConvolutionDescriptor_t convDesc,
                                                    const cudnnTensorDescriptor_t inputTensorDesc,
                                                    const cudnnFilterDescriptor_t filterDesc, int* n, int* c, int* h, int* w) {
  int dims[CUDNN_DIM_MAX];
  const cudnnStatus_t status = outputDims(convDesc, inputTensorDesc, filterDesc, 4, dims, "cudnnGetConvolution2dForwardOutputDim");
  if (status != CUDNN_STATUS_SUCCESS) return status;
  int* to[] = {n, c, h, w};
  for (int i = 0; i < 4; ++i) tell(to[i], dims[i]);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetConvolutionNdForwardOutputDim(const cudnnConvolutionDescriptor_t convDesc,
                                                    const cudnnTensorDescriptor_t inputTensorDesc,
                                                    const cudnnFilterDescriptor_t filterDesc, int nbDims, int tensorOuputDimA[]) {
  return outputDims(convDesc, inputTensorDesc, filterDesc, nbDims, tensorOuputDimA, "cudnnGetConvolutionNdForwardOutputDim");
}

}  // namespace impl
}  // namespace rouse::cudnn
