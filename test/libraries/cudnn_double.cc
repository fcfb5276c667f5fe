// A libcudnn.so.9 that computes nothing: each function of the real one that is used writes down its name and its arguments, as 64-bit words;
// attributes with their first values. Its heuristics know four configurations: one that rounds to 16 bits, one that makes no plan, one of tensor
// cores that is not deterministic and needs 4096 bytes of workspace, unless it is told how many; the first and the last, which rounds nothing, need 64. What it says of
// recurrent networks is made up.
#include <cudnn.h>

#include <map>

#include "test/libraries/recorded.h"

using namespace rouse::recorded;

namespace {

// What a plan was made of, and which configurations have been told apart.
std::map<std::uint64_t, std::uint64_t>& configurationOf() {
  static std::map<std::uint64_t, std::uint64_t> plans;
  return plans;
}
enum Configuration { rounding, planless, large, exact };
std::map<std::uint64_t, Configuration>& kind() {
  static std::map<std::uint64_t, Configuration> configurations;
  return configurations;
}

std::int64_t& bytesOfLarge() {
  static std::int64_t bytes = 4096;
  return bytes;
}

template <class T>
cudnnStatus_t create(const char* name, T* made) {
  const std::uint64_t number = fresh();
  std::memcpy(made, &number, sizeof number);
  all().push_back({name, {number}});
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

#define ROUSE_RECORDED(function)                                                                       \
  static constexpr char kName_##function[] = #function;                                                \
  template <class... Arguments>                                                                        \
  static auto pick_##function(cudnnStatus_t (*)(Arguments...)) -> cudnnStatus_t (*)(Arguments...) {    \
    return &record<kName_##function, cudnnStatus_t, Arguments...>;                                                    \
  }                                                                                                    \
  extern "C" {                                                                                         \
  static decltype(&function) resolve_##function() { return pick_##function(static_cast<decltype(&function)>(nullptr)); } \
  __attribute__((visibility("default"), ifunc("resolve_" #function))) decltype(function) function;     \
  }

ROUSE_RECORDED(cudnnDestroy)
ROUSE_RECORDED(cudnnSetStream)
ROUSE_RECORDED(cudnnBackendDestroyDescriptor)
ROUSE_RECORDED(cudnnBackendExecute)
ROUSE_RECORDED(cudnnDestroyTensorDescriptor)
ROUSE_RECORDED(cudnnDestroyPoolingDescriptor)
ROUSE_RECORDED(cudnnDestroyLRNDescriptor)
ROUSE_RECORDED(cudnnPoolingForward)
ROUSE_RECORDED(cudnnPoolingBackward)
ROUSE_RECORDED(cudnnSoftmaxForward)
ROUSE_RECORDED(cudnnSoftmaxBackward)
ROUSE_RECORDED(cudnnSetLRNDescriptor)
ROUSE_RECORDED(cudnnLRNCrossChannelForward)
ROUSE_RECORDED(cudnnLRNCrossChannelBackward)
ROUSE_RECORDED(cudnnTransformTensor)
ROUSE_RECORDED(cudnnSetActivationDescriptor)
ROUSE_RECORDED(cudnnSetActivationDescriptorSwishBeta)
ROUSE_RECORDED(cudnnDestroyActivationDescriptor)
ROUSE_RECORDED(cudnnActivationForward)
ROUSE_RECORDED(cudnnActivationBackward)
ROUSE_RECORDED(cudnnSetOpTensorDescriptor)
ROUSE_RECORDED(cudnnDestroyOpTensorDescriptor)
ROUSE_RECORDED(cudnnOpTensor)
ROUSE_RECORDED(cudnnAddTensor)
ROUSE_RECORDED(cudnnScaleTensor)
ROUSE_RECORDED(cudnnSetReduceTensorDescriptor)
ROUSE_RECORDED(cudnnDestroyReduceTensorDescriptor)
ROUSE_RECORDED(cudnnReduceTensor)
ROUSE_RECORDED(cudnnBatchNormalizationForwardInference)
ROUSE_RECORDED(cudnnBatchNormalizationForwardTraining)
ROUSE_RECORDED(cudnnBatchNormalizationBackward)
ROUSE_RECORDED(cudnnSetDropoutDescriptor)
ROUSE_RECORDED(cudnnRestoreDropoutDescriptor)
ROUSE_RECORDED(cudnnDestroyDropoutDescriptor)
ROUSE_RECORDED(cudnnSetRNNDescriptor_v8)
ROUSE_RECORDED(cudnnRNNSetClip_v8)
ROUSE_RECORDED(cudnnRNNSetClip_v9)
ROUSE_RECORDED(cudnnDestroyRNNDescriptor)
ROUSE_RECORDED(cudnnDestroyRNNDataDescriptor)
ROUSE_RECORDED(cudnnRNNForward)
ROUSE_RECORDED(cudnnRNNBackwardData_v8)
ROUSE_RECORDED(cudnnRNNBackwardWeights_v8)

ROUSE_EXPORTED cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) { return create("cudnnCreate", handle); }
ROUSE_EXPORTED cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* made) { return create("cudnnCreateTensorDescriptor", made); }
ROUSE_EXPORTED cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* made) { return create("cudnnCreatePoolingDescriptor", made); }
ROUSE_EXPORTED cudnnStatus_t cudnnCreateLRNDescriptor(cudnnLRNDescriptor_t* made) { return create("cudnnCreateLRNDescriptor", made); }
ROUSE_EXPORTED cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t* made) { return create("cudnnCreateActivationDescriptor", made); }
ROUSE_EXPORTED cudnnStatus_t cudnnCreateOpTensorDescriptor(cudnnOpTensorDescriptor_t* made) { return create("cudnnCreateOpTensorDescriptor", made); }
ROUSE_EXPORTED cudnnStatus_t cudnnCreateReduceTensorDescriptor(cudnnReduceTensorDescriptor_t* made) { return create("cudnnCreateReduceTensorDescriptor", made); }
// Where the value is, the value: it is a float's here.
ROUSE_EXPORTED cudnnStatus_t cudnnSetTensor(cudnnHandle_t handle, const cudnnTensorDescriptor_t tensor, void* data, const void* value) {
  float number = 0;
  std::memcpy(&number, value, sizeof number);
  all().push_back({"cudnnSetTensor", {word(handle), word(tensor), word(data), word(number)}});
  return CUDNN_STATUS_SUCCESS;
}
ROUSE_EXPORTED cudnnStatus_t cudnnGetReductionWorkspaceSize(cudnnHandle_t, const cudnnReduceTensorDescriptor_t, const cudnnTensorDescriptor_t,
                                                            const cudnnTensorDescriptor_t, std::size_t* bytes) {
  all().push_back({"cudnnGetReductionWorkspaceSize", {}});
  *bytes = 48;
  return CUDNN_STATUS_SUCCESS;
}
ROUSE_EXPORTED const char* cudnnGetErrorString(cudnnStatus_t) { return "CUDNN_STATUS_OF_THE_DOUBLE"; }
ROUSE_EXPORTED std::size_t cudnnGetVersion() { return 91234; }
ROUSE_EXPORTED void cudnnGetLastErrorString(char* message, std::size_t bytes) { std::snprintf(message, bytes, "why the\ndouble refuses"); }

