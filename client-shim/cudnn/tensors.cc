// cuDNN's descriptors of tensors, filters and transforms. All local.
#include <algorithm>
#include <limits>

#include "client-shim/cudnn/descriptors.h"
#include "client-shim/cudnn/implementations.h"

namespace rouse::cudnn {

std::size_t bytesOf(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_DOUBLE:
    case CUDNN_DATA_INT64:
    case CUDNN_DATA_COMPLEX_FP32:
      return 8;
    case CUDNN_DATA_FLOAT:
    case CUDNN_DATA_INT8x4:
    case CUDNN_DATA_UINT8x4:
    case CUDNN_DATA_INT32:
    case CUDNN_DATA_UINT32:
    case CUDNN_DATA_FAST_FLOAT_FOR_FP8:
      return 4;
    case CUDNN_DATA_HALF:
    case CUDNN_DATA_BFLOAT16:
      return 2;
    case CUDNN_DATA_INT8:
    case CUDNN_DATA_UINT8:
    case CUDNN_DATA_BOOLEAN:
    case CUDNN_DATA_BYTE_BOOLEAN:
    case CUDNN_DATA_FP8_E4M3:
    case CUDNN_DATA_FP8_E5M2:
    case CUDNN_DATA_FP8_E8M0:
    case CUDNN_DATA_FP8_E5M3:
      return 1;
    case CUDNN_DATA_INT8x32:
      return 32;
    case CUDNN_DATA_COMPLEX_FP64:
      return 16;
    default:
      return 0;
  }
}

bool valid(cudnnDataType_t type) { return type >= CUDNN_DATA_FLOAT && type <= CUDNN_DATA_FP8_E5M3; }

cudnnStatus_t check(const Tensor& tensor, const char* function) {
  if (!valid(tensor.type)) return fail(CUDNN_STATUS_BAD_PARAM, function);
  std::int64_t last = 0;
  for (int i = 0; i < tensor.rank; ++i) {
    if (tensor.dims[i] <= 0 || tensor.strides[i] <= 0) return fail(CUDNN_STATUS_BAD_PARAM, function);
    last += static_cast<std::int64_t>(tensor.dims[i] - 1) * tensor.strides[i];
    if (last >= std::numeric_limits<int>::max()) return refuse(function, "a tensor of more than 2^31 - 1 elements");
  }
  return CUDNN_STATUS_SUCCESS;
}

bool pack(cudnnTensorFormat_t format, int rank, const int* dims, int* strides) {
  std::int64_t stride = 1;
  const auto next = [&](int dim) {
    if (stride > std::numeric_limits<int>::max()) return false;
    strides[dim] = static_cast<int>(stride);
    stride *= dims[dim] > 0 ? dims[dim] : 1;
    return true;
  };
  if (format == CUDNN_TENSOR_NHWC) {
    if (!next(1)) return false;
    for (int i = rank - 1; i >= 2; --i)
      if (!next(i)) return false;
    return next(0);
  }
  for (int i = rank - 1; i >= 0; --i)
    if (!next(i)) return false;
  return true;
}

