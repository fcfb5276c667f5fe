// Dropout's descriptors, for recurrent networks: random numbers are the executor's library's, and their state lies in the program's memory.
#include "client-shim/cudnn/graph.h"
#include "client-shim/cudnn/implementations.h"
#include "client-shim/cudnn/recurrent.h"

namespace rouse::cudnn {
namespace {

// What both ways of setting one check. cuDNN takes no states where nothing is dropped.
cudnnStatus_t setDropout(Dropout& descriptor, float probability, void* states, std::size_t bytes, unsigned long long seed, const char* function) {
  if (!(probability >= 0 && probability <= 1)) return fail(CUDNN_STATUS_BAD_PARAM, function);
  descriptor.probability = probability;
  descriptor.states = states;
  descriptor.statesBytes = states != nullptr ? bytes : 0;
  descriptor.seed = seed;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

namespace impl {

cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t* dropoutDesc) {
  return create<Dropout>(dropoutDesc, "cudnnCreateDropoutDescriptor");
}
cudnnStatus_t cudnnDestroyDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc) {
  return destroy<Dropout>(dropoutDesc, "cudnnDestroyDropoutDescriptor");
}

cudnnStatus_t cudnnDropoutGetStatesSize(cudnnHandle_t handle, size_t* sizeInBytes) {
  return guarded([&] {
    constexpr const char* kName = "cudnnDropoutGetStatesSize";
    Handle* object = findHandle(handle);
    if (object == nullptr) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnDropoutGetStatesSize: not a handle");
    if (sizeInBytes == nullptr) return fail(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, kName);
    dnn::Recurrent question;
    question.pass = dnn::Pass::stateSize;
    Answer answer;
    const cudnnStatus_t status = ask(*object, question, kName, answer);
    if (status == CUDNN_STATUS_SUCCESS) *sizeInBytes = answer.head.bytes;
    return status;
  });
}

// With states, they are written, in the handle's stream.
cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc, cudnnHandle_t handle, float dropout, void* states, size_t stateSizeInBytes,
                                        unsigned long long seed) {
  return guarded([&] {
    constexpr const char* kName = "cudnnSetDropoutDescriptor";
    const Handle* object = findHandle(handle);
    if (object == nullptr) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnSetDropoutDescriptor: not a handle");
    return with<Dropout>(dropoutDesc, kName, [&](Dropout& descriptor) {
      if (const cudnnStatus_t status = setDropout(descriptor, dropout, states, stateSizeInBytes, seed, kName); status != CUDNN_STATUS_SUCCESS) return status;
      if (states == nullptr) return CUDNN_STATUS_SUCCESS;
      dnn::RecurrentCall call;
      call.what.pass = dnn::Pass::dropoutStates;
      call.what.dropout = dropout;
      call.what.states = reinterpret_cast<std::uint64_t>(states);
      call.what.statesBytes = stateSizeInBytes;
      call.what.seed = seed;
      if (const cudnnStatus_t status = toStatus(dnn::check(call), kName); status != CUDNN_STATUS_SUCCESS) return status;
      return toStatus(client::libraryHost()->submit(object->device, object->stream, dnn::kLibrary, dnn::kRecurrentFunction, dnn::putTogether(call)));
    });
  });
}

cudnnStatus_t cudnnRestoreDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc, cudnnHandle_t handle, float dropout, void* states, size_t stateSizeInBytes,
                                            unsigned long long seed) {
  if (findHandle(handle) == nullptr) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnRestoreDropoutDescriptor: not a handle");
  return with<Dropout>(dropoutDesc, "cudnnRestoreDropoutDescriptor", [&](Dropout& descriptor) {
    return setDropout(descriptor, dropout, states, stateSizeInBytes, seed, "cudnnRestoreDropoutDescriptor");
  });
}

cudnnStatus_t cudnnGetDropoutDescriptor(cudnnDropoutDescriptor_t dropoutDesc, cudnnHandle_t handle, float* dropout, void** states, unsigned long long* seed) {
  if (findHandle(handle) == nullptr) return fail(CUDNN_STATUS_BAD_PARAM, "cudnnGetDropoutDescriptor: not a handle");
  return with<Dropout>(dropoutDesc, "cudnnGetDropoutDescriptor", [&](const Dropout& descriptor) {
    tell(dropout, descriptor.probability);
    tell(states, descriptor.states);
    tell(seed, descriptor.seed);
    return CUDNN_STATUS_SUCCESS;
  });
}

}  // namespace impl
}  // namespace rouse::cudnn