ROUSE_EXPORTED cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t descriptor, cudnnDataType_t type, int rank, const int* dims, const int* strides) {
  Call call{"cudnnSetTensorNdDescriptor", {word(descriptor), word(type)}};
  for (int i = 0; i < rank; ++i) call.arguments.push_back(word(dims[i]));
  for (int i = 0; i < rank; ++i) call.arguments.push_back(word(strides[i]));
  all().push_back(call);
  return CUDNN_STATUS_SUCCESS;
}

ROUSE_EXPORTED cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t descriptor, cudnnPoolingMode_t mode, cudnnNanPropagation_t nan, int rank,
                                                         const int* window, const int* pads, const int* strides) {
  Call call{"cudnnSetPoolingNdDescriptor", {word(descriptor), word(mode), word(nan)}};
  for (const int* values : {window, pads, strides}) {
    for (int i = 0; i < rank; ++i) call.arguments.push_back(word(values[i]));
  }
  all().push_back(call);
  return CUDNN_STATUS_SUCCESS;
}

ROUSE_EXPORTED cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* made) {
  create("cudnnBackendCreateDescriptor", made);
  all().back().arguments.push_back(word(type));
  return CUDNN_STATUS_SUCCESS;
}

// descriptor, attribute, type, count, and the values.
ROUSE_EXPORTED cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                                      std::int64_t count, const void* values) {
  Call call{"cudnnBackendSetAttribute", {word(descriptor), word(name), word(type), word(count)}};
  const bool wide = type == CUDNN_TYPE_HANDLE || type == CUDNN_TYPE_INT64 || type == CUDNN_TYPE_DOUBLE || type == CUDNN_TYPE_VOID_PTR || type == CUDNN_TYPE_BACKEND_DESCRIPTOR;
  const std::size_t bytes = wide ? 8 : type == CUDNN_TYPE_BOOLEAN ? 1 : 4;
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, static_cast<const char*>(values) + static_cast<std::size_t>(i) * bytes, bytes);
    call.arguments.push_back(value);
  }
  if (name == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG) configurationOf()[word(descriptor)] = call.arguments[4];
  all().push_back(call);
  return CUDNN_STATUS_SUCCESS;
}

