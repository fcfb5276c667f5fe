// cuDNN's operations on elements, and reductions.
#include "client-shim/cudnn/graph.h"
#include "client-shim/cudnn/implementations.h"

namespace rouse::cudnn::impl {

cudnnStatus_t cudnnActivationForward(cudnnHandle_t handle, cudnnActivationDescriptor_t activationDesc, const void* alpha,
                                     const cudnnTensorDescriptor_t xDesc, const void* x, const void* beta,
                                     const cudnnTensorDescriptor_t yDesc, void* y) {
  return guarded([&] {
    Call call(handle, "cudnnActivationForward");
    const Tensor &from = call.get<Tensor>(xDesc), &to = call.get<Tensor>(yDesc);
    call.activate(call.get<Activation>(activationDesc), computeOf(from.type), call.memory(from, x), call.memory(to, y),
                  call.factor(alpha, from.type), call.factor(beta, from.type));
    return call.submit();
  });
}

cudnnStatus_t cudnnActivationBackward(cudnnHandle_t handle, cudnnActivationDescriptor_t activationDesc, const void* alpha,
                                      const cudnnTensorDescriptor_t yDesc, const void* y, const cudnnTensorDescriptor_t dyDesc,
                                      const void* dy, const cudnnTensorDescriptor_t xDesc, const void* x, const void* beta,
                                      const cudnnTensorDescriptor_t dxDesc, void* dx) {
  return guarded([&] {
    Call call(handle, "cudnnActivationBackward");
    const Tensor &image = call.get<Tensor>(xDesc), &result = call.get<Tensor>(yDesc);
    const std::uint16_t in = call.memory(image, x), out = call.memory(result, y);
    call.differentiate(call.get<Activation>(activationDesc), computeOf(image.type), in, out,
                       call.memory(call.get<Tensor>(dyDesc), dy), call.memory(call.get<Tensor>(dxDesc), dx), image,
                       call.factor(alpha, image.type), call.factor(beta, image.type));
    return call.submit();
  });
}

// C = op(alpha1 * A, alpha2 * B) + beta * C
cudnnStatus_t cudnnOpTensor(cudnnHandle_t handle, const cudnnOpTensorDescriptor_t opTensorDesc, const void* alpha1,
                            const cudnnTensorDescriptor_t aDesc, const void* A, const void* alpha2,
                            const cudnnTensorDescriptor_t bDesc, const void* B, const void* beta,
                            const cudnnTensorDescriptor_t cDesc, void* C) {
  return guarded([&] {
    Call call(handle, "cudnnOpTensor");
    const OpTensor& op = call.get<OpTensor>(opTensorDesc);
    const Tensor &a = call.get<Tensor>(aDesc), &c = call.get<Tensor>(cDesc);
    dnn::Type compute{};
    if (!computeOf(op.compute, compute)) call.unsupported("the operation's compute type");
    const std::uint16_t first = call.memory(a, A), result = call.memory(c, C);
    const auto data = compute == dnn::Type::f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
    const double scaleA = call.factor(alpha1, data), was = call.factor(beta, data);
    dnn::Node* node = nullptr;
    switch (op.operation) {
      case CUDNN_OP_TENSOR_SQRT:
        node = &call.pointwise(CUDNN_POINTWISE_SQRT, compute, {first}, result);
        node->numbers[dnn::kScaleX] = scaleA;
        break;
      case CUDNN_OP_TENSOR_NOT:  // 1 - alpha1 * A
        node = &call.pointwise(CUDNN_POINTWISE_SUB, compute,
                               {call.scalar(a.rank, compute == dnn::Type::f64 ? compute : dnn::Type::f32, 1), first}, result);
        node->numbers[dnn::kScaleB] = scaleA;
        break;
      default: {
        const cudnnPointwiseMode_t mode = op.operation == CUDNN_OP_TENSOR_ADD   ? CUDNN_POINTWISE_ADD
                                          : op.operation == CUDNN_OP_TENSOR_MUL ? CUDNN_POINTWISE_MUL
                                          : op.operation == CUDNN_OP_TENSOR_MIN ? CUDNN_POINTWISE_MIN
                                                                                : CUDNN_POINTWISE_MAX;
        const double scaleB = call.factor(alpha2, data);
        const std::uint16_t second = call.memory(call.get<Tensor>(bDesc), B);
        node = &call.pointwise(mode, compute, {first, second}, result);
        node->numbers[dnn::kScaleX] = scaleA;
        node->numbers[dnn::kScaleB] = scaleB;
      }
    }
    for (int i = 0; i < c.rank; ++i) call.require(a.rank == c.rank && a.dims[i] == c.dims[i], "A's shape is not C's");
    if (op.nan == CUDNN_PROPAGATE_NAN) node->flags |= dnn::kPropagateNan;
    node->beta = was;
    return call.submit();
  });
}

// C = alpha * A + beta * C; where a dimension of A is 1, it is repeated.
cudnnStatus_t cudnnAddTensor(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t aDesc, const void* A,
                             const void* beta, const cudnnTensorDescriptor_t cDesc, void* C) {
  return guarded([&] {
    Call call(handle, "cudnnAddTensor");
    const Tensor& c = call.get<Tensor>(cDesc);
    dnn::Node& node =
        call.pointwise(CUDNN_POINTWISE_IDENTITY, computeOf(c.type), {call.memory(call.get<Tensor>(aDesc), A)}, call.memory(c, C));
    node.alpha = call.factor(alpha, c.type);
    node.beta = call.factor(beta, c.type);
    return call.submit();
  });
}

cudnnStatus_t cudnnScaleTensor(cudnnHandle_t handle, const cudnnTensorDescriptor_t yDesc, void* y, const void* alpha) {
  return guarded([&] {
    Call call(handle, "cudnnScaleTensor");
    const Tensor& tensor = call.get<Tensor>(yDesc);
    const std::uint16_t number = call.memory(tensor, y);
    call.pointwise(CUDNN_POINTWISE_IDENTITY, computeOf(tensor.type), {number}, number).alpha = call.factor(alpha, tensor.type);
    return call.submit();
  });
}

cudnnStatus_t cudnnSetTensor(cudnnHandle_t handle, const cudnnTensorDescriptor_t yDesc, void* y, const void* valuePtr) {
  return guarded([&] {
    Call call(handle, "cudnnSetTensor");
    const Tensor& tensor = call.get<Tensor>(yDesc);
    // "The data type of the element in value[0] has to match the data type of tensor y", and NVIDIA's library reads a float all the same where
    // that is half a float, as of factors.
    const bool half = tensor.type == CUDNN_DATA_HALF || tensor.type == CUDNN_DATA_BFLOAT16;
    call.pointwise(CUDNN_POINTWISE_IDENTITY, computeOf(tensor.type),
                   {call.scalar(tensor.rank, half ? CUDNN_DATA_FLOAT : tensor.type, valuePtr)}, call.memory(tensor, y));
    return call.submit();
  });
}

cudnnStatus_t cudnnTransformTensor(cudnnHandle_t handle, const void* alpha, const cudnnTensorDescriptor_t xDesc, const void* x,
                                   const void* beta, const cudnnTensorDescriptor_t yDesc, void* y) {
  return guarded([&] {
    Call call(handle, "cudnnTransformTensor");
    const Tensor &from = call.get<Tensor>(xDesc), &to = call.get<Tensor>(yDesc);
    dnn::Node& node = call.node(dnn::Operation::copy, computeOf(from.type), {call.memory(from, x)}, {call.memory(to, y)});
    node.alpha = call.factor(alpha, from.type);
    node.beta = call.factor(beta, from.type);
    return call.submit();
  });
}

cudnnStatus_t cudnnGetReductionIndicesSize(cudnnHandle_t handle, const cudnnReduceTensorDescriptor_t reduceTensorDesc,
                                           const cudnnTensorDescriptor_t aDesc, const cudnnTensorDescriptor_t cDesc,
                                           size_t* sizeInBytes) {
  const ReduceTensor* reduce = find<ReduceTensor>(reduceTensorDesc);
  if (findHandle(handle) == nullptr || reduce == nullptr || find<Tensor>(aDesc) == nullptr || find<Tensor>(cDesc) == nullptr ||
      sizeInBytes == nullptr)
    return fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetReductionIndicesSize");
  if (reduce->indices != CUDNN_REDUCE_TENSOR_NO_INDICES)
    return refuse("cudnnGetReductionIndicesSize", "the places of minima and maxima");
  *sizeInBytes = 0;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetReductionWorkspaceSize(cudnnHandle_t handle, const cudnnReduceTensorDescriptor_t reduceTensorDesc,
                                             const cudnnTensorDescriptor_t aDesc, const cudnnTensorDescriptor_t cDesc,
                                             size_t* sizeInBytes) {
  if (findHandle(handle) == nullptr || find<ReduceTensor>(reduceTensorDesc) == nullptr || find<Tensor>(aDesc) == nullptr ||
      find<Tensor>(cDesc) == nullptr || sizeInBytes == nullptr)
    return fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetReductionWorkspaceSize");
  *sizeInBytes = 0;
  return CUDNN_STATUS_SUCCESS;
}

// C = alpha * reduce(A) + beta * C
cudnnStatus_t cudnnReduceTensor(cudnnHandle_t handle, const cudnnReduceTensorDescriptor_t reduceTensorDesc, void*, size_t,
                                void* workspace, size_t workspaceSizeInBytes, const void* alpha,
                                const cudnnTensorDescriptor_t aDesc, const void* A, const void* beta,
                                const cudnnTensorDescriptor_t cDesc, void* C) {
  return guarded([&] {
    Call call(handle, "cudnnReduceTensor");
    const ReduceTensor& reduce = call.get<ReduceTensor>(reduceTensorDesc);
    const Tensor &a = call.get<Tensor>(aDesc), &c = call.get<Tensor>(cDesc);
    dnn::Type compute{};
    if (!computeOf(reduce.compute, compute)) call.unsupported("the reduction's compute type");
    if (reduce.indices != CUDNN_REDUCE_TENSOR_NO_INDICES) call.unsupported("the places of minima and maxima");
    dnn::Node& node = call.node(dnn::Operation::reduction, compute, {call.memory(a, A)}, {call.memory(c, C)});
    node.mode = static_cast<std::uint16_t>(reduce.operation);
    if (reduce.nan == CUDNN_PROPAGATE_NAN) node.flags |= dnn::kPropagateNan;
    node.alpha = call.factor(alpha, a.type);
    node.beta = call.factor(beta, a.type);
    call.workspace(workspace, workspaceSizeInBytes);
    return call.submit();
  });
}

}  // namespace rouse::cudnn::impl
