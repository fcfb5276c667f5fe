// The functions that are used of NVIDIA's cuDNN 9, as they are found in it.
#pragma once

#include <cudnn.h>

namespace rouse::library::cuda {

#define ROUSE_DNN_NAMES(name)              \
  name(cudnnCreate)                        \
  name(cudnnDestroy)                       \
  name(cudnnSetStream)                     \
  name(cudnnGetErrorString)                \
  name(cudnnGetLastErrorString)            \
  name(cudnnBackendCreateDescriptor)       \
  name(cudnnBackendDestroyDescriptor)      \
  name(cudnnBackendSetAttribute)           \
  name(cudnnBackendGetAttribute)           \
  name(cudnnBackendFinalize)               \
  name(cudnnBackendExecute)                \
  name(cudnnCreateTensorDescriptor)        \
  name(cudnnSetTensorNdDescriptor)         \
  name(cudnnDestroyTensorDescriptor)       \
  name(cudnnCreatePoolingDescriptor)       \
  name(cudnnSetPoolingNdDescriptor)        \
  name(cudnnDestroyPoolingDescriptor)      \
  name(cudnnCreateLRNDescriptor)           \
  name(cudnnSetLRNDescriptor)              \
  name(cudnnDestroyLRNDescriptor)          \
  name(cudnnPoolingForward)                \
  name(cudnnPoolingBackward)               \
  name(cudnnSoftmaxForward)                \
  name(cudnnSoftmaxBackward)               \
  name(cudnnLRNCrossChannelForward)        \
  name(cudnnLRNCrossChannelBackward)       \
  name(cudnnTransformTensor)               \
  name(cudnnCreateActivationDescriptor)    \
  name(cudnnSetActivationDescriptor)       \
  name(cudnnSetActivationDescriptorSwishBeta) \
  name(cudnnDestroyActivationDescriptor)   \
  name(cudnnActivationForward)             \
  name(cudnnActivationBackward)            \
  name(cudnnCreateOpTensorDescriptor)      \
  name(cudnnSetOpTensorDescriptor)         \
  name(cudnnDestroyOpTensorDescriptor)     \
  name(cudnnOpTensor)                      \
  name(cudnnAddTensor)                     \
  name(cudnnScaleTensor)                   \
  name(cudnnSetTensor)                     \
  name(cudnnCreateReduceTensorDescriptor)  \
  name(cudnnSetReduceTensorDescriptor)     \
  name(cudnnDestroyReduceTensorDescriptor) \
  name(cudnnGetReductionWorkspaceSize)     \
  name(cudnnReduceTensor)                  \
  name(cudnnBatchNormalizationForwardInference) \
  name(cudnnBatchNormalizationForwardTraining)  \
  name(cudnnBatchNormalizationBackward)

struct DnnApi {
#define ROUSE_DNN_MEMBER(name) decltype(&::name) name = nullptr;
  ROUSE_DNN_NAMES(ROUSE_DNN_MEMBER)
#undef ROUSE_DNN_MEMBER
};

}  // namespace rouse::library::cuda