ROUSE_EXPORTED cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  all().push_back({"cudnnBackendFinalize", {word(descriptor)}});
  const auto plan = configurationOf().find(word(descriptor));
  return plan != configurationOf().end() && kind()[plan->second] == planless ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_SUCCESS;
}

ROUSE_EXPORTED cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor, cudnnBackendAttributeName_t const name, cudnnBackendAttributeType_t const,
                                                      std::int64_t const requested, std::int64_t* found, void* values) {
  all().push_back({"cudnnBackendGetAttribute", {word(descriptor), word(name), word(requested)}});
  if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS) {
    *found = 4;
    for (const Configuration each : {rounding, planless, large, exact}) kind()[word(static_cast<cudnnBackendDescriptor_t*>(values)[each])] = each;
  } else if (name == CUDNN_ATTR_ENGINECFG_ENGINE) {
    *found = 1;
    kind()[word(*static_cast<cudnnBackendDescriptor_t*>(values))] = kind()[word(descriptor)];
  } else if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE) {
    const Configuration which = kind()[word(descriptor)];
    auto* notes = static_cast<cudnnBackendNumericalNote_t*>(values);
    *found = 0;
    if (which == rounding) notes[(*found)++] = CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS;
    if (which == large) notes[(*found)++] = CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
    if (which == large) notes[(*found)++] = CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
  } else {
    const std::int64_t bytes = kind()[configurationOf()[word(descriptor)]] == large ? bytesOfLarge() : 64;
    *found = 1;
    std::memcpy(values, &bytes, sizeof bytes);
  }
  return CUDNN_STATUS_SUCCESS;
}

ROUSE_EXPORTED cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t* made) { return create("cudnnCreateDropoutDescriptor", made); }
ROUSE_EXPORTED cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t* made) { return create("cudnnCreateRNNDescriptor", made); }
ROUSE_EXPORTED cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t* made) { return create("cudnnCreateRNNDataDescriptor", made); }
ROUSE_EXPORTED cudnnStatus_t cudnnDropoutGetStatesSize(cudnnHandle_t, std::size_t* bytes) {
  *bytes = 777;
  return CUDNN_STATUS_SUCCESS;
}
// ..., each sequence's length, and with what the ends are filled (0 without).
ROUSE_EXPORTED cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t descriptor, cudnnDataType_t type, cudnnRNNDataLayout_t layout, int steps, int batch, int vector,
                                                       const int* lengths, void* fill) {
  Call call{"cudnnSetRNNDataDescriptor", {word(descriptor), word(type), word(layout), word(steps), word(batch), word(vector)}};
  for (int i = 0; i < batch; ++i) call.arguments.push_back(word(lengths[i]));
  std::uint64_t filled = 0;
  if (fill != nullptr) std::memcpy(&filled, fill, sizeof(float));
  call.arguments.push_back(filled);
  all().push_back(call);
  return CUDNN_STATUS_SUCCESS;
}
ROUSE_EXPORTED cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t, cudnnRNNDescriptor_t, std::size_t* bytes) {
  *bytes = 123456;
  return CUDNN_STATUS_SUCCESS;
}
// A matrix 1000 bytes behind the one before, its vector 4 behind it; the second of each layer has none.
ROUSE_EXPORTED cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t, cudnnRNNDescriptor_t, std::int32_t layer, std::size_t, const void* weights, std::int32_t linear,
                                                     cudnnTensorDescriptor_t, void** matrix, cudnnTensorDescriptor_t, void** bias) {
  auto* at = static_cast<char*>(const_cast<void*>(weights)) + (layer * 10 + linear) * 1000;
  *matrix = at;
  *bias = linear == 1 ? nullptr : at + 4;
  return CUDNN_STATUS_SUCCESS;
}
ROUSE_EXPORTED cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t, cudnnRNNDescriptor_t, cudnnForwardMode_t, cudnnRNNDataDescriptor_t, std::size_t* workspace,
                                                       std::size_t* reserve) {
  *workspace = 4096;
  *reserve = 8192;
  return CUDNN_STATUS_SUCCESS;
}

ROUSE_EXPORTED void rouse_double_large(std::uint64_t bytes) { bytesOfLarge() = static_cast<std::int64_t>(bytes); }
ROUSE_TAKEN
