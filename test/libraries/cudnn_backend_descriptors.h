// The graph API's descriptors as a program makes them, for tests.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "test/libraries/cudnn_fixture.h"

namespace rouse::test::backend {

class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    REQUIRE(cudnnBackendCreateDescriptor(type, &desc_) == CUDNN_STATUS_SUCCESS);
  }
  Descriptor(Descriptor&& other) noexcept : desc_(std::exchange(other.desc_, nullptr)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() { CHECK(cudnnBackendDestroyDescriptor(desc_) == CUDNN_STATUS_SUCCESS); }
  operator cudnnBackendDescriptor_t() const { return desc_; }

  template <class T>
  cudnnStatus_t trySet(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::vector<T> values) {
    return cudnnBackendSetAttribute(desc_, name, type, static_cast<std::int64_t>(values.size()), values.data());
  }
  template <class T>
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::vector<T> values) {
    REQUIRE(trySet(name, type, std::move(values)) == CUDNN_STATUS_SUCCESS);
    return *this;
  }
  Descriptor& set(cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t value) {
    return set<cudnnBackendDescriptor_t>(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, {value});
  }
  Descriptor& wholes(cudnnBackendAttributeName_t name, std::vector<std::int64_t> values) {
    return set(name, CUDNN_TYPE_INT64, std::move(values));
  }
  cudnnStatus_t finalize() { return cudnnBackendFinalize(desc_); }
  Descriptor& done() {
    REQUIRE(finalize() == CUDNN_STATUS_SUCCESS);
    return *this;
  }
  template <class T>
  T get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) {
    T value{};
    std::int64_t count = 0;
    REQUIRE(cudnnBackendGetAttribute(desc_, name, type, 1, &count, &value) == CUDNN_STATUS_SUCCESS);
    REQUIRE(count == 1);
    return value;
  }
  std::int64_t count(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) {
    std::int64_t count = -1;
    REQUIRE(cudnnBackendGetAttribute(desc_, name, type, 0, &count, nullptr) == CUDNN_STATUS_SUCCESS);
    return count;
  }

 private:
  cudnnBackendDescriptor_t desc_ = nullptr;
};

enum class Where { memory, passing, value };

inline Descriptor tensor(std::int64_t uid, std::vector<std::int64_t> dims, Where where = Where::memory,
                  cudnnDataType_t type = CUDNN_DATA_FLOAT) {
  std::vector<std::int64_t> strides(dims.size(), 1);
  for (std::size_t i = dims.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * dims[i + 1];
  Descriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.wholes(CUDNN_ATTR_TENSOR_UNIQUE_ID, {uid})
      .wholes(CUDNN_ATTR_TENSOR_DIMENSIONS, dims)
      .wholes(CUDNN_ATTR_TENSOR_STRIDES, strides);
  made.wholes(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {16})
      .set<cudnnDataType_t>(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, {type});
  const char yes = 1;
  if (where != Where::memory)
    made.set<char>(where == Where::passing ? CUDNN_ATTR_TENSOR_IS_VIRTUAL : CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN,
                   {yes});
  made.done();
  return made;
}

inline Descriptor convolution(std::vector<std::int64_t> pads) {
  Descriptor made(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const std::vector<std::int64_t> ones(pads.size(), 1);
  made.set<cudnnDataType_t>(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, {CUDNN_DATA_FLOAT});
  made.set<cudnnConvolutionMode_t>(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, {CUDNN_CROSS_CORRELATION});
  made.wholes(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {static_cast<std::int64_t>(pads.size())});
  made.wholes(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, pads).wholes(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, pads);
  made.wholes(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, ones).wholes(CUDNN_ATTR_CONVOLUTION_DILATIONS, ones);
  made.done();
  return made;
}

inline Descriptor forward(cudnnBackendDescriptor_t desc, cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t w,
                   cudnnBackendDescriptor_t y) {
  Descriptor made(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  made.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, desc).set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x);
  made.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w).set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y);
  made.set<float>(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, {1.5f});
  made.set<double>(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_DOUBLE, {0});
  return made;
}

inline Descriptor pointwise(cudnnPointwiseMode_t mode) {
  Descriptor made(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  made.set<cudnnPointwiseMode_t>(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, {mode});
  made.set<cudnnDataType_t>(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, {CUDNN_DATA_FLOAT});
  made.done();
  return made;
}

inline Descriptor apply(cudnnBackendDescriptor_t desc, cudnnBackendDescriptor_t x, cudnnBackendDescriptor_t b,
                 cudnnBackendDescriptor_t y) {
  Descriptor made(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  made.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, desc)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  if (b != nullptr) made.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
  made.done();
  return made;
}

inline Descriptor graphOf(cudnnHandle_t handle, std::vector<cudnnBackendDescriptor_t> operations) {
  Descriptor made(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  made.set<cudnnHandle_t>(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, {handle});
  made.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, std::move(operations));
  return made;
}

// As programs get to a plan: the heuristics' first configuration.
inline Descriptor planOf(cudnnHandle_t handle, cudnnBackendDescriptor_t graph) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR), configuration(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR),
      plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set<cudnnBackendHeurMode_t>(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, {CUDNN_HEUR_MODE_INSTANT}).done();
  REQUIRE(heuristics.count(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR) >= 1);
  std::int64_t count = 0;
  cudnnBackendDescriptor_t filled = configuration;
  REQUIRE(cudnnBackendGetAttribute(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count,
                                   &filled) == CUDNN_STATUS_SUCCESS);
  plan.set<cudnnHandle_t>(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, {handle});
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration).done();
  return plan;
}

inline Descriptor packOf(std::vector<std::int64_t> uids, std::vector<const void*> pointers, void* workspace = nullptr) {
  Descriptor made(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  made.wholes(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, std::move(uids));
  made.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, std::move(pointers));
  made.set<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, {workspace});
  return made;
}

}  // namespace rouse::test::backend
