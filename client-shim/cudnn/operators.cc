// cuDNN's descriptors of operations on elements. All local.
#include <cmath>

#include "client-shim/cudnn/descriptors.h"
#include "client-shim/cudnn/implementations.h"

namespace rouse::cudnn {
namespace impl {

cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t* activationDesc) {
  return create<Activation>(activationDesc, "cudnnCreateActivationDescriptor");
}
cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t activationDesc) {
  return destroy<Activation>(activationDesc, "cudnnDestroyActivationDescriptor");
}
cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t activationDesc, cudnnActivationMode_t mode,
                                           cudnnNanPropagation_t reluNanOpt, double coef) {
  return with<Activation>(activationDesc, "cudnnSetActivationDescriptor", [&](Activation& activation) {
    if (mode < CUDNN_ACTIVATION_SIGMOID || mode > CUDNN_ACTIVATION_SWISH || !valid(reluNanOpt))
      return fail(CUDNN_STATUS_BAD_PARAM, "cudnnSetActivationDescriptor: mode or reluNanOpt");
    activation.mode = mode;
    activation.nan = reluNanOpt;
    activation.coefficient = coef;
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnGetActivationDescriptor(const cudnnActivationDescriptor_t activationDesc, cudnnActivationMode_t* mode,
                                           cudnnNanPropagation_t* reluNanOpt, double* coef) {
  return with<Activation>(activationDesc, "cudnnGetActivationDescriptor", [&](const Activation& activation) {
    tell(mode, activation.mode);
    tell(reluNanOpt, activation.nan);
    tell(coef, activation.coefficient);
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnSetActivationDescriptorSwishBeta(cudnnActivationDescriptor_t activationDesc, double swish_beta) {
  return with<Activation>(activationDesc, "cudnnSetActivationDescriptorSwishBeta", [&](Activation& activation) {
    activation.swishBeta = swish_beta;
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnGetActivationDescriptorSwishBeta(cudnnActivationDescriptor_t activationDesc, double* swish_beta) {
  return with<Activation>(activationDesc, "cudnnGetActivationDescriptorSwishBeta", [&](const Activation& activation) {
    tell(swish_beta, activation.swishBeta);
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnCreateOpTensorDescriptor(cudnnOpTensorDescriptor_t* opTensorDesc) {
  return create<OpTensor>(opTensorDesc, "cudnnCreateOpTensorDescriptor");
}
cudnnStatus_t cudnnDestroyOpTensorDescriptor(cudnnOpTensorDescriptor_t opTensorDesc) {
  return destroy<OpTensor>(opTensorDesc, "cudnnDestroyOpTensorDescriptor");
}
cudnnStatus_t cudnnSetOpTensorDescriptor(cudnnOpTensorDescriptor_t opTensorDesc, cudnnOpTensorOp_t opTensorOp,
                                         cudnnDataType_t opTensorCompType, cudnnNanPropagation_t opTensorNanOpt) {
  return with<OpTensor>(opTensorDesc, "cudnnSetOpTensorDescriptor", [&](OpTensor& op) {
    if (opTensorOp < CUDNN_OP_TENSOR_ADD || opTensorOp > CUDNN_OP_TENSOR_NOT || !rouse::cudnn::valid(opTensorCompType) ||
        !valid(opTensorNanOpt))
      return fail(CUDNN_STATUS_BAD_PARAM, "cudnnSetOpTensorDescriptor: an enumeration's value");
    op.operation = opTensorOp;
    op.compute = opTensorCompType;
    op.nan = opTensorNanOpt;
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnGetOpTensorDescriptor(const cudnnOpTensorDescriptor_t opTensorDesc, cudnnOpTensorOp_t* opTensorOp,
                                         cudnnDataType_t* opTensorCompType, cudnnNanPropagation_t* opTensorNanOpt) {
  return with<OpTensor>(opTensorDesc, "cudnnGetOpTensorDescriptor", [&](const OpTensor& op) {
    tell(opTensorOp, op.operation);
    tell(opTensorCompType, op.compute);
    tell(opTensorNanOpt, op.nan);
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnCreateReduceTensorDescriptor(cudnnReduceTensorDescriptor_t* reduceTensorDesc) {
  return create<ReduceTensor>(reduceTensorDesc, "cudnnCreateReduceTensorDescriptor");
}
cudnnStatus_t cudnnDestroyReduceTensorDescriptor(cudnnReduceTensorDescriptor_t reduceTensorDesc) {
  return destroy<ReduceTensor>(reduceTensorDesc, "cudnnDestroyReduceTensorDescriptor");
}
cudnnStatus_t cudnnSetReduceTensorDescriptor(cudnnReduceTensorDescriptor_t reduceTensorDesc, cudnnReduceTensorOp_t reduceTensorOp,
                                             cudnnDataType_t reduceTensorCompType, cudnnNanPropagation_t reduceTensorNanOpt,
                                             cudnnReduceTensorIndices_t reduceTensorIndices,
                                             cudnnIndicesType_t reduceTensorIndicesType) {
  return with<ReduceTensor>(reduceTensorDesc, "cudnnSetReduceTensorDescriptor", [&](ReduceTensor& reduce) {
    if (reduceTensorOp < CUDNN_REDUCE_TENSOR_ADD || reduceTensorOp > CUDNN_REDUCE_TENSOR_MUL_NO_ZEROS ||
        !rouse::cudnn::valid(reduceTensorCompType) || !valid(reduceTensorNanOpt) ||
        reduceTensorIndices < CUDNN_REDUCE_TENSOR_NO_INDICES || reduceTensorIndices > CUDNN_REDUCE_TENSOR_FLATTENED_INDICES ||
        reduceTensorIndicesType < CUDNN_32BIT_INDICES || reduceTensorIndicesType > CUDNN_8BIT_INDICES)
      return fail(CUDNN_STATUS_BAD_PARAM, "cudnnSetReduceTensorDescriptor: an enumeration's value");
    reduce.operation = reduceTensorOp;
    reduce.compute = reduceTensorCompType;
    reduce.nan = reduceTensorNanOpt;
    reduce.indices = reduceTensorIndices;
    reduce.indicesType = reduceTensorIndicesType;
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnGetReduceTensorDescriptor(const cudnnReduceTensorDescriptor_t reduceTensorDesc,
                                             cudnnReduceTensorOp_t* reduceTensorOp, cudnnDataType_t* reduceTensorCompType,
                                             cudnnNanPropagation_t* reduceTensorNanOpt,
                                             cudnnReduceTensorIndices_t* reduceTensorIndices,
                                             cudnnIndicesType_t* reduceTensorIndicesType) {
  return with<ReduceTensor>(reduceTensorDesc, "cudnnGetReduceTensorDescriptor", [&](const ReduceTensor& reduce) {
    tell(reduceTensorOp, reduce.operation);
    tell(reduceTensorCompType, reduce.compute);
    tell(reduceTensorNanOpt, reduce.nan);
    tell(reduceTensorIndices, reduce.indices);
    tell(reduceTensorIndicesType, reduce.indicesType);
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnCreateLRNDescriptor(cudnnLRNDescriptor_t* normDesc) {
  return create<ResponseNorm>(normDesc, "cudnnCreateLRNDescriptor");
}
cudnnStatus_t cudnnDestroyLRNDescriptor(cudnnLRNDescriptor_t lrnDesc) {
  return destroy<ResponseNorm>(lrnDesc, "cudnnDestroyLRNDescriptor");
}
cudnnStatus_t cudnnSetLRNDescriptor(cudnnLRNDescriptor_t normDesc, unsigned lrnN, double lrnAlpha, double lrnBeta, double lrnK) {
  return with<ResponseNorm>(normDesc, "cudnnSetLRNDescriptor", [&](ResponseNorm& norm) {
    if (lrnN < CUDNN_LRN_MIN_N || lrnN > CUDNN_LRN_MAX_N || !(lrnK >= CUDNN_LRN_MIN_K) || !(lrnBeta >= CUDNN_LRN_MIN_BETA) ||
        std::isnan(lrnAlpha))
      return fail(CUDNN_STATUS_BAD_PARAM, "cudnnSetLRNDescriptor: a number outside of cuDNN's limits");
    norm.window = lrnN;
    norm.alpha = lrnAlpha;
    norm.beta = lrnBeta;
    norm.k = lrnK;
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnGetLRNDescriptor(cudnnLRNDescriptor_t normDesc, unsigned* lrnN, double* lrnAlpha, double* lrnBeta,
                                    double* lrnK) {
  return with<ResponseNorm>(normDesc, "cudnnGetLRNDescriptor", [&](const ResponseNorm& norm) {
    tell(lrnN, norm.window);
    tell(lrnAlpha, norm.alpha);
    tell(lrnBeta, norm.beta);
    tell(lrnK, norm.k);
    return CUDNN_STATUS_SUCCESS;
  });
}

}  // namespace impl
}  // namespace rouse::cudnn
