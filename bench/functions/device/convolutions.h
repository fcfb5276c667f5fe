// Tensors and layers as cuDNN's classic API has them, NCHW.
#pragma once

#include <cudnn.h>

#include <memory>

#include "bench/functions/device/memory.h"

namespace networks {

inline void check(cudnnStatus_t status, const char* what) {
  if (status != CUDNN_STATUS_SUCCESS) throw DeviceError(std::string(what) + ": " + cudnnGetErrorString(status));
}

class Dnn {
 public:
  explicit Dnn(const Context& context) {
    CHECK(cudnnCreate(&handle));
    CHECK(cudnnSetStream(handle, context.stream));
  }
  Dnn(const Dnn&) = delete;
  ~Dnn() { cudnnDestroy(handle); }
  cudnnHandle_t handle = nullptr;
};

// A descriptor that ends with the object.
template <class D, cudnnStatus_t (*create)(D*), cudnnStatus_t (*destroy)(D)>
class Descriptor {
 public:
  Descriptor() { CHECK(create(&descriptor_)); }
  Descriptor(Descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, nullptr)) {}
  ~Descriptor() {
    if (descriptor_ != nullptr) destroy(descriptor_);
  }
  operator D() const { return descriptor_; }

 private:
  D descriptor_ = nullptr;
};
using TensorDescriptor = Descriptor<cudnnTensorDescriptor_t, cudnnCreateTensorDescriptor, cudnnDestroyTensorDescriptor>;
using FilterDescriptor = Descriptor<cudnnFilterDescriptor_t, cudnnCreateFilterDescriptor, cudnnDestroyFilterDescriptor>;
using ConvolutionDescriptor = Descriptor<cudnnConvolutionDescriptor_t, cudnnCreateConvolutionDescriptor, cudnnDestroyConvolutionDescriptor>;
using ActivationDescriptor = Descriptor<cudnnActivationDescriptor_t, cudnnCreateActivationDescriptor, cudnnDestroyActivationDescriptor>;
using PoolingDescriptor = Descriptor<cudnnPoolingDescriptor_t, cudnnCreatePoolingDescriptor, cudnnDestroyPoolingDescriptor>;

template <class T>
constexpr cudnnDataType_t kDataType = std::is_same_v<T, float> ? CUDNN_DATA_FLOAT : CUDNN_DATA_HALF;

struct Extent {
  int channels, height, width;
  std::size_t count() const { return static_cast<std::size_t>(channels) * height * width; }
};

template <class T>
TensorDescriptor describe(Extent extent, cudnnDataType_t type = kDataType<T>) {
  TensorDescriptor descriptor;
  CHECK(cudnnSetTensor4dDescriptor(descriptor, CUDNN_TENSOR_NCHW, type, 1, extent.channels, extent.height, extent.width));
  return descriptor;
}

// A convolution of one image. What it needs to work in is everybody's: workspace() says how much, run() gets it.
template <class T>
class Convolution {
 public:
  Convolution(const Dnn& dnn, Extent in, int out, int side, int stride, int pad, const T* weights) : in_(in), x_(describe<T>(in)), weights_(weights) {
    CHECK(cudnnSetFilter4dDescriptor(filter_, kDataType<T>, CUDNN_TENSOR_NCHW, out, in.channels, side, side));
    CHECK(cudnnSetConvolution2dDescriptor(convolution_, pad, pad, stride, stride, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    int images = 0;
    CHECK(cudnnGetConvolution2dForwardOutputDim(convolution_, x_, filter_, &images, &out_.channels, &out_.height, &out_.width));
    y_ = std::make_unique<TensorDescriptor>(describe<T>(out_));
    cudnnConvolutionFwdAlgoPerf_t found;
    int count = 0;
    CHECK(cudnnGetConvolutionForwardAlgorithm_v7(dnn.handle, x_, filter_, convolution_, *y_, 1, &count, &found));
    if (count == 0) throw DeviceError("cudnnGetConvolutionForwardAlgorithm_v7: no algorithm");
    CHECK(found.status);
    algorithm_ = found.algo;
    CHECK(cudnnGetConvolutionForwardWorkspaceSize(dnn.handle, x_, filter_, convolution_, *y_, algorithm_, &workspace_));
  }
  Extent out() const { return out_; }
  std::size_t workspace() const { return workspace_; }
  cudnnTensorDescriptor_t outDescriptor() const { return *y_; }

  void run(const Dnn& dnn, const T* x, T* y, const Buffer<char>& workspace) const {
    const float one = 1, zero = 0;
    CHECK(cudnnConvolutionForward(dnn.handle, &one, x_, x, filter_, weights_, convolution_, algorithm_, static_cast<char*>(workspace), workspace_, &zero, *y_, y));
  }

 private:
  Extent in_, out_{};
  TensorDescriptor x_;
  std::unique_ptr<TensorDescriptor> y_;
  FilterDescriptor filter_;
  ConvolutionDescriptor convolution_;
  cudnnConvolutionFwdAlgo_t algorithm_{};
  std::size_t workspace_ = 0;
  const T* weights_;
};

class Relu {
 public:
  Relu() { CHECK(cudnnSetActivationDescriptor(descriptor_, CUDNN_ACTIVATION_RELU, CUDNN_NOT_PROPAGATE_NAN, 0)); }
  void run(const Dnn& dnn, cudnnTensorDescriptor_t descriptor, void* x) const {
    const float one = 1, zero = 0;
    CHECK(cudnnActivationForward(dnn.handle, descriptor_, &one, descriptor, x, &zero, descriptor, x));
  }

 private:
  ActivationDescriptor descriptor_;
};

template <class T>
class Pooling {
 public:
  Pooling(Extent in, cudnnPoolingMode_t mode, int side, int stride, int pad) : x_(describe<T>(in)) {
    CHECK(cudnnSetPooling2dDescriptor(pooling_, mode, CUDNN_NOT_PROPAGATE_NAN, side, side, pad, pad, stride, stride));
    int images = 0;
    CHECK(cudnnGetPooling2dForwardOutputDim(pooling_, x_, &images, &out_.channels, &out_.height, &out_.width));
    y_ = std::make_unique<TensorDescriptor>(describe<T>(out_));
  }
  Extent out() const { return out_; }
  void run(const Dnn& dnn, const T* x, T* y) const {
    const float one = 1, zero = 0;
    CHECK(cudnnPoolingForward(dnn.handle, pooling_, &one, x_, x, &zero, *y_, y));
  }

 private:
  Extent out_{};
  TensorDescriptor x_;
  std::unique_ptr<TensorDescriptor> y_;
  PoolingDescriptor pooling_;
};

}  // namespace networks