namespace {

// Sets all of a tensor, or nothing of it.
cudnnStatus_t set(cudnnTensorDescriptor_t tensorDesc, const char* function, cudnnDataType_t type, int rank, const int* dims,
                  const int* strides, cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW) {
  return with<Tensor>(tensorDesc, function, [&](Tensor& tensor) {
    if (dims == nullptr) return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, function);
    if (rank < 3 || rank > CUDNN_DIM_MAX) return refuse(function, "a tensor of less than 3 or more than 8 dimensions");
    Tensor made;
    made.kind = Tensor::kKind;
    made.type = type;
    made.rank = rank;
    std::copy_n(dims, rank, made.dims);
    if (strides != nullptr) {
      std::copy_n(strides, rank, made.strides);
    } else {
      if (format == CUDNN_TENSOR_NCHW_VECT_C) return refuse(function, "channels in vectors (CUDNN_TENSOR_NCHW_VECT_C)");
      if (format != CUDNN_TENSOR_NCHW && format != CUDNN_TENSOR_NHWC) return fail(CUDNN_STATUS_BAD_PARAM, function);
      if (!pack(format, rank, made.dims, made.strides)) return refuse(function, "a tensor of more than 2^31 - 1 elements");
    }
    if (const cudnnStatus_t status = check(made, function); status != CUDNN_STATUS_SUCCESS) return status;
    tensor = made;
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t set(cudnnFilterDescriptor_t filterDesc, const char* function, cudnnDataType_t type, cudnnTensorFormat_t format,
                  int rank, const int* dims) {
  return with<Filter>(filterDesc, function, [&](Filter& filter) {
    if (dims == nullptr) return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, function);
    if (rank < 3 || rank > CUDNN_DIM_MAX) return refuse(function, "a filter of less than 3 or more than 8 dimensions");
    if (format == CUDNN_TENSOR_NCHW_VECT_C) return refuse(function, "channels in vectors (CUDNN_TENSOR_NCHW_VECT_C)");
    if (!valid(type) || (format != CUDNN_TENSOR_NCHW && format != CUDNN_TENSOR_NHWC)) return fail(CUDNN_STATUS_BAD_PARAM, function);
    std::int64_t elements = 1;
    for (int i = 0; i < rank; ++i) {
      if (dims[i] <= 0) return fail(CUDNN_STATUS_BAD_PARAM, function);
      elements *= dims[i];
      if (elements > std::numeric_limits<int>::max()) return refuse(function, "a filter of more than 2^31 - 1 elements");
    }
    filter.type = type;
    filter.format = format;
    filter.rank = rank;
    std::copy_n(dims, rank, filter.dims);
    return CUDNN_STATUS_SUCCESS;
  });
}

// `derived`: 1 x C x 1 x ..., or one image's shape, in the type that statistics are kept in.
cudnnStatus_t derive(cudnnTensorDescriptor_t derived, cudnnTensorDescriptor_t xDesc, bool channels, const char* function) {
  const Tensor* x = find<Tensor>(xDesc);
  Tensor* made = find<Tensor>(derived);
  if (x == nullptr || made == nullptr || x->rank == 0) return fail(CUDNN_STATUS_BAD_PARAM, function);
  Tensor result;
  result.kind = Tensor::kKind;
  result.type = x->type == CUDNN_DATA_DOUBLE ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
  result.rank = x->rank;
  for (int i = 0; i < x->rank; ++i) result.dims[i] = i == 0 || (channels && i > 1) ? 1 : x->dims[i];
  pack(CUDNN_TENSOR_NCHW, result.rank, result.dims, result.strides);
  *made = result;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

namespace impl {

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* tensorDesc) {
  return create<Tensor>(tensorDesc, "cudnnCreateTensorDescriptor");
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t tensorDesc) {
  return destroy<Tensor>(tensorDesc, "cudnnDestroyTensorDescriptor");
}

cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensorDesc, cudnnTensorFormat_t format, cudnnDataType_t dataType,
                                         int n, int c, int h, int w) {
  const int dims[] = {n, c, h, w};
  return set(tensorDesc, "cudnnSetTensor4dDescriptor", dataType, 4, dims, nullptr, format);
}

cudnnStatus_t cudnnSetTensor4dDescriptorEx(cudnnTensorDescriptor_t tensorDesc, cudnnDataType_t dataType, int n, int c, int h,
                                           int w, int nStride, int cStride, int hStride, int wStride) {
  const int dims[] = {n, c, h, w}, strides[] = {nStride, cStride, hStride, wStride};
  return set(tensorDesc, "cudnnSetTensor4dDescriptorEx", dataType, 4, dims, strides);
}

cudnnStatus_t cudnnGetTensor4dDescriptor(const cudnnTensorDescriptor_t tensorDesc, cudnnDataType_t* dataType, int* n, int* c,
                                         int* h, int* w, int* nStride, int* cStride, int* hStride, int* wStride) {
  return with<Tensor>(tensorDesc, "cudnnGetTensor4dDescriptor", [&](const Tensor& tensor) {
    if (tensor.rank > 4) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetTensor4dDescriptor: the tensor has more than 4 dimensions");
    tell(dataType, tensor.type);
    int *dims[] = {n, c, h, w}, *strides[] = {nStride, cStride, hStride, wStride};
    for (int i = 0; i < 4; ++i) {
      tell(dims[i], i < tensor.rank ? tensor.dims[i] : 1);
      tell(strides[i], i < tensor.rank ? tensor.strides[i] : 1);
    }
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t tensorDesc, cudnnDataType_t dataType, int nbDims, const int dimA[],
                                         const int strideA[]) {
  if (strideA == nullptr) return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnSetTensorNdDescriptor: strideA is null");
  return set(tensorDesc, "cudnnSetTensorNdDescriptor", dataType, nbDims, dimA, strideA);
}

cudnnStatus_t cudnnSetTensorNdDescriptorEx(cudnnTensorDescriptor_t tensorDesc, cudnnTensorFormat_t format,
                                           cudnnDataType_t dataType, int nbDims, const int dimA[]) {
  return set(tensorDesc, "cudnnSetTensorNdDescriptorEx", dataType, nbDims, dimA, nullptr, format);
}

cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t tensorDesc, int nbDimsRequested, cudnnDataType_t* dataType,
                                         int* nbDims, int dimA[], int strideA[]) {
  return with<Tensor>(tensorDesc, "cudnnGetTensorNdDescriptor", [&](const Tensor& tensor) {
    if (nbDimsRequested < 0 || nbDimsRequested > CUDNN_DIM_MAX)
      return fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetTensorNdDescriptor: nbDimsRequested");
    tell(dataType, tensor.type);
    tell(nbDims, tensor.rank);
    const int count = std::min(nbDimsRequested, tensor.rank);
    if (dimA != nullptr) std::copy_n(tensor.dims, count, dimA);
    if (strideA != nullptr) std::copy_n(tensor.strides, count, strideA);
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnGetTensorSizeInBytes(const cudnnTensorDescriptor_t tensorDesc, size_t* size) {
  return with<Tensor>(tensorDesc, "cudnnGetTensorSizeInBytes", [&](const Tensor& tensor) {
    if (size == nullptr) return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnGetTensorSizeInBytes: size is null");
    std::size_t elements = tensor.rank == 0 ? 0 : 1;
    for (int i = 0; i < tensor.rank; ++i)
      elements += static_cast<std::size_t>(tensor.dims[i] - 1) * static_cast<std::size_t>(tensor.strides[i]);
    *size = elements * bytesOf(tensor.type);
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* filterDesc) {
  return create<Filter>(filterDesc, "cudnnCreateFilterDescriptor");
}
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t filterDesc) {
  return destroy<Filter>(filterDesc, "cudnnDestroyFilterDescriptor");
}

cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t filterDesc, cudnnDataType_t dataType, cudnnTensorFormat_t format,
                                         int k, int c, int h, int w) {
  const int dims[] = {k, c, h, w};
  return set(filterDesc, "cudnnSetFilter4dDescriptor", dataType, format, 4, dims);
}

cudnnStatus_t cudnnGetFilter4dDescriptor(const cudnnFilterDescriptor_t filterDesc, cudnnDataType_t* dataType,
                                         cudnnTensorFormat_t* format, int* k, int* c, int* h, int* w) {
  return with<Filter>(filterDesc, "cudnnGetFilter4dDescriptor", [&](const Filter& filter) {
    if (filter.rank > 4) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetFilter4dDescriptor: the filter has more than 4 dimensions");
    tell(dataType, filter.type);
    tell(format, filter.format);
    int* dims[] = {k, c, h, w};
    for (int i = 0; i < 4; ++i) tell(dims[i], i < filter.rank ? filter.dims[i] : 1);
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t filterDesc, cudnnDataType_t dataType, cudnnTensorFormat_t format,
                                         int nbDims, const int filterDimA[]) {
  return set(filterDesc, "cudnnSetFilterNdDescriptor", dataType, format, nbDims, filterDimA);
}

cudnnStatus_t cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t filterDesc, int nbDimsRequested, cudnnDataType_t* dataType,
                                         cudnnTensorFormat_t* format, int* nbDims, int filterDimA[]) {
  return with<Filter>(filterDesc, "cudnnGetFilterNdDescriptor", [&](const Filter& filter) {
    if (nbDimsRequested < 0 || nbDimsRequested > CUDNN_DIM_MAX)
      return fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetFilterNdDescriptor: nbDimsRequested");
    tell(dataType, filter.type);
    tell(format, filter.format);
    tell(nbDims, filter.rank);
    if (filterDimA != nullptr) std::copy_n(filter.dims, std::min(nbDimsRequested, filter.rank), filterDimA);
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnGetFilterSizeInBytes(const cudnnFilterDescriptor_t filterDesc, size_t* size) {
  return with<Filter>(filterDesc, "cudnnGetFilterSizeInBytes", [&](const Filter& filter) {
    if (size == nullptr) return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnGetFilterSizeInBytes: size is null");
    std::size_t elements = filter.rank == 0 ? 0 : 1;
    for (int i = 0; i < filter.rank; ++i) elements *= static_cast<std::size_t>(filter.dims[i]);
    *size = elements * bytesOf(filter.type);
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnCreateTensorTransformDescriptor(cudnnTensorTransformDescriptor_t* transformDesc) {
  return create<Transform>(transformDesc, "cudnnCreateTensorTransformDescriptor");
}
cudnnStatus_t cudnnDestroyTensorTransformDescriptor(cudnnTensorTransformDescriptor_t transformDesc) {
  return destroy<Transform>(transformDesc, "cudnnDestroyTensorTransformDescriptor");
}

cudnnStatus_t cudnnSetTensorTransformDescriptor(cudnnTensorTransformDescriptor_t transformDesc, const uint32_t nbDims,
                                                const cudnnTensorFormat_t destFormat, const int32_t padBeforeA[],
                                                const int32_t padAfterA[], const uint32_t foldA[],
                                                const cudnnFoldingDirection_t direction) {
  return with<Transform>(transformDesc, "cudnnSetTensorTransformDescriptor", [&](Transform& transform) {
    if (nbDims < 3 || nbDims > CUDNN_DIM_MAX || (direction != CUDNN_TRANSFORM_FOLD && direction != CUDNN_TRANSFORM_UNFOLD))
      return fail(CUDNN_STATUS_BAD_PARAM, "cudnnSetTensorTransformDescriptor: nbDims or direction");
    transform = Transform{};
    transform.kind = Transform::kKind;
    transform.rank = nbDims;
    transform.format = destFormat;
    transform.direction = direction;
    if (padBeforeA != nullptr) std::copy_n(padBeforeA, nbDims, transform.padBefore);
    if (padAfterA != nullptr) std::copy_n(padAfterA, nbDims, transform.padAfter);
    std::fill_n(transform.fold, nbDims - 2, 1u);
    if (foldA != nullptr) std::copy_n(foldA, nbDims - 2, transform.fold);  // of the spatial dimensions
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnGetTensorTransformDescriptor(cudnnTensorTransformDescriptor_t transformDesc, uint32_t nbDimsRequested,
                                                cudnnTensorFormat_t* destFormat, int32_t padBeforeA[], int32_t padAfterA[],
                                                uint32_t foldA[], cudnnFoldingDirection_t* direction) {
  return with<Transform>(transformDesc, "cudnnGetTensorTransformDescriptor", [&](const Transform& transform) {
    const std::uint32_t count = std::min(nbDimsRequested, transform.rank);
    tell(destFormat, transform.format);
    tell(direction, transform.direction);
    if (padBeforeA != nullptr) std::copy_n(transform.padBefore, count, padBeforeA);
    if (padAfterA != nullptr) std::copy_n(transform.padAfter, count, padAfterA);
    if (foldA != nullptr && transform.rank > 2) std::copy_n(transform.fold, std::min(count, transform.rank - 2), foldA);
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnDeriveBNTensorDescriptor(cudnnTensorDescriptor_t derivedBnDesc, const cudnnTensorDescriptor_t xDesc,
                                            cudnnBatchNormMode_t mode) {
  if (mode < CUDNN_BATCHNORM_PER_ACTIVATION || mode > CUDNN_BATCHNORM_SPATIAL_PERSISTENT)
    return fail(CUDNN_STATUS_BAD_PARAM, "cudnnDeriveBNTensorDescriptor: mode");
  return derive(derivedBnDesc, xDesc, mode != CUDNN_BATCHNORM_PER_ACTIVATION, "cudnnDeriveBNTensorDescriptor");
}

cudnnStatus_t cudnnDeriveNormTensorDescriptor(cudnnTensorDescriptor_t derivedNormScaleBiasDesc,
                                              cudnnTensorDescriptor_t derivedNormMeanVarDesc, const cudnnTensorDescriptor_t xDesc,
                                              cudnnNormMode_t mode, int groupCnt) {
  if ((mode != CUDNN_NORM_PER_ACTIVATION && mode != CUDNN_NORM_PER_CHANNEL) || groupCnt != 1)
    return fail(CUDNN_STATUS_BAD_PARAM, "cudnnDeriveNormTensorDescriptor: mode or groupCnt");
  const bool channels = mode == CUDNN_NORM_PER_CHANNEL;
  const cudnnStatus_t status = derive(derivedNormScaleBiasDesc, xDesc, channels, "cudnnDeriveNormTensorDescriptor");
  return status == CUDNN_STATUS_SUCCESS ? derive(derivedNormMeanVarDesc, xDesc, channels, "cudnnDeriveNormTensorDescriptor")
                                        : status;
}

}  // namespace impl
}  // namespace rouse::cudnn
