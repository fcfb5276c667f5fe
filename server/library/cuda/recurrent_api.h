// The functions that are used of NVIDIA's cuDNN 9 for recurrent networks, as they are found in it.
#pragma once

#include <cudnn.h>

namespace rouse::library::cuda {

#define ROUSE_RECURRENT_NAMES(name)    \
  name(cudnnGetErrorString)            \
  name(cudnnGetLastErrorString)        \
  name(cudnnCreateTensorDescriptor)    \
  name(cudnnSetTensorNdDescriptor)     \
  name(cudnnDestroyTensorDescriptor)   \
  name(cudnnCreateDropoutDescriptor)   \
  name(cudnnSetDropoutDescriptor)      \
  name(cudnnRestoreDropoutDescriptor)  \
  name(cudnnDestroyDropoutDescriptor)  \
  name(cudnnDropoutGetStatesSize)      \
  name(cudnnCreateRNNDescriptor)       \
  name(cudnnSetRNNDescriptor_v8)       \
  name(cudnnRNNSetClip_v8)             \
  name(cudnnRNNSetClip_v9)             \
  name(cudnnDestroyRNNDescriptor)      \
  name(cudnnCreateRNNDataDescriptor)   \
  name(cudnnSetRNNDataDescriptor)      \
  name(cudnnDestroyRNNDataDescriptor)  \
  name(cudnnGetRNNWeightSpaceSize)     \
  name(cudnnGetRNNWeightParams)        \
  name(cudnnGetRNNTempSpaceSizes)      \
  name(cudnnRNNForward)                \
  name(cudnnRNNBackwardData_v8)        \
  name(cudnnRNNBackwardWeights_v8)

struct RecurrentApi {
#define ROUSE_RECURRENT_MEMBER(name) decltype(&::name) name = nullptr;
  ROUSE_RECURRENT_NAMES(ROUSE_RECURRENT_MEMBER)
#undef ROUSE_RECURRENT_MEMBER
};

}  // namespace rouse::library::cuda
