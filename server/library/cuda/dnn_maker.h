// How operations of a graph become descriptors of cuDNN's backend API.
#pragma once

#include <cudnn.h>

#include <vector>

#include "server/library/cuda/dnn_calls.h"

namespace rouse::library::cuda {

// Descriptors are made one after the other; the first that is refused ends it.
class Maker {
 public:
  Maker(const DnnApi& api, BackendDescriptors& descriptors) : api_(api), descriptors_(descriptors) {}

  cudnnBackendDescriptor_t make(cudnnBackendDescriptorType_t type) {
    cudnnBackendDescriptor_t made = nullptr;
    tried(descriptors_.make(type, made));
    return made;
  }
  template <class T>
  void set(cudnnBackendDescriptor_t to, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T* values, std::int64_t count) {
    if (status == CUDNN_STATUS_SUCCESS) tried(api_.cudnnBackendSetAttribute(to, name, type, count, values));
  }
  template <class T>
  void set(cudnnBackendDescriptor_t to, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, T value) {
    set(to, name, type, &value, 1);
  }
  void setDescriptor(cudnnBackendDescriptor_t to, cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t value) {
    set(to, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, value);
  }
  // float or double, as the node is computed.
  void setScalar(cudnnBackendDescriptor_t to, cudnnBackendAttributeName_t name, const dnn::Node& node, double value) {
    if (node.compute == dnn::Type::f64) set(to, name, CUDNN_TYPE_DOUBLE, value);
    else set(to, name, CUDNN_TYPE_FLOAT, static_cast<float>(value));
  }
  void finish(cudnnBackendDescriptor_t descriptor) {
    if (status == CUDNN_STATUS_SUCCESS) tried(api_.cudnnBackendFinalize(descriptor));
  }
  void tried(cudnnStatus_t result) {
    if (status == CUDNN_STATUS_SUCCESS) status = result;
  }

  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;

 private:
  const DnnApi& api_;
  BackendDescriptors& descriptors_;
};

inline cudnnDataType_t typeOf(dnn::Type type) { return static_cast<cudnnDataType_t>(type); }

// An operation's tensors, made before it.
struct Tensors {
  const std::vector<cudnnBackendDescriptor_t>& all;
  const dnn::Node& node;
  cudnnBackendDescriptor_t in(int i) const { return all[node.inputs[i]]; }
  bool hasIn(int i) const { return node.inputs[i] != dnn::kNoTensor; }
  cudnnBackendDescriptor_t out(int i = 0) const { return all[node.outputs[i]]; }
  bool hasOut(int i) const { return node.outputs[i] != dnn::kNoTensor; }
};

// A number that an operation takes as a tensor by value, of one element.
struct NamedNumber {
  std::int64_t id;  // as of a tensor: of no other
  bool wide;        // double, else float
  double value;
};
// A norm's: epsilon, and what running statistics go on by. `place`: the node's in its graph.
std::vector<NamedNumber> numbersOf(const dnn::Node& node, std::size_t place);
// Of norms. In words what of it the backend API has not, or null.
const char* lacksNorm(const dnn::Node& node);
cudnnBackendDescriptor_t makeNorm(Maker& maker, const dnn::Node& node, std::size_t place, const Tensors& tensors);

}  // namespace rouse::library::cuda
