// The classic API's descriptors: local state behind opaque numbers. Read and written without a lock, as cuDNN's own.
#pragma once

#include <cudnn.h>

#include <cstdint>

#include "client-shim/cudnn/errors.h"
#include "client-shim/library/host.h"
#include "client-shim/library/object_pool.h"

namespace rouse::cudnn {

enum class DescriptorKind : std::uint8_t {
  tensor,
  filter,
  transform,
  activation,
  opTensor,
  reduceTensor,
  responseNorm,
  pooling,
  convolution,
  dropout,
  recurrent,
  recurrentData
};

struct Descriptor {
  DescriptorKind kind{};
};

inline constexpr int kMaxSpatial = CUDNN_DIM_MAX - 2;

struct Tensor : Descriptor {
  static constexpr DescriptorKind kKind = DescriptorKind::tensor;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int rank = 0;  // 0: not set yet
  int dims[CUDNN_DIM_MAX] = {};
  int strides[CUDNN_DIM_MAX] = {};
};

struct Filter : Descriptor {
  static constexpr DescriptorKind kKind = DescriptorKind::filter;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  int rank = 0;
  int dims[CUDNN_DIM_MAX] = {};  // K, C, spatial
};

struct Transform : Descriptor {
  static constexpr DescriptorKind kKind = DescriptorKind::transform;
  std::uint32_t rank = 0;
  cudnnTensorFormat_t format = CUDNN_TENSOR_NCHW;
  std::int32_t padBefore[CUDNN_DIM_MAX] = {}, padAfter[CUDNN_DIM_MAX] = {};
  std::uint32_t fold[CUDNN_DIM_MAX] = {};
  cudnnFoldingDirection_t direction = CUDNN_TRANSFORM_FOLD;
};

struct Activation : Descriptor {
  static constexpr DescriptorKind kKind = DescriptorKind::activation;
  cudnnActivationMode_t mode = CUDNN_ACTIVATION_RELU;
  cudnnNanPropagation_t nan = CUDNN_NOT_PROPAGATE_NAN;
  double coefficient = 0, swishBeta = 1;
};

struct OpTensor : Descriptor {
  static constexpr DescriptorKind kKind = DescriptorKind::opTensor;
  cudnnOpTensorOp_t operation = CUDNN_OP_TENSOR_ADD;
  cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  cudnnNanPropagation_t nan = CUDNN_NOT_PROPAGATE_NAN;
};

struct ReduceTensor : Descriptor {
  static constexpr DescriptorKind kKind = DescriptorKind::reduceTensor;
  cudnnReduceTensorOp_t operation = CUDNN_REDUCE_TENSOR_ADD;
  cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  cudnnNanPropagation_t nan = CUDNN_NOT_PROPAGATE_NAN;
  cudnnReduceTensorIndices_t indices = CUDNN_REDUCE_TENSOR_NO_INDICES;
  cudnnIndicesType_t indicesType = CUDNN_32BIT_INDICES;
};

struct ResponseNorm : Descriptor {
  static constexpr DescriptorKind kKind = DescriptorKind::responseNorm;
  unsigned window = 5;
  double alpha = 1e-4, beta = 0.75, k = 2;  // cuDNN's defaults
};

struct Pooling : Descriptor {
  static constexpr DescriptorKind kKind = DescriptorKind::pooling;
  cudnnPoolingMode_t mode = CUDNN_POOLING_MAX;
  cudnnNanPropagation_t nan = CUDNN_NOT_PROPAGATE_NAN;
  int spatial = 0;
  int window[kMaxSpatial] = {}, pad[kMaxSpatial] = {}, stride[kMaxSpatial] = {};
};

struct Convolution : Descriptor {
  static constexpr DescriptorKind kKind = DescriptorKind::convolution;
  cudnnConvolutionMode_t mode = CUDNN_CONVOLUTION;
  cudnnDataType_t compute = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  cudnnReorderType_t reorder = CUDNN_DEFAULT_REORDER;
  int groups = 1;
  int spatial = 0;
  int pad[kMaxSpatial] = {}, stride[kMaxSpatial] = {}, dilation[kMaxSpatial] = {};
};

// Null: it is none, of another kind, or has been destroyed.
template <class Content, class Opaque>
Content* find(Opaque* opaque) {
  const client::LibraryHost* host = opaque != nullptr ? client::libraryHost() : nullptr;
  if (host == nullptr) return nullptr;
  auto* found = static_cast<Descriptor*>(
      host->findHandle(reinterpret_cast<std::uint64_t>(opaque), kindBit(client::HandleKind::dnnDescriptor)));
  return found != nullptr && found->kind == Content::kKind ? static_cast<Content*>(found) : nullptr;
}

template <class Content, class Opaque>
cudnnStatus_t create(Opaque** opaque, const char* function) {
  return guarded([&] {
    const client::LibraryHost* host = client::libraryHost();
    if (opaque == nullptr) return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, function);
    if (host == nullptr) return fail(CUDNN_STATUS_NOT_INITIALIZED, function);
    Content* made = library::ObjectPool<Content>::get().take();
    *made = Content{};
    made->kind = Content::kKind;
    const std::uint64_t number = host->makeHandle(client::HandleKind::dnnDescriptor, static_cast<Descriptor*>(made));
    if (number == 0) {
      library::ObjectPool<Content>::get().give(made);
      return fail(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED, function);
    }
    *opaque = reinterpret_cast<Opaque*>(number);
    return CUDNN_STATUS_SUCCESS;
  });
}

// Null is nothing to destroy.
template <class Content, class Opaque>
cudnnStatus_t destroy(Opaque* opaque, const char* function) {
  return guarded([&] {
    if (opaque == nullptr) return CUDNN_STATUS_SUCCESS;
    Content* found = find<Content>(opaque);
    if (found == nullptr ||
        client::libraryHost()->dropHandle(reinterpret_cast<std::uint64_t>(opaque), client::HandleKind::dnnDescriptor) == nullptr)
      return fail(CUDNN_STATUS_BAD_PARAM, function);
    library::ObjectPool<Content>::get().give(found);
    return CUDNN_STATUS_SUCCESS;
  });
}

// body(content), if there is one.
template <class Content, class Opaque, class Body>
cudnnStatus_t with(Opaque* opaque, const char* function, Body&& body) {
  Content* found = find<Content>(opaque);
  return found != nullptr ? body(*found) : fail(CUDNN_STATUS_BAD_PARAM, function);
}

// Where the program wants to know: null is allowed, and nothing is written.
template <class Value>
void tell(Value* to, Value value) {
  if (to != nullptr) *to = value;
}

// Bytes of an element; 0: no type, or one of parts of a byte.
std::size_t bytesOf(cudnnDataType_t type);
bool valid(cudnnDataType_t type);
inline bool valid(cudnnNanPropagation_t nan) { return nan == CUDNN_NOT_PROPAGATE_NAN || nan == CUDNN_PROPAGATE_NAN; }
// What cuDNN allows to be set: every dimension and stride above 0, and not more than 2^31 - 1 elements from the first to the last.
cudnnStatus_t check(const Tensor& tensor, const char* function);
// The strides of packed tensors.
bool pack(cudnnTensorFormat_t format, int rank, const int* dims, int* strides);

}  // namespace rouse::cudnn
