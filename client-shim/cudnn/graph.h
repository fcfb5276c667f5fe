// From a call to a command: a graph is put together of descriptors, checked as cuDNN checks, and queued.
#pragma once

#include <initializer_list>

#include "client-shim/cudnn/descriptors.h"
#include "client-shim/cudnn/handle.h"
#include "schemas/dnn/check.h"

namespace rouse::cudnn {

// One call of the classic API. `function`: its name, literal. What is wrong with a descriptor, a pointer or a scalar is kept, and is what
// submit() returns; until then everything can be used, whatever it was given.
class Call {
 public:
  Call(cudnnHandle_t handle, const char* function);

  // The descriptor, or one that stands for it once something is wrong.
  template <class Content, class Opaque>
  const Content& get(Opaque* opaque) {
    if (const Content* found = find<Content>(opaque)) return *found;
    static const Content none{};
    fault(CUDNN_STATUS_BAD_PARAM, "not a descriptor of the right kind");
    return none;
  }

  // Numbers of tensors, for a node's inputs and outputs.
  std::uint16_t memory(const Tensor& tensor, const void* address);
  std::uint16_t memory(const Filter& filter, const void* address);
  // kNoTensor for null.
  std::uint16_t optional(const Tensor& tensor, const void* address) {
    return address != nullptr ? memory(tensor, address) : dnn::kNoTensor;
  }
  // Of `like`'s shape, between two nodes; sums are not rounded to halves on their way.
  std::uint16_t passing(const Tensor& like);
  // One element, read now, in `type`.
  std::uint16_t scalar(int rank, cudnnDataType_t type, const void* value);
  std::uint16_t scalar(int rank, dnn::Type type, double value);

  // Sums are kept in `compute`. The reference holds until the next one is added.
  dnn::Node& node(dnn::Operation operation, dnn::Type compute, std::initializer_list<std::uint16_t> inputs,
                  std::initializer_list<std::uint16_t> outputs);
  // Scales are 1, clips none.
  dnn::Node& pointwise(cudnnPointwiseMode_t mode, dnn::Type compute, std::initializer_list<std::uint16_t> inputs,
                       std::uint16_t output);
  // y = the activation of x.
  void activate(const Activation& activation, dnn::Type compute, std::uint16_t x, std::uint16_t y, double alpha, double beta);
  // dx = the activation's derivative, times dy.
  void differentiate(const Activation& activation, dnn::Type compute, std::uint16_t x, std::uint16_t y, std::uint16_t dy,
                     std::uint16_t dx, const Tensor& like, double alpha, double beta);

  // alpha and beta are doubles with tensors of doubles, floats with all others.
  double factor(const void* from, cudnnDataType_t data);
  void workspace(void* address, std::size_t bytes);

  void fault(cudnnStatus_t status, const char* what);
  void unsupported(const char* what);
  // BAD_PARAM unless `holds`.
  void require(bool holds, const char* what) {
    if (!holds) fault(CUDNN_STATUS_BAD_PARAM, what);
  }

  // What cuDNN would say to the call, without queuing it.
  cudnnStatus_t verify();
  cudnnStatus_t submit();

 private:
  const char* function_;
  const Handle* handle_;
  dnn::Parts parts_;
  cudnnStatus_t status_ = CUDNN_STATUS_SUCCESS;
  const char* what_ = "";
  bool unsupported_ = false;
};

// What sums of such elements are kept in, where cuDNN does not let the program say it.
dnn::Type computeOf(cudnnDataType_t type);
// False: not served.
bool computeOf(cudnnDataType_t asked, dnn::Type& compute);
bool served(cudnnDataType_t type);

// The strides of a packed tensor, and how many elements one has, whose dimensions nobody has checked: what is beyond 64 bits is as large as
// can be, which dnn::check refuses.
void pack(dnn::Tensor& tensor);
std::int64_t countElements(const dnn::Tensor& tensor);
// A double with CUDNN_DATA_DOUBLE, a float with any other.
double readNumber(const void* from, cudnnDataType_t type);

// Queues what has been checked, and whose tensors in memory have addresses other than 0.
cudnnStatus_t submit(const Handle& handle, const dnn::Parts& parts, const char* function);
// The same as the node of a graph of CUDA's (client-shim/library/host.h, putInGraph). BAD_PARAM: it cannot have it.
cudnnStatus_t putInGraph(const Handle& handle, const dnn::Parts& parts, cudaGraph_t graph, bool update, const char* function);
// As cuDNN calls it; counted under `function` where it is not served.
cudnnStatus_t toStatus(const dnn::Check& check, const char* function);

}  // namespace rouse::cudnn
